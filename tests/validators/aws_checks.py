"""How a Pulumi type is mapped onto AWS calls, and the checks for what only Pulumi knows.

``calls``: where a property's namesake is looked for, in order, as ``Operation`` or ``Operation/Member.Member[]``; what
they require must be given, save ``filled`` (the provider fills those in). ``moved``: properties under another name.
``own``: properties that are Pulumi's alone, with a check of ours.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Check = Callable[[Any, str], list[str]]


def anything(value: Any, path: str) -> list[str]:
    """No rule."""
    return []


def flag(value: Any, path: str) -> list[str]:
    """A boolean."""
    return [] if isinstance(value, bool) else [f"{path}: {value!r} is no boolean"]


def between(low: int, high: int) -> Check:
    """A whole number within bounds."""

    def check(value: Any, path: str) -> list[str]:
        good = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return [] if good else [f"{path}: {value!r} is outside {low}-{high}"]

    return check


def one_of(*allowed: Any) -> Check:
    """One of the values listed."""

    def check(value: Any, path: str) -> list[str]:
        return [] if value in allowed else [f"{path}: {value!r} is none of {', '.join(map(str, allowed))}"]

    return check


def text(pattern: str) -> Check:
    """A text that matches wholly."""

    def check(value: Any, path: str) -> list[str]:
        good = isinstance(value, str) and re.fullmatch(pattern, value)
        return [] if good else [f"{path}: {value!r} does not match {pattern}"]

    return check


def each(check: Check) -> Check:
    """A list with a check on every item."""

    def walk(value: Any, path: str) -> list[str]:
        if not isinstance(value, list):
            return [f"{path}: {value!r} is no list"]
        return [e for i, item in enumerate(value) for e in check(item, f"{path}[{i}]")]

    return walk


@dataclass(frozen=True)
class AwsType:
    """How a Pulumi type maps onto a service's calls."""

    service: str
    calls: tuple[str, ...]
    moved: dict[str, str] = field(default_factory=dict)
    own: dict[str, Check] = field(default_factory=dict)
    filled: tuple[str, ...] = ()

"""Two property values side by side: the paths at which they differ, both sides as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ABSENT = "(absent)"
LONGEST = 80


def differing(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, before and after of every leaf that differs; lists of named things are matched by name."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            below = f"{path}.{key}" if path else str(key)
            yield from differing(old.get(key, ABSENT), new.get(key, ABSENT), below)
    elif _is_list(old) and _is_list(new):
        named = _by_name(old), _by_name(new)
        if named[0] is not None and named[1] is not None:
            if list(named[0]) != list(named[1]) and set(named[0]) == set(named[1]):
                yield path, ", ".join(named[0]), ", ".join(named[1])
            yield from differing(named[0], named[1], path)
        elif len(old) == len(new):
            for place, (a, b) in enumerate(zip(old, new, strict=True)):
                yield from differing(a, b, f"{path}[{place}]")
        elif list(old) != list(new):
            yield path, _show(old), _show(new)
    elif old != new or type(old) is not type(new):
        yield path, _show(old), _show(new)


def at(value: Any, path: str) -> Iterator[Any]:
    """Every value at a property path; ``[*]`` stands for each item of a list."""
    head, _, rest = path.replace("[", ".[").partition(".")
    if not path:
        yield value
    elif head == "[*]":
        for item in value if _is_list(value) else ():
            yield from at(item, rest)
    elif isinstance(value, Mapping) and head in value:
        yield from at(value[head], rest)
    elif isinstance(value, str):  # unknown as a whole: so is the part
        yield value


def under(path: str, roots: Sequence[str]) -> bool:
    """Whether a path lies at or below one of ``roots``; ``[*]`` in a root stands for any item."""
    return any(
        re.fullmatch(re.escape(root).replace(r"\[\*\]", r"(?:\[\d+\]|\.[^.]+)") + r"(?:[.\[].*)?", path)
        for root in roots
    )


def short(urn: str) -> str:
    """The last part of a URN, the text itself when it is none."""
    return urn.rsplit("::", 1)[-1]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _by_name(items: Sequence[Any]) -> dict[str, Any] | None:
    """A list of named things as a mapping, so that one more in front does not make all differ."""
    if items and all(isinstance(item, Mapping) and isinstance(item.get("name"), str) for item in items):
        named = {item["name"]: item for item in items}
        return named if len(named) == len(items) else None
    return None


def _show(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(str(text).split())
    return text if len(text) <= LONGEST else text[:60] + f"… ({len(text)} characters)"

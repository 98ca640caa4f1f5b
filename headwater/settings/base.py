"""The one base of all settings, and the small words they are made of."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel


class Frozen(BaseModel):
    """Frozen; keys are camelCase in the stack file; an unknown key is refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        arbitrary_types_allowed=False,
        allow_inf_nan=False,
    )

    @field_validator("*", mode="before")
    @classmethod
    def _countable(cls, value: Any, info: ValidationInfo) -> Any:
        """Where a key takes numbers: no switch (a number to Python), and no more than every reader holds."""
        kinds = set(_plain(cls.model_fields[info.field_name or ""].annotation))
        if kinds & {bool, Any} or not kinds & {int, float}:
            return value
        for item in value.values() if isinstance(value, dict) else [value]:
            if isinstance(item, bool):
                raise ValueError("this takes a number, not true or false")  # noqa: TRY004 - pydantic's own
            if isinstance(item, (int, float)) and math.isfinite(item) and not -LARGEST <= item <= LARGEST:
                raise ValueError(f"this is beyond {LARGEST:,}, the largest number that all programs behind it can hold")
        return value


LARGEST = 2**31 - 1


def _plain(annotation: Any) -> Iterator[Any]:
    """Every class an annotation is made of."""
    parts = get_args(annotation)
    yield from [annotation] if not parts else [kind for part in parts for kind in _plain(part)]


def arn_of(service: str) -> str:
    """Pattern of the ARNs of one service."""
    return rf"^arn:aws[a-z-]*:{service}:[a-z0-9-]+:\d{{12}}:.+$"


LONGEST = 366 * 86400.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(value: Any) -> float:
    """``2s``, ``40ms``, ``15m``, ``2h``, ``1d`` as seconds.

    Raises:
        ValueError: no unit, not a number before it, nothing at all, or more than a year.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", str(value).strip())
    if match is None:
        raise ValueError("a duration is a number with its unit: 40ms, 2s, 15m, 2h or 1d")
    seconds = float(match.group(1)) * _UNITS[match.group(2)]
    if not seconds:
        raise ValueError("a duration is above zero")
    if seconds > LONGEST:
        raise ValueError("a duration is at most 366d")
    return seconds


def duration(seconds: float) -> str:
    """``90s``, ``5m``: seconds as a stack file writes them, in the largest unit that divides them."""
    unit = next((unit for unit, size in reversed(_UNITS.items()) if not seconds % size), "ms")
    return f"{seconds / _UNITS[unit]:.12g}{unit}"


def _text_not_number(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise ValueError("a version is text; write it in quotes, as a number would lose its last zero")  # noqa: TRY004
    return value


Seconds = Annotated[float, BeforeValidator(parse_duration)]
"""A duration in seconds, written with its unit in the stack file."""

Version = Annotated[str, BeforeValidator(_text_not_number)]
"""A version, written in quotes in the stack file."""

"""The one base of all settings, and the small words they are made of."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict
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


def arn_of(service: str) -> str:
    """Pattern of the ARNs of one service."""
    return rf"^arn:aws[a-z-]*:{service}:[a-z0-9-]+:\d{{12}}:.+$"


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(value: Any) -> float:
    """``2s``, ``40ms``, ``15m``, ``2h``, ``1d`` as seconds.

    Raises:
        ValueError: no unit, not a number before it, or nothing at all.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", str(value).strip())
    if match is None:
        raise ValueError("a duration is a number with its unit: 40ms, 2s, 15m, 2h or 1d")
    seconds = float(match.group(1)) * _UNITS[match.group(2)]
    if not seconds:
        raise ValueError("a duration is above zero")
    return seconds


def _text_not_number(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise ValueError("a version is text; write it in quotes, as a number would lose its last zero")  # noqa: TRY004
    return value


Seconds = Annotated[float, BeforeValidator(parse_duration)]
"""A duration in seconds, written with its unit in the stack file."""

Version = Annotated[str, BeforeValidator(_text_not_number)]
"""A version, written in quotes in the stack file."""

"""Placeholders: values a preview cannot know yet, or does not keep. They are right wherever a value may stand."""

from typing import Any

UNKNOWN = "<unknown>"
SECRET = "<secret>"
WIRE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def is_unknown(value: Any) -> bool:
    """Whether the value is a placeholder, or a text with a placeholder in it."""
    return isinstance(value, str) and (UNKNOWN in value or WIRE in value or value == SECRET)


def holds_unknown(value: Any) -> bool:
    """Whether a placeholder hides anywhere inside."""
    if isinstance(value, dict):
        return any(holds_unknown(k) or holds_unknown(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return any(holds_unknown(v) for v in value)
    return is_unknown(value)


def number(value: Any, default: int) -> int:
    """The number, or the default where it is absent or not known yet."""
    return default if value is None or is_unknown(value) else int(value)

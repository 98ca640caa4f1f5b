"""Kubernetes quantities (``500m``, ``1Gi``): exact value, and the canonical text the API server stores."""

import re
from fractions import Fraction

_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?")
_BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_EXPONENT = {suffix: power for power, suffix in _DECIMAL.items()}


def parse(text: str | float) -> Fraction:
    """Exact value, in the unit itself (bytes, cores); raises ValueError for what is no quantity."""
    number, suffix = _split(text)
    if suffix in _BINARY[1:]:
        return number * 1024 ** _BINARY.index(suffix)
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return number * Fraction(10) ** int(suffix[1:])
    return number * Fraction(10) ** _EXPONENT[suffix]


def canonical(text: str | float) -> str:
    """The text as the API server would print it back: no fraction, the greatest suffix that keeps it whole."""
    _, suffix = _split(text)
    value = parse(text)
    if suffix in _BINARY[1:] and abs(value) >= 1024:
        return _whole(value, [(1024**power, name) for power, name in enumerate(_BINARY)])
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return _whole(value, [(Fraction(10) ** power, f"e{power}" if power else "") for power in _DECIMAL])
    return _whole(value, [(Fraction(10) ** power, name) for power, name in _DECIMAL.items()])


def _split(text: str | float) -> tuple[Fraction, str]:
    found = _FORM.fullmatch(str(text))
    if found is None or isinstance(text, bool):
        raise ValueError(f"{text!r} is no quantity")
    return Fraction(found.group(1)), found.group(2) or ""


def _whole(value: Fraction, units: list[tuple[Fraction | int, str]]) -> str:
    if value == 0:
        return "0"
    for size, name in reversed(units):
        if (value / size).denominator == 1:
            return f"{value / size}{name}"
    size, name = units[0]
    return f"{-(-value // size)}{name}"

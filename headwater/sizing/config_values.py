"""Numbers out of a ``config.json``: every one that is read has bounds, and a refusal names the key."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headwater.sizing.units import SizingError

Config = dict[str, Any]

MOST = {
    "hidden_size": 10**6,
    "num_hidden_layers": 4096,
    "n_layers": 4096,
    "num_layers": 4096,
    "depth": 4096,
    "num_nextn_predict_layers": 4096,
    "num_attention_heads": 65536,
    "num_key_value_heads": 65536,
    "head_dim": 65536,
    "vocab_size": 10**8,
}
"""Beyond these no model is real; what is not named here ends at ``MOST_OF_ALL``."""
MOST_OF_ALL = 10**9
BASIC = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size")
"""Checked even where a class has another way to say the same."""
REMEDY = "the model's own config.json on the hub has the right one"


class ConfigValueError(SizingError):
    """One value of a ``config.json`` is outside its bounds.

    Attributes:
        key: dotted path inside the file.
        value: what stands there.
        expected: the bound, as in "a whole number from 1 to 4,096".
    """

    def __init__(self, key: str, value: Any, expected: str) -> None:
        self.key, self.value, self.expected = key, value, expected
        super().__init__(f"config.json: `{key}` = {str(value)[:60]}: expected {expected}; {REMEDY}")


@contextmanager
def inside(key: str) -> Iterator[None]:
    """A refusal from within names the nested object too."""
    try:
        yield
    except ConfigValueError as error:
        raise ConfigValueError(f"{key}.{error.key}", error.value, error.expected) from None


def number(c: Config, *names: str, default: int | None = None, least: int = 1) -> int:
    """The first of ``names`` that is given; ``default`` when none is.

    Args:
        c: the file's content, or an object of it.
        names: keys that mean the same, the usual one first.
        default: instead of a missing key; without it the key is required.
        least: 0 where nothing of a thing is meant by 0.

    Raises:
        SizingError: the key is missing.
        ConfigValueError: it holds no whole number within its bounds.
    """
    for name in names:
        value = c.get(name)
        if value is None:
            continue
        most = MOST.get(name, MOST_OF_ALL)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigValueError(name, value, f"a whole number from {least} to {most:,}")
        return value
    if default is None:
        raise SizingError(f"config.json: `{names[0]}` is missing; every model of this class states it")
    return default


def real(c: Config, name: str, default: float, most: float) -> float:
    """A number above 0 and at most ``most``; ``default`` when it is missing or 0."""
    value = c.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most or math.isnan(value):
        raise ConfigValueError(name, value, f"a number above 0, at most {most:,g}")
    return value or default


def listed(c: Config, *names: str) -> list[Any]:
    """The first of ``names`` that holds anything; empty when none does.

    Raises:
        ConfigValueError: it holds something else than a list.
    """
    for name in names:
        value = c.get(name)
        if value and not isinstance(value, list):
            raise ConfigValueError(name, value, "a list")
        if value:
            return list(value)
    return []


def head_dim(c: Config) -> int:
    """Size of one head; only when it is not stated, hidden size over heads."""
    stated = number(c, "head_dim", "attention_head_dim", default=0)
    if stated:
        return stated
    hidden, heads = number(c, "hidden_size"), number(c, "num_attention_heads")
    if hidden < heads:
        raise ConfigValueError("hidden_size", hidden, f"at least the {heads:,} of `num_attention_heads`")
    return hidden // heads

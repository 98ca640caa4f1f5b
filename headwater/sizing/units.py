"""Small arithmetic every sizing file shares: GiB, ceiling division, padding, intervals."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1 << 30


def cdiv(a: int, b: int) -> int:
    """Ceiling of ``a / b``."""
    return -(-a // b)


def pad(n: int, multiple: int) -> int:
    """``n`` rounded up to a multiple."""
    return -(-n // multiple) * multiple


@dataclass(frozen=True, slots=True)
class Band:
    """Lower bound, expected value, upper bound of one quantity; GiB per GPU unless said otherwise."""

    low: float
    expected: float
    high: float

    @classmethod
    def around(cls, expected: float, below: float, above: float | None = None) -> Band:
        """``expected`` with margins; never below zero."""
        return cls(max(0.0, expected - below), expected, expected + (below if above is None else above))

    def widened(self, below: float, above: float) -> Band:
        """The same middle with wider margins."""
        return Band(max(0.0, self.low - below), self.expected, self.high + above)

    @property
    def width(self) -> float:
        """Distance from lower to upper bound."""
        return self.high - self.low


ZERO = Band(0.0, 0.0, 0.0)


class SizingError(ValueError):
    """The question cannot be answered as asked; the message says which bound and what to change."""

"""Values that are looked up millions of times: hash and key are made once, equality asks the hash first."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class Keyed:
    """Base of frozen dataclasses (``eq=False``) that are hashable by value at the price of one attribute."""

    key: tuple[object, ...] = field(init=False, repr=False)
    digest: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = tuple(getattr(self, n) for n in self.__dataclass_fields__ if n not in {"key", "digest"})
        object.__setattr__(self, "key", values)
        object.__setattr__(self, "digest", hash(values))

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, type(self)) and self.digest == other.digest and self.key == other.key

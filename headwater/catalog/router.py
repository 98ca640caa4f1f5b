"""Which plugins the pinned endpoint picker has, and in which state they are."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, ConfigDict

from headwater.catalog.source import load_yaml

Maturity = Literal["beta", "alpha", "gone"]


class RouterPlugins(BaseModel):
    """The plugins of one router version.

    Attributes:
        beta: names by kind (filter, scorer, picker, handler, decider, producer, data, flow, admission, parser, other).
        alpha: the same, behind the experimental flag.
        gone: deprecated or removed name to its replacement.
        stateful: names that keep state in their own process.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    router: str
    source: str
    as_of: dt.date
    beta: dict[str, tuple[str, ...]]
    alpha: dict[str, tuple[str, ...]]
    gone: dict[str, str]
    stateful: tuple[str, ...]

    def maturity(self, name: str) -> Maturity | None:
        """State of a plugin; None when the router has none of that name."""
        if any(name in names for names in self.beta.values()):
            return "beta"
        if any(name in names for names in self.alpha.values()):
            return "alpha"
        return "gone" if name in self.gone else None

    def kind(self, name: str) -> str | None:
        """Kind of a usable plugin, None for any other name."""
        for groups in (self.beta, self.alpha):
            for kind, names in groups.items():
                if name in names:
                    return kind
        return None

    @property
    def usable(self) -> tuple[str, ...]:
        """Every name that may be used, alpha included, sorted."""
        return tuple(sorted(n for groups in (self.beta, self.alpha) for names in groups.values() for n in names))

    def scorers(self) -> tuple[str, ...]:
        """Names of all scorers, sorted."""
        return tuple(sorted((*self.beta["scorer"], *self.alpha["scorer"])))


@lru_cache(maxsize=1)
def router_plugins() -> RouterPlugins:
    """Plugins of the pinned router."""
    return RouterPlugins.model_validate(load_yaml("router_plugins"))

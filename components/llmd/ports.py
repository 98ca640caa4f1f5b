"""Which ports a model pod has."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.plan import Role
from headwater.settings.llmd import RoutingPath

POOL_PORT = 8000
ENGINE_BEHIND_SIDECAR = 8200
SUPERVISOR_OFFSET = 8
"""The supervisor of data-parallel ranks listens beside its at most eight ranks."""


@dataclass(frozen=True)
class Ports:
    """Ports of one role.

    Attributes:
        engine: first port of the engine itself.
        ranks: data-parallel ranks of one pod with a port each; 1 without.
    """

    engine: int
    ranks: int

    @property
    def pool(self) -> tuple[int, ...]:
        """Ports the InferencePool sends to."""
        return tuple(POOL_PORT + rank for rank in range(self.ranks))

    @property
    def engines(self) -> tuple[int, ...]:
        """Ports the engine listens on."""
        return tuple(self.engine + rank for rank in range(self.ranks))

    @property
    def supervisor(self) -> int:
        """Port of the rank supervisor."""
        return self.engine + SUPERVISOR_OFFSET

    @property
    def health(self) -> int:
        """Port the probes ask."""
        return self.supervisor if self.ranks > 1 else self.engine


def ports(role: Role, path: RoutingPath) -> Ports:
    """Ports of a role: decode servers stand behind a sidecar, wide expert parallelism has one port for each rank."""
    first = ENGINE_BEHIND_SIDECAR if role.role == "decode" else POOL_PORT
    return Ports(engine=first, ranks=local_ranks(role) if path == "wide-ep" else 1)


def local_ranks(role: Role) -> int:
    """Data-parallel ranks in one pod."""
    return max(1, role.parallel.data // role.nodes)

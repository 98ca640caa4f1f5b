"""The system node group as the plan decides it."""

from __future__ import annotations

from typing import Literal

from headwater.catalog.system import Room
from headwater.plan.decided import Decided


class Workload(Decided):
    """One kind of pod on system nodes: requests of one replica in 1/1000 cores and MiB.

    ``in_place``: a rollout ends a replica before it starts the next; others start the next first.
    """

    name: str
    replicas: int
    cpu_millis: int
    memory_mib: int
    in_place: bool = False


class SystemGroup(Decided):
    """The managed node group of controllers, routers and frontends; no model runs on it.

    Attributes:
        instances: EC2 types, in order of preference.
        nodes: desired and smallest number of nodes; ``nodes_max`` bounds who raises it for a while.
        demanding: the serving stack that asks for more; the group is sized for it, whichever is chosen.
        cpu_millis: requested by everything but daemons, 1/1000 cores; so are ``memory_mib`` and ``pods``.
        room: what one node leaves for these pods, after daemons and margin.
        dollars_per_hour: of one node at list price; None where the catalogue has no price.
    """

    instances: tuple[str, ...]
    nodes: int
    nodes_max: int
    demanding: Literal["llm-d", "dynamo"]
    cpu_millis: int
    memory_mib: int
    pods: int
    room: Room
    dollars_per_hour: float | None

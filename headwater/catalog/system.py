"""System nodes: the types they may be, and what the pods on them request."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from headwater.catalog.instances import Fact, load_instances
from headwater.catalog.source import load_yaml
from headwater.refusal import did_you_mean


class Room(Fact):
    """What pods may ask for on one node: 1/1000 cores, MiB, pods."""

    cpu_millis: int
    memory_mib: int
    pods: int


class SystemType(Fact):
    """One EC2 type of the system node group. ``memory_mib`` is installed memory."""

    name: str
    vcpus: int
    memory_mib: int
    allocatable: Room


class PodFact(Fact):
    """What one kind of pod requests, all its containers together.

    Attributes:
        of: chart, add-ons or feature it comes with.
        replicas: for each cluster, or each model where ``of`` says so; one a node for a daemon.
        cpu_millis: 1/1000 cores; 0 when its chart leaves it unset. So is ``memory_mib``, MiB.
        source: where it was read; for Headwater's own numbers ``why`` says the reason.
    """

    name: str
    of: str
    replicas: int
    cpu_millis: int
    memory_mib: int
    source: str = ""
    why: str = ""


Section = Literal["ours", "upstream", "daemons"]


@lru_cache(maxsize=1)
def system_types() -> dict[str, SystemType]:
    """Every type the group may be made of, by EC2 name."""
    types = load_yaml("system_types")["types"]
    return {name: SystemType(name=name, **entry) for name, entry in types.items()}


@lru_cache(maxsize=1)
def default_system_types() -> tuple[tuple[str, ...], ...]:
    """Types to take when the stack file names none, the smallest first."""
    return tuple(tuple(step) for step in load_yaml("system_types")["defaults"])


def why_no_system_type(name: str) -> tuple[str, str] | None:
    """Why the group cannot be made of a type, and what to do; None when it can."""
    if name in system_types():
        return None
    rules = load_yaml("system_types")
    usual = f"Use a type like {default_system_types()[0][0]}, or leave it out."
    if name in load_instances() or re.match(rules["accelerated"], name):
        return (
            "It carries GPUs or other accelerators, and no model ever runs on system nodes.",
            f"GPU nodes are bought by `headwater:capacity`. {usual}",
        )
    if re.match(rules["arm64"], name):
        return "It has Arm processors, and the group's node image and pods are x86-64.", usual
    why = "The catalogue does not know how much such a node leaves for pods, so it cannot be sized."
    return why, did_you_mean(name, system_types()) if "." in name else usual


@lru_cache(maxsize=3)
def pod_facts(section: Section) -> dict[str, PodFact]:
    """Every kind of pod of a section of the catalogue, by name."""
    entries = load_yaml("system_pods")[section]
    return {name: PodFact(name=name, **entry) for name, entry in entries.items()}


def own_pod(name: str) -> PodFact:
    """Replicas and requests that Headwater itself writes, by the pod's name."""
    return pod_facts("ours")[name]


def upstream_pod(name: str) -> PodFact:
    """Requests a chart comes with, and the replicas Headwater asks of it, by the pod's name."""
    return pod_facts("upstream")[name]


def picker_constants() -> tuple[int, int]:
    """CPU of llm-d's picker, 1/1000 cores: its floor, and the share of each server it watches."""
    entry = load_yaml("system_pods")["picker"]
    return int(entry["base_millis"]), int(entry["millis_per_server"])

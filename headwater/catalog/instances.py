"""GPU instance types: what one node has, and how much of it a pod can ask for."""

from __future__ import annotations

from functools import lru_cache

from pydantic import BaseModel, ConfigDict

from headwater.catalog.source import load_yaml


class Fact(BaseModel):
    """A frozen entry of the catalogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Allocatable(Fact):
    """What Karpenter computes as free for pods: milli-CPU, MiB, pods (fewer with static EFA interfaces)."""

    cpu_millis: int
    memory_mib: int
    pods: int
    pods_static_efa: int


class Instance(Fact):
    """One EC2 type.

    Attributes:
        gpu: catalogue key of the GPU.
        memory_mib: installed memory.
        nvme_gb: local instance store, decimal GB, all disks together.
        efa: most EFA interfaces; ``efa_per_gpu`` is the share of one GPU.
        cards: network cards.
    """

    name: str
    gpu: str
    gpus: int
    vcpus: int
    memory_mib: int
    nvme_gb: int
    network_gbps: int
    efa: int
    efa_per_gpu: int
    cards: int
    allocatable: Allocatable
    placement_group: bool
    ebs_mbps: int


@lru_cache(maxsize=1)
def load_instances() -> dict[str, Instance]:
    """Every GPU instance type, by EC2 name."""
    return {name: Instance(name=name, **entry) for name, entry in load_yaml("instances")["instances"].items()}

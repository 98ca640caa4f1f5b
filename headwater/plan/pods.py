"""What one pod of a role asks for, and how long its start may take."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headwater.catalog.defaults import default, weights_bandwidth
from headwater.catalog.instances import Instance
from headwater.plan.model import Pod
from headwater.settings import Settings
from headwater.sizing.placement import Placement


def room(instances: Sequence[Instance], gpus: int) -> tuple[int, int]:
    """milli-CPU and MiB that a pod with so many of a node's GPUs may ask for on any of these types.

    The node's daemons get their reserve first; the rest is divided by GPU, so that a node always fills up.
    """
    cpu = min(
        (i.allocatable.cpu_millis - int(default("node", "reserve_cpu_millis"))) * gpus // i.gpus for i in instances
    )
    memory = min(
        (i.allocatable.memory_mib - int(default("node", "reserve_memory_mib"))) * gpus // i.gpus for i in instances
    )
    return cpu, memory


def offload_gib(placement: Placement, asked: object, checkpoint_gib: float, instances: Sequence[Instance]) -> float:
    """Host memory for KV cache of one replica, GiB; 0 when off.

    ``auto`` takes half of what the pods' shares of their nodes leave free, up to a bound a GPU.
    """
    if asked == "off":
        return 0.0
    if isinstance(asked, int):
        return float(asked)
    _, memory = room(instances, placement.gpus_per_node)
    free = memory / 1024 - _base_memory_gib(placement, checkpoint_gib)
    share = free * float(default("offload", "share"))
    most = float(default("offload", "gib_per_gpu_most")) * placement.gpus_per_node
    return float(math.floor(max(0.0, min(share, most)))) * placement.nodes


def _base_memory_gib(placement: Placement, checkpoint_gib: float) -> float:
    """Memory of a pod before KV offload: workers, shared memory, page cache while loading, GiB."""
    workers = float(default("node", "memory_per_gpu_mib")) * placement.gpus_per_node / 1024
    shared = float(default("node", "shared_memory_mib")) / 1024
    return workers + shared + checkpoint_gib / placement.nodes * float(default("node", "page_cache_share"))


def most_offload_gib(placement: Placement, instances: Sequence[Instance]) -> int:
    """Largest host cache one replica can ask for, GiB."""
    _, memory = room(instances, placement.gpus_per_node)
    smallest = float(default("node", "shared_memory_mib")) / 1024 * 2
    return max(0, math.floor((memory / 1024 - smallest) * placement.nodes))


def pod(
    placement: Placement, instances: Sequence[Instance], *, checkpoint_gib: float, offload: float, talks: bool
) -> Pod:
    """Requests of one pod.

    Args:
        placement: where the replica runs.
        instances: types the pod must fit on.
        checkpoint_gib: checkpoint on disk.
        offload: host memory for KV cache of the whole replica, GiB.
        talks: whether it exchanges tensors with other nodes (several nodes, or prefill and decode apart).
    """
    gpus = placement.gpus_per_node
    cpu_room, memory_room = room(instances, gpus)
    cpu = min(cpu_room, int(default("node", "cpu_per_gpu_millis")) * gpus)
    memory = math.ceil((_base_memory_gib(placement, checkpoint_gib) + offload / placement.nodes) * 1024)
    efa = 0
    if talks:
        efa = min(i.efa if gpus == i.gpus else i.efa_per_gpu * gpus for i in instances)
    disk = checkpoint_gib * float(default("node", "ephemeral_weights")) + float(default("node", "ephemeral_fixed_gib"))
    return Pod(
        gpus=gpus,
        cpu_millis=cpu // 100 * 100,
        memory_mib=min(memory, memory_room) // 1024 * 1024,
        shared_memory_mib=int(default("node", "shared_memory_mib")),
        ephemeral_gib=math.ceil(disk),
        efa=efa,
        whole_node=placement.whole_node,
    )


def startup_seconds(settings: Settings, placement: Placement, checkpoint_gib: float) -> int:
    """Budget of the start-up probe: image, weights to node and GPUs, compile, capture; times a margin."""
    image = float(default("startup", "image_gib")) / float(default("startup", "image_gib_per_second"))
    source = "s3" if settings.weights.mirror else "hub"
    if settings.weights.cache in {"efs", "fsx"}:
        source = "shared"
    fetch = checkpoint_gib / weights_bandwidth(source)
    per_gpu = float(default("startup", "load_gib_per_second_per_gpu"))
    load = checkpoint_gib / (per_gpu * placement.degrees.gpus)
    rest = float(default("startup", "compile_seconds")) + float(default("startup", "graphs_seconds"))
    wait = float(default("startup", "nodes_seconds")) if placement.nodes > 1 else 0.0
    budget = (image + fetch + load + rest + wait) * float(default("startup", "factor"))
    return math.ceil(max(budget, float(default("startup", "minimum_seconds"))) / 60) * 60

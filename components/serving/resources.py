"""What a model pod asks for, as Kubernetes wants it written."""

from __future__ import annotations

from components.quantities import cpu, gibibytes, mebibytes
from headwater.plan import Role

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"

Resources = dict[str, dict[str, str]]


def resources(role: Role, more_disk_gib: int = 0) -> Resources:
    """Requests and limits of the engine's container; ``more_disk_gib`` of local disk beyond the plan's.

    Memory is guaranteed (request = limit, shared memory counts against it). CPU has no limit: a throttled tokenizer
    starves a GPU. GPUs and EFA interfaces stand on both sides, as extended resources must. Huge pages are not
    requested: Karpenter knows no node that offers them and would never buy one (aws/karpenter-provider-aws#3315); EFA
    is told to do without (``components.serving.environment``).
    """
    devices = {GPU: str(role.pod.gpus)}
    if role.pod.efa:
        devices[EFA] = str(role.pod.efa)
    memory = mebibytes(role.pod.memory_mib)
    return {
        "requests": {
            "cpu": cpu(role.pod.cpu_millis),
            "memory": memory,
            "ephemeral-storage": gibibytes(role.pod.ephemeral_gib + more_disk_gib),
            **devices,
        },
        "limits": {"memory": memory, **devices},
    }

"""Volumes every model pod has beside its weights: shared memory and caches."""

from __future__ import annotations

from typing import Any

from components.quantities import mebibytes
from components.serving.environment import CACHE
from headwater.plan import Role

Volume = dict[str, Any]


def scratch(role: Role) -> tuple[list[Volume], list[Volume]]:
    """Volumes and mounts: ``/dev/shm`` sized from the plan, ``/cache`` for compile caches, ``/tmp``.

    Shared memory counts against the container's memory limit; the plan's memory includes it.
    """
    shm = {"medium": "Memory", "sizeLimit": mebibytes(role.pod.shared_memory_mib)}
    volumes: list[Volume] = [
        {"name": "shm", "emptyDir": shm},
        {"name": "cache", "emptyDir": {}},
        {"name": "tmp", "emptyDir": {}},
    ]
    mounts: list[Volume] = [
        {"name": "shm", "mountPath": "/dev/shm"},
        {"name": "cache", "mountPath": CACHE},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    return volumes, mounts

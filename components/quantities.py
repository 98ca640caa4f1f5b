"""Kubernetes quantities in canonical form, as the API server would write them back (no diff on the second up)."""

from __future__ import annotations

from headwater.catalog.system import PodFact


def cpu(millis: int) -> str:
    """CPU from 1/1000 cores: ``8`` for 8000, ``15890m`` for 15890."""
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def mebibytes(value: int) -> str:
    """Memory or storage from MiB, in the largest binary unit that stays whole: ``208Gi``, ``1Ti``, ``1000Mi``."""
    for unit, size in (("Ti", 1024 * 1024), ("Gi", 1024)):
        if value and value % size == 0:
            return f"{value // size}{unit}"
    return f"{value}Mi"


def gibibytes(value: int) -> str:
    """Storage from GiB, canonical."""
    return mebibytes(value * 1024)


def requests(pod: PodFact) -> dict[str, str]:
    """Requests of a pod whose numbers stand in the catalogue, where the plan counts them, too."""
    return {"cpu": cpu(pod.cpu_millis), "memory": mebibytes(pod.memory_mib)}

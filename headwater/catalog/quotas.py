"""AWS service quotas: their codes, dated."""

from __future__ import annotations

from functools import lru_cache

from headwater.catalog.instances import Fact
from headwater.catalog.source import load_yaml


class Quota(Fact):
    """One quota of Service Quotas.

    Attributes:
        service: service code, such as ``ec2``.
        code: quota code, such as ``L-417A185B``.
        name: as the console shows it.
        unit: what it counts.
    """

    service: str
    code: str
    name: str
    unit: str


@lru_cache(maxsize=1)
def load_quotas() -> dict[str, Quota]:
    """Every quota, by a short name."""
    return {key: Quota(**entry) for key, entry in load_yaml("quotas")["quotas"].items()}

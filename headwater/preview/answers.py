"""Questions a program asks of providers, answered where the answer needs no cloud.

Everything else is unknown until a real preview asks it; a program then has to take it as an Output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_PARTITIONS = (
    ("cn-", "aws-cn", "amazonaws.com.cn"),
    ("us-gov-", "aws-us-gov", "amazonaws.com"),
    ("us-iso-", "aws-iso", "c2s.ic.gov"),
    ("us-isob-", "aws-iso-b", "sc2s.sgov.gov"),
    ("eusc-", "aws-eusc", "amazonaws.eu"),
)
"""Region prefix, partition, DNS suffix (AWS General Reference, partitions; 2026-11-30)."""


def partition(region: str, _args: dict[str, Any]) -> dict[str, Any]:
    """The partition a region belongs to."""
    name, suffix = next(((p, s) for prefix, p, s in _PARTITIONS if region.startswith(prefix)), ("aws", "amazonaws.com"))
    reverse = ".".join(reversed(suffix.split(".")))
    return {"id": name, "partition": name, "dnsSuffix": suffix, "reverseDnsPrefix": reverse, "region": region}


def region_itself(region: str, _args: dict[str, Any]) -> dict[str, Any]:
    """The region the provider works in."""
    suffix = partition(region, {})["dnsSuffix"]
    return {"id": region, "name": region, "region": region, "endpoint": f"ec2.{region}.{suffix}"}


ANSWERS: dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]] = {
    "aws:index/getPartition:getPartition": partition,
    "aws:index/getRegion:getRegion": region_itself,
}
"""By token: region and arguments in, result out."""

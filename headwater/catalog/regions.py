"""Regions and their zones."""

from __future__ import annotations

from headwater.catalog.source import load_yaml


def zones_of(region: str) -> tuple[str, ...]:
    """Zone names of a region; empty when the catalogue does not know it."""
    return tuple(load_yaml("regions")["regions"].get(region, {}).get("zones", ()))


def known_regions() -> tuple[str, ...]:
    """Regions the catalogue knows."""
    return tuple(load_yaml("regions")["regions"])


def partition_of(region: str) -> str:
    """AWS partition of a region: ``aws``, ``aws-us-gov`` or ``aws-cn``."""
    return str(_partition_row(region)["partition"])


def refused_zone_ids(region: str) -> tuple[str, ...]:
    """Zone ids in which EKS takes no control-plane subnet. Which zone name that is differs by account."""
    return tuple(load_yaml("regions")["regions"].get(region, {}).get("refused_ids", ()))


def _partition_row(region: str) -> dict[str, str]:
    rows: list[dict[str, str]] = load_yaml("regions")["partitions"]
    return next(row for row in rows if region.startswith(row["prefix"]))

"""Regions and their zones."""

from __future__ import annotations

from headwater.catalog.source import load_yaml


def zones_of(region: str) -> tuple[str, ...]:
    """Zone names of a region; empty when the catalogue does not know it."""
    return tuple(load_yaml("regions")["regions"].get(region, {}).get("zones", ()))


def known_regions() -> tuple[str, ...]:
    """Regions the catalogue knows."""
    return tuple(load_yaml("regions")["regions"])

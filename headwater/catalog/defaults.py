"""Defaults and the plan's constants, each with its reason."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from headwater.catalog.source import load_yaml


def default(section: str, name: str) -> Any:
    """The value of one default; its unit is in its name or its reason."""
    return load_yaml("defaults")[section][name]["value"]


def reason(section: str, name: str) -> str:
    """Why that default is what it is, one clause."""
    return str(load_yaml("defaults")[section][name]["why"])


def weights_bandwidth(source: str) -> float:
    """GiB/s at which weights reach a node from ``hub``, ``s3`` or a ``shared`` file system."""
    return float(load_yaml("defaults")["startup"]["weights_gib_per_second"][source])


def speed_constants() -> Mapping[str, float]:
    """Constants of the throughput model: seconds, shares, bytes/s."""
    constants: Mapping[str, float] = load_yaml("defaults")["speed"]
    return constants


def as_of() -> dt.date:
    """The day the defaults were last reviewed."""
    day = load_yaml("defaults")["as_of"]
    assert isinstance(day, dt.date)
    return day

"""Prices in $/h, dated."""

from __future__ import annotations

import datetime as dt

from headwater.catalog.instances import load_instances
from headwater.catalog.source import load_yaml


def on_demand(region: str, instance: str) -> float | None:
    """List price of one instance, $/h; None where the catalogue has none."""
    price = load_yaml("prices")["on_demand"].get(region, {}).get(instance)
    return None if price is None else float(price)


def any_price(instance: str) -> float:
    """$/h to rank an instance by where its own region lists none.

    The lowest list price elsewhere, else the price of another type with the same GPU, GPU for GPU, else the reported
    Capacity Block price.
    """
    regions = load_yaml("prices")["on_demand"].values()
    elsewhere = [float(prices[instance]) for prices in regions if instance in prices]
    if elsewhere:
        return min(elsewhere)
    types = load_instances()
    mine = types[instance]
    known = [(name, float(price)) for prices in regions for name, price in prices.items() if name in types]
    alike = [price / types[name].gpus for name, price in known if types[name].gpu == mine.gpu]
    return min(alike) * mine.gpus if alike else capacity_block(instance) or 0.0


def capacity_block(instance: str) -> float | None:
    """Effective $/h of an instance in a Capacity Block (reported figure); None where unknown."""
    price = load_yaml("prices")["capacity_block"].get(instance)
    return None if price is None else float(price)


def control_plane() -> float:
    """$/h of one EKS control plane in standard support."""
    return float(load_yaml("prices")["eks"]["cluster"])


def as_of() -> dt.date:
    """The day the price list was read."""
    day = load_yaml("prices")["as_of"]
    assert isinstance(day, dt.date)
    return day

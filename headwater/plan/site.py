"""Where nodes may be: zones of the network, instance types of each accelerator, their prices for ranking."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.catalog.defaults import default
from headwater.catalog.gpus import find_gpu
from headwater.catalog.instances import Instance, load_instances
from headwater.catalog.prices import any_price, on_demand
from headwater.catalog.regions import known_regions, zones_of
from headwater.plan.model import ReservationPlan
from headwater.refusal import Fault, did_you_mean
from headwater.settings import Capacity, Settings
from headwater.sizing.question import Hardware

SPELLING = {"reserved": "reserved", "onDemand": "on-demand", "spot": "spot"}


@dataclass(frozen=True)
class Supply:
    """What may be bought of one accelerator.

    Attributes:
        hardware: its instance types, in order of preference.
        zones: where, in order; a pool held to one zone takes the first its reservation allows.
        reserved_types: instance type of each reservation.
        listed: whether the stack file has an entry for it.
    """

    accelerator: str
    capacity: Capacity
    hardware: tuple[Hardware, ...]
    zones: tuple[str, ...]
    reservations: tuple[ReservationPlan, ...]
    reserved_types: tuple[str, ...]
    listed: bool


def network_zones(settings: Settings, faults: list[Fault]) -> tuple[str, ...]:
    """Zones of the network, in order; a fault when the region is unknown or lacks them."""
    known, asked = zones_of(settings.region), settings.network.zones
    if settings.network.subnets is not None:
        return tuple(settings.network.subnets.gpu)
    if isinstance(asked, tuple):
        for index, zone in enumerate(asked):
            if not zone.startswith(settings.region):
                why = f"This zone is not in {settings.region}."
                faults.append(Fault(f"headwater:network.zones[{index}]", zone, why, did_you_mean(zone, known)))
        return asked
    if not known:
        why = "The catalogue does not know the zones of this region."
        near = did_you_mean(settings.region, known_regions())
        remedy = f"Name them in `headwater:network.zones`. {near if near.startswith('Did') else ''}".strip()
        faults.append(Fault("aws:region", settings.region, why, remedy))
        return ()
    if asked > len(known):
        why = f"{settings.region} has {len(known)} zones for this: {', '.join(known)}."
        faults.append(Fault("headwater:network.zones", str(asked), why, f"Ask at most {len(known)}."))
    return known[:asked]


def supply(settings: Settings, accelerator: str, zones: Sequence[str], today: dt.date, faults: list[Fault]) -> Supply:
    """What may be bought of one accelerator, and what is wrong with what was said about it."""
    listed = accelerator in settings.capacity
    capacity = settings.capacity.get(accelerator, Capacity())
    path = f"headwater:capacity.{accelerator}"
    allowed = _instances(settings, accelerator, capacity, path, faults)
    where = _zones(settings, capacity, zones, path, faults)
    reservations = _reservations(capacity, (where, allowed), today, path, faults)
    types = tuple(r.instance or _usual_type(capacity, allowed) for r in capacity.reservations)
    if capacity.buy == ("reserved",):  # nothing else may be bought
        allowed = [i for i in allowed if i.name in types] or allowed
    hardware = tuple(_hardware(settings.region, instance, instance.name in types) for instance in allowed)
    return Supply(accelerator, capacity, hardware, where, reservations, types, listed)


def _usual_type(capacity: Capacity, allowed: Sequence[Instance]) -> str:
    """Type of a reservation that does not say: the first of the stack file, else the largest node."""
    if capacity.instances:
        return capacity.instances[0]
    return max(allowed, key=lambda i: i.gpus).name


def _hardware(region: str, instance: Instance, reserved: bool) -> Hardware:
    price = on_demand(region, instance.name)
    ranked = price or any_price(instance.name)
    return Hardware(instance, find_gpu(instance.gpu), ranked, listed=price is not None, reserved=reserved)


def _instances(
    settings: Settings, accelerator: str, capacity: Capacity, path: str, faults: list[Fault]
) -> list[Instance]:
    every = load_instances()
    carrying = [i for i in every.values() if i.gpu == accelerator]
    if capacity.instances is None:
        sold = [i for i in carrying if on_demand(settings.region, i.name) is not None]
        named = {r.instance for r in capacity.reservations if r.instance}
        return [i for i in carrying if i in sold or i.name in named] or carrying
    chosen = []
    for index, name in enumerate(capacity.instances):
        where = f"{path}.instances[{index}]"
        if name not in every:
            names = [i.name for i in carrying]
            faults.append(Fault(where, name, "The catalogue has no such instance type.", did_you_mean(name, names)))
        elif every[name].gpu != accelerator:
            why = f"{name} carries {every[name].gpu.upper()}, not {accelerator.upper()}."
            remedy = f"Use {' or '.join(i.name for i in carrying)}, or list it under `{every[name].gpu}`."
            faults.append(Fault(where, name, why, remedy))
        else:
            chosen.append(every[name])
    return chosen or carrying


def _zones(
    settings: Settings, capacity: Capacity, zones: Sequence[str], path: str, faults: list[Fault]
) -> tuple[str, ...]:
    if capacity.zones is None:
        return tuple(zones)
    good = []
    for index, zone in enumerate(capacity.zones):
        where = f"{path}.zones[{index}]"
        if not zone.startswith(settings.region):
            remedy = did_you_mean(zone, zones) if zones else ""
            faults.append(Fault(where, zone, f"This zone is not in {settings.region}.", remedy))
        elif zones and zone not in zones:
            why = f"The network has no subnet there; it covers {', '.join(zones)}."
            faults.append(Fault(where, zone, why, "Name it in `headwater:network.zones`, or use a zone it covers."))
        else:
            good.append(zone)
    return tuple(good) or tuple(zones)


def _reservations(
    capacity: Capacity, place: tuple[Sequence[str], Sequence[Instance]], today: dt.date, path: str, faults: list[Fault]
) -> tuple[ReservationPlan, ...]:
    (zones, allowed), accelerator = place, path.rsplit(".", 1)[-1]
    start = dt.datetime.combine(today, dt.time(), dt.UTC)
    least = dt.timedelta(hours=float(default("reservation", "minimum_hours")))
    found = []
    for index, r in enumerate(capacity.reservations):
        where = f"{path}.reservations[{index}]"
        if r.ends is not None and r.ends < start + least:
            kind = "Capacity Block" if r.kind == "block" else "reservation"
            why = (
                f"This {kind} ends {r.ends:%Y-%m-%d %H:%M} UTC; a deployment of {today} needs {least.days * 24} hours."
            )
            faults.append(Fault(f"{where}.ends", f"{r.ends:%Y-%m-%dT%H:%M:%SZ}", why, "Take it out, or extend it."))
        if r.zone is not None and r.zone not in zones:
            why = f"No GPU node of {accelerator} may be there: {', '.join(zones) or 'no zone'}."
            faults.append(Fault(f"{where}.zone", r.zone, why, f"Add it to `{path}.zones`."))
        if r.instance is not None and r.instance not in {i.name for i in allowed}:
            why = f"This accelerator's nodes are {', '.join(i.name for i in allowed)}."
            faults.append(Fault(f"{where}.instance", r.instance, why, f"Add it to `{path}.instances`."))
        found.append(ReservationPlan(id=r.id, kind=r.kind, ends=r.ends, zone=r.zone, instances=r.instances))
    return tuple(found)

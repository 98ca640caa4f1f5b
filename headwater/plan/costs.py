"""$/h of the plan, from dated list prices."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.instances import system_instances
from headwater.catalog.prices import as_of, control_plane, on_demand
from headwater.plan.model import Cost, Pool
from headwater.settings import Settings


def cost(settings: Settings, pools: Sequence[Pool]) -> Cost:
    """Nodes now and at the most at list price, the part reservations already pay for, and the platform beside them.

    ``complete`` is False when a price is missing; the sum then leaves that part out.
    """
    system, known = _system_nodes(settings)
    priced = [p for p in pools if p.dollars_per_hour is not None]
    return Cost(
        now=round(sum((p.dollars_per_hour or 0.0) * max(p.nodes_now, p.warm) for p in priced), 4),
        most=round(sum((p.dollars_per_hour or 0.0) * p.nodes_max for p in priced), 4),
        reserved=round(sum((p.dollars_per_hour or 0.0) * p.reserved_nodes for p in priced), 4),
        platform=round(control_plane() + system, 4),
        as_of=as_of(),
        region=settings.region,
        complete=known and len(priced) == len(pools),
    )


def _system_nodes(settings: Settings) -> tuple[float, bool]:
    """$/h of the system nodes at their minimum, and whether the price is known."""
    types = settings.system_nodes.instances or system_instances()
    price = on_demand(settings.region, types[0])
    return (price or 0.0) * settings.system_nodes.min, price is not None

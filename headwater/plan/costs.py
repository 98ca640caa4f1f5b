"""$/h of the plan, from dated list prices."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.prices import as_of, control_plane
from headwater.plan.model import Cost, Pool
from headwater.plan.system_model import SystemGroup
from headwater.settings import Settings


def cost(settings: Settings, pools: Sequence[Pool], system: SystemGroup | None) -> Cost:
    """Nodes now and at the most at list price, the part reservations already pay for, and the platform beside them.

    The platform is the control plane and the system nodes; an existing cluster's are not this environment's bill.
    ``complete`` is False when a price is missing; the sum then leaves that part out.
    """
    platform = 0.0 if system is None else control_plane() + (system.dollars_per_hour or 0.0) * system.nodes
    known = system is None or system.dollars_per_hour is not None
    priced = [p for p in pools if p.dollars_per_hour is not None]
    return Cost(
        now=round(sum((p.dollars_per_hour or 0.0) * max(p.nodes_now, p.warm) for p in priced), 4),
        most=round(sum((p.dollars_per_hour or 0.0) * p.nodes_max for p in priced), 4),
        reserved=round(sum((p.dollars_per_hour or 0.0) * p.reserved_nodes for p in priced), 4),
        platform=round(platform, 4),
        as_of=as_of(),
        region=settings.region,
        complete=known and len(priced) == len(pools),
    )

"""How much of each AWS quota an environment needs at its largest."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.catalog.instances import load_instances
from headwater.catalog.quotas import Quota, load_quotas
from headwater.catalog.system import system_types
from headwater.plan.model import Plan, Pool

INTERFACES_OF_A_NODE = 2
"""Ordinary interfaces a node uses, beside those for EFA."""


@dataclass(frozen=True)
class Need:
    """What must be allowed: at least ``amount`` of ``quota``, all of it this environment's own."""

    quota: Quota
    amount: int


def needs(plan: Plan) -> tuple[Need, ...]:
    """The quotas of a plan, at the most replicas, in a fixed order; those of which nothing is used are left out."""
    quotas, settings = load_quotas(), plan.settings
    system = 0 if plan.system is None else plan.system.nodes_max
    vcpus = 0 if plan.system is None else max(system_types()[name].vcpus for name in plan.system.instances)
    addresses = 0
    if settings.network.vpc is None and settings.network.endpoints == "standard":
        zones = {*plan.zones, *(zone for pool in plan.pools for zone in pool.zones)}
        addresses = 1 if settings.network.nat == "single" else len(zones)
    interfaces = sum(p.nodes_max * (p.efa + INTERFACES_OF_A_NODE) for p in plan.pools)
    amounts = {
        "p-instances": sum(_on_demand_nodes(p) * load_instances()[p.instances[0]].vcpus for p in plan.pools),
        "standard-instances": system * vcpus,
        "elastic-ips": addresses,
        "network-interfaces": interfaces + system * INTERFACES_OF_A_NODE,
    }
    return tuple(Need(quotas[key], amount) for key, amount in amounts.items() if amount)


def _on_demand_nodes(pool: Pool) -> int:
    """Nodes that count against the on-demand quota; reserved ones do, too, but for Capacity Blocks."""
    if "on-demand" not in pool.buy and "reserved" not in pool.buy:
        return 0
    blocks = sum(r.instances or 0 for r in pool.reservations if r.kind == "block")
    return max(0, pool.nodes_max - blocks)

"""Node pools: which roles share nodes, how many nodes that takes, what may be bought for them.

Whole-node and part-node pods never share a pool: a small pod on a node bought for a large one leaves the large one
pending for good. A pool whose nodes talk to each other holds one zone, because EFA does not leave it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.catalog.instances import Instance, load_instances
from headwater.plan.model import ModelPlan, Pool, ReservationPlan, Role
from headwater.plan.site import SPELLING, Supply
from headwater.refusal import Fault


@dataclass
class _Bin:
    """Roles that share a pool."""

    supply: Supply
    whole: bool
    single: bool
    roles: list[tuple[str, Role]] = field(default_factory=list)

    @property
    def talks(self) -> bool:
        """Whether pods exchange tensors with other nodes."""
        return any(role.pod.efa for _, role in self.roles)


def pool_name(accelerator: str, *, whole: bool, single: bool) -> str:
    """``h100-node`` for whole nodes, ``h100-part`` for parts, ``h100-single`` for one-GPU types beside those."""
    return f"{accelerator}-{'node' if whole else 'single' if single else 'part'}"


def pods_at(role: Role, *, most: bool) -> int:
    """Pods of a role at the minimum or the maximum of its replicas."""
    return (role.replicas_max if most else role.replicas_min) * role.nodes


def nodes_for(roles: Iterable[Role], gpus_per_node: int, *, most: bool) -> int:
    """Nodes that hold these pods. Pods take 1, 2, 4 or 8 GPUs, so larger ones first always packs without gaps."""
    return math.ceil(sum(r.pod.gpus * pods_at(r, most=most) for r in roles) / gpus_per_node)


def settle(models: Sequence[ModelPlan], supplies: Mapping[str, Supply]) -> tuple[ModelPlan, ...]:
    """The models with the instance of part-node roles settled: one-GPU pods fill nodes that are bought anyway."""
    moved: dict[tuple[str, str], str] = {}
    for accelerator, supply in supplies.items():
        parts = [(m.name, r) for m in models for r in m.roles if r.accelerator == accelerator and not r.pod.whole_node]
        large = [(n, r) for n, r in parts if r.pod.gpus > 1]
        small = [(n, r) for n, r in parts if r.pod.gpus == 1]
        wide = [h for h in supply.hardware if h.instance.gpus > 1]
        if not large or not small or not wide or not _fills(large, small, load_instances()[large[0][1].instance].gpus):
            continue
        for name, role in small:
            moved[name, role.role] = large[0][1].instance
    return tuple(_moved(m, moved) for m in models)


def _fills(large: Sequence[tuple[str, Role]], small: Sequence[tuple[str, Role]], gpus: int) -> bool:
    """Whether the small pods fit into what the large ones leave of their nodes, now and at the most."""
    big, every = [r for _, r in large], [r for _, r in (*large, *small)]
    return all(nodes_for(every, gpus, most=most) == nodes_for(big, gpus, most=most) for most in (False, True))


def _moved(model: ModelPlan, moved: Mapping[tuple[str, str], str]) -> ModelPlan:
    roles = tuple(
        r.model_copy(update={"instance": moved[model.name, r.role]}) if (model.name, r.role) in moved else r
        for r in model.roles
    )
    return model.model_copy(update={"roles": roles})


def assign(
    models: Sequence[ModelPlan], supplies: Mapping[str, Supply], faults: list[Fault]
) -> tuple[tuple[ModelPlan, ...], tuple[Pool, ...]]:
    """Every role in a pool, and the pools.

    Args:
        models: placed models.
        supplies: what may be bought, by accelerator.
        faults: gets what is more than may be bought.
    """
    bins: dict[str, _Bin] = {}
    instances = load_instances()
    for model in models:
        for role in model.roles:
            facts = instances[role.instance]
            mixed = facts.gpus == 1 and _has_wide_parts(models, role.accelerator)
            name = pool_name(role.accelerator, whole=role.pod.whole_node, single=mixed)
            found = bins.setdefault(name, _Bin(supplies[role.accelerator], role.pod.whole_node, mixed))
            found.roles.append((model.name, role))
    named = tuple(
        m.model_copy(update={"roles": tuple(r.model_copy(update={"pool": _pool_of(bins, m.name, r)}) for r in m.roles)})
        for m in models
    )
    taken: dict[str, int] = {}
    warmed: set[str] = set()
    pools = tuple(_pool(name, bins[name], taken, warmed) for name in sorted(bins, key=lambda n: (n.split("-")[0], n)))
    _within_limits(pools, supplies, faults)
    return named, pools


def _has_wide_parts(models: Sequence[ModelPlan], accelerator: str) -> bool:
    roles = [r for m in models for r in m.roles if r.accelerator == accelerator and not r.pod.whole_node]
    return any(load_instances()[r.instance].gpus > 1 for r in roles)


def _pool_of(bins: Mapping[str, _Bin], model: str, role: Role) -> str:
    return next(n for n, b in bins.items() if (model, role.role) in [(m, r.role) for m, r in b.roles])


def _types(bin_: _Bin) -> tuple[Instance, ...]:
    """Types the pool may buy: all allowed ones of the same size, one only where pods count EFA interfaces."""
    first = load_instances()[bin_.roles[0][1].instance]
    if bin_.talks:
        return (first,)
    same = [h.instance for h in bin_.supply.hardware if h.instance.gpus == first.gpus and h.listed]
    return (first, *(i for i in same if i != first))


def _pool(name: str, bin_: _Bin, taken: dict[str, int], warmed: set[str]) -> Pool:
    """The pool of a bin; warm nodes are kept by the accelerator's first pool only, each reservation is used once."""
    types, supply = _types(bin_), bin_.supply
    facts = types[0]
    roles = [role for _, role in bin_.roles]
    now, most = (nodes_for(roles, facts.gpus, most=m) for m in (False, True))
    reservations = _reservations(supply, types)
    zones = _one_zone(supply, reservations) if bin_.talks else supply.zones
    held = sum(r.instances or 0 for r in reservations if r.zone is None or r.zone in zones)
    free = max(0, held - taken.get(facts.name, 0))
    reserved = min(now, free) if reservations else 0
    if reservations and any(r.instances is None for r in reservations):
        reserved = now
    taken[facts.name] = taken.get(facts.name, 0) + reserved
    warm = 0 if supply.accelerator in warmed else supply.capacity.warm
    warmed.add(supply.accelerator)
    nodes_max = max(most, now, warm)
    efa = facts.efa if bin_.talks else 0
    prices = [h.dollars for h in supply.hardware if h.instance in types and h.listed]
    return Pool(
        name=name, accelerator=supply.accelerator, whole_node=bin_.whole, instances=tuple(i.name for i in types),
        zones=zones, buy=tuple(SPELLING[b] for b in supply.capacity.buy), reservations=reservations, efa=efa,
        cards=facts.cards, placement_group=any(r.nodes > 1 for r in roles) and facts.placement_group, nodes_now=now,
        nodes_max=nodes_max, gpus_per_node=facts.gpus, gpu_limit=nodes_max * facts.gpus, warm=warm,
        roles=tuple(f"{m}/{r.role}" for m, r in bin_.roles), dollars_per_hour=max(prices) if prices else None,
        reserved_nodes=reserved,
    )  # fmt: skip


def _reservations(supply: Supply, types: Sequence[Instance]) -> tuple[ReservationPlan, ...]:
    """Reservations of the accelerator that hold one of these types."""
    names = {i.name for i in types}
    pairs = zip(supply.reserved_types, supply.reservations, strict=True)
    return tuple(plan for name, plan in pairs if name in names)


def _one_zone(supply: Supply, reservations: Sequence[ReservationPlan]) -> tuple[str, ...]:
    held = [r.zone for r in reservations if r.zone is not None and r.zone in supply.zones]
    return (held[0],) if held else supply.zones[:1]


def _within_limits(pools: Sequence[Pool], supplies: Mapping[str, Supply], faults: list[Fault]) -> None:
    for accelerator, supply in supplies.items():
        limit, mine = supply.capacity.max_gpus, [p for p in pools if p.accelerator == accelerator]
        wanted = sum(p.gpu_limit for p in mine)
        if limit is not None and mine and wanted > limit:
            parts = ", ".join(f"{p.name} {p.gpu_limit}" for p in mine)
            why = f"The plan needs up to {wanted} GPUs ({parts}), whole nodes counted, with every replica's maximum."
            remedy = f"Allow {wanted}, or lower `replicas.max` or `warm`."
            faults.append(Fault(f"headwater:capacity.{accelerator}.maxGpus", str(limit), why, remedy))


def idle_gpus(pool: Pool, roles: Sequence[Role]) -> int:
    """GPUs of the pool's nodes that no pod uses at the minimum of replicas."""
    return pool.nodes_now * pool.gpus_per_node - sum(r.pod.gpus * pods_at(r, most=False) for r in roles)

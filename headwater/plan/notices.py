"""What the reader of a plan must not miss."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from headwater.catalog.defaults import default
from headwater.catalog.dynamo_surface import dynamo_surface, line_of
from headwater.catalog.models import gated
from headwater.plan.model import ModelPlan, Pool, StackName
from headwater.plan.pools import idle_gpus
from headwater.plan.site import Supply
from headwater.plan.waiting import waiting
from headwater.settings import Settings


def notices(
    settings: Settings,
    models: Sequence[ModelPlan],
    pools: Sequence[Pool],
    supplies: Mapping[str, Supply],
    today: dt.date,
    *,
    stack: StackName,
) -> tuple[str, ...]:
    """Warnings about the environment as a whole, then about each model, in the order of the stack file."""
    lines = [*_exposed(settings, models), *waiting(settings, stack, models)]
    for pool in pools:
        lines += _pool(pool, models, today)
    for name, supply in supplies.items():
        if supply.listed and not any(pool.accelerator == name for pool in pools):
            lines.append(f"capacity.{name} is listed, but no model runs on it")
        used = {r.id for pool in pools if pool.accelerator == name for r in pool.reservations}
        for kind, reservation in zip(supply.reserved_types, supply.reservations, strict=True):
            if reservation.id not in used:
                lines.append(f"reservation {reservation.id} ({kind}) is paid for, and no model runs on it")
    for model in models:
        texts = (*model.warnings, *_pairs(model, pools), *_anonymous(settings, model))
        lines += [f"{model.name}: {text}" for text in texts]
        if stack == "dynamo" and settings.dynamo.router.mode == "kv":
            lines += [f"{model.name}: {text}" for text in _unheard(model)]
    return tuple(lines)


def _exposed(settings: Settings, models: Sequence[ModelPlan]) -> list[str]:
    lines = []
    if settings.gateway.exposure == "public":
        lines.append(f"the gateway answers the internet, for {', '.join(settings.gateway.allow)}")
    if settings.cluster.endpoint != "private":
        lines.append(f"the Kubernetes API is reachable from {', '.join(settings.cluster.endpoint.public)}")
    said = {model.name for model in settings.serving.models if model.trust_remote_code}
    for model in models:
        if model.trust_remote_code:
            why = "trustRemoteCode" if model.name in said else f"{model.key} cannot be loaded without"
            lines.append(f"{model.name}: code from the model's repository runs in its pods ({why})")
    return lines


def _anonymous(settings: Settings, model: ModelPlan) -> list[str]:
    """Weights that the hub does not give to everybody, and nobody who asks for them."""
    weights = settings.weights
    asks_hub = weights.mirror is None or weights.fill
    if settings.hugging_face is not None or not asks_hub or not gated(model.repository):
        return []
    why = f"the hub gives {model.repository} only to accounts that agreed to its terms"
    return [f"{why}: without the token of one (`headwater:huggingFace`) or a filled mirror no server starts"]


def _unheard(model: ModelPlan) -> list[str]:
    """KV events that Dynamo's router cannot use: their blocks are wider than the worker announced."""
    wide = [role for role in model.roles if role.event_block_size != role.block_size]
    if dynamo_surface().decode_context_events:
        return []
    return [
        f"Dynamo {line_of(dynamo_surface().version)} drops KV events of decode context parallelism (blocks of "
        f"{role.event_block_size} tokens, {role.block_size} announced), so its router sees no cached prompt; set "
        "`engine: {decode-context-parallel-size: 1}`, or `headwater:dynamo.router: least-loaded`"
        for role in wide[:1]
    ]


def _pairs(model: ModelPlan, pools: Sequence[Pool]) -> list[str]:
    """Groups of several nodes without a reservation are often refused on demand."""
    lines = []
    for role in model.roles:
        pool = next(p for p in pools if p.name == role.pool)
        if role.nodes > 1 and pool.reserved_nodes < role.nodes * max(1, role.replicas_min):
            what = f"{role.nodes} × {role.instance}"
            lines.append(
                f"no reservation for {what} in one zone; on-demand {role.accelerator.upper()} groups are often refused"
            )
    return lines


def _pool(pool: Pool, models: Sequence[ModelPlan], today: dt.date) -> list[str]:
    lines = []
    idle = idle_gpus(pool, [r for m in models for r in m.roles if r.pool == pool.name])
    if idle and pool.gpus_per_node > 1:
        lines.append(
            f"{pool.name}: {idle} of {pool.nodes_now * pool.gpus_per_node} GPUs are paid for and idle "
            f"({pool.instances[0]})"
        )
    if pool.dollars_per_hour is None:
        lines.append(
            f"{pool.name}: the catalogue has no price of {pool.instances[0]} in this region; costs are incomplete"
        )
    soon = dt.timedelta(days=float(default("reservation", "warn_days")))
    for reservation in pool.reservations:
        if reservation.ends is not None and reservation.ends.date() <= today + soon:
            lines.append(f"{pool.name}: reservation {reservation.id} ends {reservation.ends:%Y-%m-%d %H:%M} UTC")
        if reservation.instances is None:
            lines.append(
                f"{pool.name}: {reservation.id} does not say how many instances it holds; "
                "all nodes now are counted as reserved"
            )
    if "spot" in pool.buy and any(r.nodes > 1 for m in models for r in m.roles if r.pool == pool.name):
        lines.append(f"{pool.name}: one interrupted spot node ends its whole group")
    if pool.reservations and pool.reserved_nodes < pool.nodes_now and "on-demand" not in pool.buy:
        short = pool.nodes_now - pool.reserved_nodes
        lines.append(
            f"{pool.name}: {short} of {pool.nodes_now} nodes are beyond the reservations, nothing else may be bought"
        )
    return lines

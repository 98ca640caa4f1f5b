"""How llm-d routes each model, and what its host tier holds."""

from __future__ import annotations

from headwater.plan.model import ModelPlan, Role
from headwater.settings.llmd import KvTier, Llmd, RoutingPath


def routing_path(settings: Llmd, model: ModelPlan) -> RoutingPath:
    """The path of one model: what the stack file says, else what its placement asks for."""
    if model.name in settings.paths:
        return settings.paths[model.name]
    if settings.path != "auto":
        return settings.path
    if any(role.parallel.data > 1 and (role.parallel.expert or role.nodes > 1) for role in model.roles):
        return "wide-ep"
    if model.disaggregated:
        return "disaggregated"
    if any(role.offload_gib > 0 for role in model.roles):
        return "tiered"
    return "prefix"


def offload_tokens(role: Role) -> int:
    """Tokens the host tier of one replica holds, 0 without one.

    Host blocks have the layout of GPU blocks, copies on tensor ranks included, so tokens scale with bytes: GPU tokens x
    host GiB / GiB of all its GPUs' KV caches.
    """
    gpu_gib = role.memory.kv.expected * role.gpus
    if role.offload_gib <= 0 or gpu_gib <= 0:
        return 0
    return int(role.kv_tokens * role.offload_gib / gpu_gib)


def mooncake_wanted(model: ModelPlan, tier: KvTier) -> bool:
    """Whether the model needs a Mooncake master."""
    return tier.engine == "mooncake" and any(role.offload_gib > 0 for role in model.roles)

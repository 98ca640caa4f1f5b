"""How KV blocks move: between prefill and decode, and to tiers beside GPU memory."""

from __future__ import annotations

import json
from typing import Any

from components.llmd.tiers import HASH_SEED, OFFLOAD_FLAGS, tier_connector, tier_env
from headwater.plan import ModelPlan, Role
from headwater.settings.llmd import KvTier, RoutingPath

NIXL_PORT = 5600

Connector = dict[str, Any]


def nixl(role: Role) -> Connector:
    """Prefill to decode. Over EFA only libfabric reaches the network; UCX would fall back to TCP without a word.

    A block that cannot be loaded fails the request instead of being computed again unseen.
    """
    connector: Connector = {"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_load_failure_policy": "fail"}
    if role.pod.efa:
        connector["kv_connector_extra_config"] = {"backends": ["LIBFABRIC"]}
    return connector


def connectors(model: ModelPlan, role: Role, tier: KvTier) -> list[Connector]:
    """Every connector a role needs, in the order lookups try them."""
    found = [nixl(role)] if model.disaggregated else []
    if role.offload_gib > 0:
        found.append(tier_connector(role, tier))
    return found


def plan_speaks(model: ModelPlan, role: Role, tier: KvTier) -> bool:
    """Whether the plan's own arguments already say all about transfer and tiers."""
    plain = not model.disaggregated and tier.engine == "native" and tier.files == "off"
    return role.has("--kv-transfer-config") or (plain and role.has(OFFLOAD_FLAGS[0]))


def replaced_flags(model: ModelPlan, role: Role, tier: KvTier) -> tuple[str, ...]:
    """Arguments of the plan that a connector of ours says instead."""
    return () if plan_speaks(model, role, tier) else OFFLOAD_FLAGS


def transfer_words(model: ModelPlan, role: Role, tier: KvTier) -> list[str]:
    """The engine's ``--kv-transfer-config``; empty when nothing moves or the plan has already said how."""
    wanted = connectors(model, role, tier)
    if not wanted or plan_speaks(model, role, tier):
        return []
    config = wanted[0]
    if len(wanted) > 1:
        config = {
            "kv_connector": "MultiConnector",
            "kv_role": "kv_both",
            "kv_connector_extra_config": {"connectors": wanted},
        }
    return [f"--kv-transfer-config={json.dumps(config, separators=(',', ':'))}"]


def transfer_env(model: ModelPlan, role: Role, path: RoutingPath, tier: KvTier) -> list[dict[str, Any]]:
    """Variables the connectors read."""
    env: list[dict[str, Any]] = []
    if model.disaggregated:
        env.append({"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
        env.append({"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": str(NIXL_PORT)})
        if role.role == "prefill":
            env.append({"name": "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "value": "120"})
    if path == "precise" or role.offload_gib > 0:
        env.append({"name": "PYTHONHASHSEED", "value": HASH_SEED})
    return env + (tier_env(role, tier) if role.offload_gib > 0 else [])

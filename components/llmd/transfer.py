"""How KV blocks move: between prefill and decode, and to tiers beside GPU memory."""

from __future__ import annotations

import json
from typing import Any

from headwater.plan import ModelPlan, Role
from headwater.settings.llmd import KvTier, RoutingPath

NIXL_PORT = 5600
HASH_SEED = "42"
"""One seed on every server: blocks that outlive a process are found again only under the same hashes."""

Connector = dict[str, Any]


def nixl(role: Role) -> Connector:
    """Prefill to decode. Over EFA only libfabric reaches the network; UCX would fall back to TCP without a word.

    A block that cannot be loaded fails the request instead of being computed again unseen.
    """
    connector: Connector = {"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_load_failure_policy": "fail"}
    if role.pod.efa:
        connector["kv_connector_extra_config"] = {"backends": ["LIBFABRIC"]}
    return connector


def offload(role: Role) -> Connector:
    """Host memory behind GPU memory, by the engine itself; bytes for the whole replica."""
    size = int(role.offload_gib * 2**30)
    return {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"cpu_bytes_to_use": size},
    }


def connectors(model: ModelPlan, role: Role, tier: KvTier) -> list[Connector]:
    """Every connector a role needs, in the order lookups try them."""
    del tier
    found = []
    if model.disaggregated:
        found.append(nixl(role))
    if role.offload_gib > 0:
        found.append(offload(role))
    return found


def transfer_words(model: ModelPlan, role: Role, tier: KvTier) -> list[str]:
    """The engine's ``--kv-transfer-config``; empty when nothing moves or the plan has already said how."""
    if role.has("--kv-transfer-config") or role.has("--kv-offloading-size"):
        return []
    wanted = connectors(model, role, tier)
    if not wanted:
        return []
    config = wanted[0]
    if len(wanted) > 1:
        config = {
            "kv_connector": "MultiConnector",
            "kv_role": "kv_both",
            "kv_connector_extra_config": {"connectors": wanted},
        }
    return [f"--kv-transfer-config={json.dumps(config, separators=(',', ':'))}"]


def transfer_env(model: ModelPlan, role: Role, path: RoutingPath) -> list[dict[str, Any]]:
    """Variables the connectors read."""
    env: list[dict[str, Any]] = []
    if model.disaggregated:
        env.append({"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
        env.append({"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": str(NIXL_PORT)})
        if role.role == "prefill":
            env.append({"name": "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "value": "120"})
    if path in ("tiered", "precise") or role.offload_gib > 0:
        env.append({"name": "PYTHONHASHSEED", "value": HASH_SEED})
    return env

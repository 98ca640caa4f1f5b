"""How KV cache leaves an engine: to the router as events, to decode over NIXL, to host memory."""

from __future__ import annotations

import json
from typing import Any

from components.dynamo.names import KV_EVENTS_PORT, graph_name
from headwater.plan import ModelPlan, Role
from headwater.plan.dynamo_layout import HOST_BLOCK_TOKENS

GIB = 2**30


def compact(value: Any) -> str:
    """JSON in one form only: sorted, without spaces (and so without a quote that a shell could read)."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def kv_events_config() -> str:
    """Value of ``--kv-events-config``. Without ``enable_kv_cache_events`` vLLM would publish nothing."""
    endpoint = f"tcp://*:{KV_EVENTS_PORT}"
    return compact({"enable_kv_cache_events": True, "endpoint": endpoint, "publisher": "zmq", "topic": "kv-events"})


def kv_transfer_config(model: ModelPlan, role: Role) -> str | None:
    """Value of ``--kv-transfer-config``; None when KV cache stays where it is.

    Prefill and decode meet over NIXL, by libfabric when the pod has EFA: the backend must be named on both sides, or
    the transfer falls back to TCP without a word. A replica of several nodes names its engine itself, since each node
    would else invent a name of its own; such a role has one replica (``headwater.plan.dynamo_rules``).
    """
    connectors = []
    if model.disaggregated:
        connectors.append(_nixl(model, role))
    if role.offload_gib:
        connectors.append(_host(role))
    if not connectors:
        return None
    if len(connectors) == 1:
        return compact(connectors[0])
    combined = {"kv_connector": "MultiConnector", "kv_role": "kv_both"}
    return compact({**combined, "kv_connector_extra_config": {"connectors": connectors}})


def _nixl(model: ModelPlan, role: Role) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kv_connector": "NixlConnector",
        "kv_role": "kv_producer" if role.role == "prefill" else "kv_consumer",
    }
    if role.pod.efa:
        found["kv_connector_extra_config"] = {"backends": ["LIBFABRIC"]}
    if role.nodes > 1:
        found["engine_id"] = f"{graph_name(model)}-{role.role}"
    return found


def _host(role: Role) -> dict[str, Any]:
    """The engine's own connector to host memory.

    Chunks are counted in blocks, so that models with several kinds of attention, whose blocks differ in tokens, work
    too; events carry their tokens, so that the router can place them.
    """
    return {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {
            "blocks_per_chunk": max(1, HOST_BLOCK_TOKENS // role.block_size),
            "cpu_bytes_to_use": int(role.offload_gib * GIB),
            "self_describing_kv_events": True,
        },
    }

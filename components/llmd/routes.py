"""How requests find their model behind the one Gateway."""

from __future__ import annotations

from typing import Any

from components.llmd.gateway import GATEWAY_NAME
from components.llmd.router import router_name
from headwater.plan import ModelPlan

POOL = {"group": "inference.networking.k8s.io", "kind": "InferencePool"}
MODEL_HEADER = "x-gateway-model-name"
NO_LIMIT = {"request": "0s"}
"""Long answers take minutes; clients set their own limits."""
UNTRUSTED = ("x-gateway-destination-endpoint", "x-gateway-destination-endpoint-subset")
"""Headers of the routing protocol itself, never taken from clients."""


def http_route_spec(model: ModelPlan, *, alone: bool) -> dict[str, Any]:
    """Spec of a model's HTTPRoute.

    A model alone has the whole address. Several share it: ``/<model>/v1/...`` names the model in the path, and the
    header ``x-gateway-model-name`` names it where clients (or the gateway) set it.

    Args:
        model: the model.
        alone: it is the only one of the environment.
    """
    backend = [{**POOL, "name": router_name(model), "port": 8000, "weight": 1}]
    strip = {"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": list(UNTRUSTED)}}
    if alone:
        rules = [_rule([{"path": {"type": "PathPrefix", "value": "/"}}], [strip], backend)]
    else:
        rewrite = {
            "type": "URLRewrite",
            "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
        }
        header = {"type": "Exact", "name": MODEL_HEADER, "value": model.name}
        by_path = {"path": {"type": "PathPrefix", "value": f"/{model.name}"}}
        by_header = {"path": {"type": "PathPrefix", "value": "/"}, "headers": [header]}
        rules = [_rule([by_path], [strip, rewrite], backend), _rule([by_header], [strip], backend)]
    parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": GATEWAY_NAME}
    return {"parentRefs": [parent], "rules": rules}


def _rule(
    matches: list[dict[str, Any]], filters: list[dict[str, Any]], backend: list[dict[str, Any]]
) -> dict[str, Any]:
    return {"matches": matches, "filters": filters, "backendRefs": backend, "timeouts": NO_LIMIT}

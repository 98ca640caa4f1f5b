"""How requests find their model behind the one Gateway."""

from __future__ import annotations

from typing import Any

from components.llmd.router import router_name
from headwater.plan import ModelPlan

POOL = {"group": "inference.networking.k8s.io", "kind": "InferencePool"}
MODEL_HEADER = "x-gateway-model-name"
NO_LIMIT = {"request": "0s"}
"""Long answers take minutes; clients set their own limits."""


def http_route_spec(model: ModelPlan, gateway_name: str, *, alone: bool) -> dict[str, Any]:
    """Spec of a model's HTTPRoute.

    A model alone has the whole address. Several share it: ``/<model>/v1/...`` names the model in the path, and the
    header ``x-gateway-model-name`` names it where clients (or the gateway) set it.

    Args:
        model: the model.
        gateway_name: the Gateway, in the same namespace.
        alone: it is the only one of the environment.
    """
    backend = [{**POOL, "name": router_name(model), "weight": 1}]
    root = {"path": {"type": "PathPrefix", "value": "/"}}
    if alone:
        rules = [{"matches": [root], "backendRefs": backend, "timeouts": NO_LIMIT}]
    else:
        rewrite = {
            "type": "URLRewrite",
            "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
        }
        header = {"type": "Exact", "name": MODEL_HEADER, "value": model.name}
        by_path = {"path": {"type": "PathPrefix", "value": f"/{model.name}"}}
        rules = [
            {"matches": [by_path], "filters": [rewrite], "backendRefs": backend, "timeouts": NO_LIMIT},
            {"matches": [{**root, "headers": [header]}], "backendRefs": backend, "timeouts": NO_LIMIT},
        ]
    parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": gateway_name}
    return {"parentRefs": [parent], "rules": rules}

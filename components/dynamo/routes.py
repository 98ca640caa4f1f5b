"""How requests find their model behind the one Gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.dynamo.names import HTTP_PORT, frontend_service
from components.dynamo.picker import pool_name
from headwater.plan import ModelPlan
from headwater.plan.dynamo_layout import Entry

MODEL_HEADER = "x-gateway-model-name"
AI_MODEL_HEADER = "x-ai-eg-model"
"""Envoy AI Gateway reads the model's name from the request's body into this header, before it routes."""
NO_LIMIT = {"request": "0s"}
"""Long answers take minutes; clients set their own limits."""
RULES_PER_ROUTE = 15


def backend(model: ModelPlan, way: Entry, namespace: str) -> dict[str, Any]:
    """What a route sends a model's requests to: its frontend's Service, or the pool the picker chooses from."""
    if way == "picker":
        return {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": pool_name(model), "weight": 1}
    return {"kind": "Service", "name": frontend_service(model), "namespace": namespace, "port": HTTP_PORT, "weight": 1}


def http_route(model: ModelPlan, gateway: str, target: Mapping[str, Any], *, alone: bool) -> dict[str, Any]:
    """Spec of a model's HTTPRoute.

    A model alone has the whole address. Several share it: ``/<model>/v1/...`` names the model in the path, and the
    header ``x-gateway-model-name`` names it where clients (or the gateway) set it.

    Args:
        model: the model.
        gateway: name of the Gateway, in the same namespace.
        target: from :func:`backend`.
        alone: it is the only model of the environment.
    """
    backends = [dict(target)]
    root = {"path": {"type": "PathPrefix", "value": "/"}}
    if alone:
        rules: list[dict[str, Any]] = [{"matches": [root], "backendRefs": backends, "timeouts": NO_LIMIT}]
    else:
        by_path = {"path": {"type": "PathPrefix", "value": f"/{model.name}"}}
        by_header = {**root, "headers": [{"type": "Exact", "name": MODEL_HEADER, "value": model.name}]}
        path = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}
        rewrite = {"type": "URLRewrite", "urlRewrite": {"path": path}}
        rules = [
            {"matches": [by_path], "filters": [rewrite], "backendRefs": backends, "timeouts": NO_LIMIT},
            {"matches": [by_header], "backendRefs": backends, "timeouts": NO_LIMIT},
        ]
    return {"parentRefs": [_parent(gateway)], "rules": rules}


def ai_routes(models: tuple[ModelPlan, ...], gateway: str, way: Entry) -> list[dict[str, Any]]:
    """Specs of AIGatewayRoutes, which read the model from the request's body: several models, one address."""

    def target(model: ModelPlan) -> dict[str, Any]:
        if way == "picker":
            return {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": pool_name(model)}
        return {"name": frontend_service(model)}

    rules = [
        {
            "matches": [{"headers": [{"type": "Exact", "name": AI_MODEL_HEADER, "value": model.name}]}],
            "backendRefs": [target(model)],
            "timeouts": NO_LIMIT,
        }
        for model in models
    ]
    chunks = [rules[start : start + RULES_PER_ROUTE] for start in range(0, len(rules), RULES_PER_ROUTE)]
    return [{"parentRefs": [_parent(gateway)], "rules": chunk} for chunk in chunks]


def ai_backends(model: ModelPlan, namespace: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Specs of the Backend and the AIServiceBackend that stand for a model's frontend in such a route."""
    host = f"{frontend_service(model)}.{namespace}.svc.cluster.local"
    address = {"endpoints": [{"fqdn": {"hostname": host, "port": HTTP_PORT}}]}
    reference = {"group": "gateway.envoyproxy.io", "kind": "Backend", "name": frontend_service(model)}
    return address, {"schema": {"name": "OpenAI"}, "backendRef": reference}


def _parent(gateway: str) -> dict[str, str]:
    return {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": gateway}

"""What the gateway does before routing: no client names an endpoint or a priority it was not given."""

from __future__ import annotations

from typing import Any

from components.llmd.router import router_name
from components.llmd.routes import MODEL_HEADER, POOL
from headwater.plan import ModelPlan, Plan

PROTOCOL_HEADERS = ("x-gateway-destination-endpoint", "x-gateway-destination-endpoint-subset", "x-prefiller-host-port")
"""The routing protocol's own; from a client they would choose a pod past every decision."""
TENANT_HEADERS = (
    "x-llm-d-inference-objective",
    "x-llm-d-inference-fairness-id",
    "x-llm-d-model-name-rewrite",
    "x-gateway-inference-objective",
    "x-gateway-inference-fairness-id",
    "x-gateway-model-name-rewrite",
)
"""Priority and fairness; trusted only where the stack file defines objectives for clients to name."""
BUFFER_LIMIT = "50Mi"
"""Envoy's own 32 KiB is less than one long prompt."""
AI_MODEL_HEADER = "x-ai-eg-model"
RULES_PER_ROUTE = 15


def stripped_headers(plan: Plan) -> list[str]:
    """Headers never taken from clients. Dynamo's models have no objectives, whatever llm-d's settings say."""
    objectives = plan.stack == "llm-d" and plan.settings.llmd.flow_control.objectives
    return [*PROTOCOL_HEADERS, *(() if objectives else TENANT_HEADERS)]


def client_policy(gateway_name: str, plan: Plan) -> dict[str, Any]:
    """Spec of Envoy Gateway's ClientTrafficPolicy: room for long prompts, headers removed before any filter runs.

    A header with an underscore is dropped instead of refusing the request, as some client libraries send such.
    """
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": gateway_name}
    return {
        "targetRefs": [target],
        "connection": {"bufferLimit": BUFFER_LIMIT},
        "headers": {
            "withUnderscoresAction": "DropHeader",
            "earlyRequestHeaders": {"remove": stripped_headers(plan)},
        },
    }


def model_routes(gateway_name: str, models: tuple[ModelPlan, ...]) -> list[dict[str, Any]]:
    """Specs of AIGatewayRoutes that read the model from the request's body, for several models at one address."""
    parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": gateway_name}
    rules = [
        {
            "matches": [{"headers": [{"type": "Exact", "name": AI_MODEL_HEADER, "value": model.name}]}],
            "backendRefs": [{**POOL, "name": router_name(model)}],
            "timeouts": {"request": "0s"},
        }
        for model in models
    ]
    chunks = [rules[start : start + RULES_PER_ROUTE] for start in range(0, len(rules), RULES_PER_ROUTE)]
    return [{"parentRefs": [parent], "rules": chunk} for chunk in chunks]


def agentgateway_policy(gateway_name: str, plan: Plan) -> dict[str, Any]:
    """Spec of agentgateway's policy before routing: the same headers removed, one of several models read from the body.

    Args:
        gateway_name: the Gateway.
        plan: the environment.
    """
    request: dict[str, Any] = {"remove": stripped_headers(plan)}
    if len(plan.models) > 1:
        request["set"] = [{"name": MODEL_HEADER, "value": "json(request.body).model"}]
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": gateway_name}
    return {"targetRefs": [target], "traffic": {"phase": "PreRouting", "transformation": {"request": request}}}

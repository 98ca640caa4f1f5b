"""Who may talk to whom: everything is denied in the models' namespace but what serving needs.

Inside a graph any port goes: request and event planes, NIXL and NCCL take ports the system gives them.
"""

from __future__ import annotations

from typing import Any

from components.dynamo.names import (
    EXT_PROC_PORT,
    FRONTEND,
    GRAPH_LABEL,
    HTTP_PORT,
    NIXL_PORT,
    PLANNER_METRICS_PORT,
    SYSTEM_PORT,
    TYPE_LABEL,
    graph_name,
)
from components.serving.flows import (
    EVERYWHERE_BUT_METADATA,
    POD_IDENTITY,
    Peer,
    Rule,
    dns,
    prometheus_peer,
    tcp,
)
from headwater.plan import ModelPlan, Plan
from headwater.plan.dynamo_layout import planned

PROMETHEUS_PORT = 9090


def graph_policy(plan: Plan, model: ModelPlan, gateway: Peer | None, *, by_picker: bool) -> dict[str, Any]:
    """Flows of every pod of a graph.

    Args:
        plan: the environment.
        model: the model.
        gateway: the proxies that bring requests; None when clients come straight to the frontend.
        by_picker: the gateway asks a picker and sends requests to worker pods.
    """
    own: Peer = {"podSelector": {"matchLabels": {GRAPH_LABEL: graph_name(model)}}}
    ingress: list[Rule] = [{"from": [own]}]
    if gateway is not None:
        ingress.append({"from": [gateway], "ports": tcp(HTTP_PORT, *([EXT_PROC_PORT] if by_picker else []))})
    egress: list[Rule] = [dns(), {"to": [own]}, {"to": [EVERYWHERE_BUT_METADATA], "ports": tcp(443)}]
    if plan.settings.weights.mirror is not None:
        egress.append({"to": [POD_IDENTITY], "ports": tcp(80)})
    if plan.settings.observability.enabled:
        scraped = tcp(HTTP_PORT, PLANNER_METRICS_PORT, SYSTEM_PORT, NIXL_PORT)
        ingress.append({"from": [prometheus_peer()], "ports": scraped})
        if planned(plan.settings, model):
            egress.append({"to": [prometheus_peer()], "ports": tcp(PROMETHEUS_PORT)})
    return {
        "podSelector": {"matchLabels": {GRAPH_LABEL: graph_name(model)}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": ingress,
        "egress": egress,
    }


def clients_policy(model: ModelPlan) -> dict[str, Any]:
    """Clients reach the frontend straight, from pods or through a load balancer that sends to pods."""
    return {
        "podSelector": {"matchLabels": {GRAPH_LABEL: graph_name(model), TYPE_LABEL: FRONTEND}},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": tcp(HTTP_PORT)}],
    }


def proxy_policy(models: tuple[ModelPlan, ...], proxies: dict[str, str], control: str) -> dict[str, Any]:
    """Flows of gateway proxies that live in the models' namespace.

    Args:
        models: every model behind them.
        proxies: labels of the proxies' pods.
        control: namespace of their control plane.
    """
    graphs: list[Peer] = [{"podSelector": {"matchLabels": {GRAPH_LABEL: graph_name(model)}}} for model in models]
    space = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": control}}}
    return {
        "podSelector": {"matchLabels": proxies},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{}],
        "egress": [dns(), {"to": [space]}, {"to": graphs, "ports": tcp(HTTP_PORT, EXT_PROC_PORT)}],
    }

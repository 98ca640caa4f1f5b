"""Who may talk to whom: everything is denied in the models' namespace but what serving needs.

Flows inside a model (NCCL, NIXL side channels, rank ports) use ports chosen at run time, so a model's own pods may talk
on any port; nobody else may.
"""

from __future__ import annotations

from typing import Any

from components.llmd.epp import KV_EVENTS_PORT, KV_REPLAY_PORT
from components.llmd.labels import pool_labels
from components.llmd.ports import ports
from components.llmd.router import EXT_PROC_PORT, METRICS_PORT, PROXY_PORT, picker_service
from components.serving import MODEL_LABEL
from components.serving.flows import (
    EVERYWHERE_BUT_METADATA,
    POD_IDENTITY,
    Peer,
    Rule,
    default_deny,
    dns,
    namespace_peer,
    prometheus_peer,
    tcp,
)
from headwater.plan import ModelPlan, Plan
from headwater.plan.llmd_paths import mooncake_wanted
from headwater.settings.llmd import RoutingPath

__all__ = [
    "GATEWAY_POD_LABEL",
    "Peer",
    "default_deny",
    "namespace_peer",
    "picker_labels",
    "picker_policy",
    "proxy_policy",
    "server_policy",
]

GATEWAY_POD_LABEL = "gateway.networking.k8s.io/gateway-name"


def picker_labels(model: ModelPlan) -> dict[str, str]:
    """Labels of the picker's pods; the chart gives them no others, in either mode."""
    return {"llm-d-router-gateway": picker_service(model)}


def picker_peer(model: ModelPlan) -> Peer:
    """The model's picker."""
    return {"podSelector": {"matchLabels": picker_labels(model)}}


def server_policy(plan: Plan, model: ModelPlan, path: RoutingPath, gateway: Peer | None) -> dict[str, Any]:
    """Flows of the model's servers.

    Args:
        plan: the environment.
        model: the model.
        path: how it is routed.
        gateway: the proxies that bring requests; None when the picker's own pod does.
    """
    serving = sorted({port for role in model.roles for port in ports(role, path).pool})
    engines = sorted({port for role in model.roles for port in (*ports(role, path).engines, *serving)})
    picker_ports = [*serving, KV_EVENTS_PORT, KV_REPLAY_PORT] if path == "precise" else serving
    ingress: list[Rule] = [{"from": [picker_peer(model)], "ports": tcp(*picker_ports)}]
    if gateway is not None:
        ingress.append({"from": [gateway], "ports": tcp(*serving)})
    if plan.settings.observability.enabled:
        ingress.append({"from": [prometheus_peer()], "ports": tcp(*engines)})
    egress: list[Rule] = [dns(), {"to": [EVERYWHERE_BUT_METADATA], "ports": tcp(443)}]
    if plan.settings.weights.mirror is not None:
        egress.append({"to": [POD_IDENTITY], "ports": tcp(80)})
    shares = mooncake_wanted(model, plan.settings.llmd.kv_tier)
    if model.disaggregated or shares or any(role.nodes > 1 for role in model.roles):
        own: Peer = {"podSelector": {"matchLabels": {MODEL_LABEL: model.name}}}
        ingress.append({"from": [own]})
        egress.append({"to": [own]})
    return {
        "podSelector": {"matchLabels": {MODEL_LABEL: model.name}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": ingress,
        "egress": egress,
    }


def picker_policy(plan: Plan, model: ModelPlan, path: RoutingPath, gateway: Peer | None) -> dict[str, Any]:
    """Flows of the model's picker: asked by the gateway, it watches the API and scrapes the servers."""
    serving = sorted({port for role in model.roles for port in ports(role, path).pool})
    server_ports = [*serving, KV_EVENTS_PORT, KV_REPLAY_PORT] if path == "precise" else serving
    ingress: list[Rule] = []
    if gateway is not None:
        ingress.append({"from": [gateway], "ports": tcp(EXT_PROC_PORT)})
    else:
        ingress.append({"ports": tcp(PROXY_PORT)})
    if plan.settings.observability.enabled:
        ingress.append({"from": [prometheus_peer()], "ports": tcp(METRICS_PORT)})
    egress: list[Rule] = [
        dns(),
        {"to": [EVERYWHERE_BUT_METADATA], "ports": tcp(443)},
        {"to": [{"podSelector": {"matchLabels": pool_labels(model)}}], "ports": tcp(*server_ports)},
    ]
    return {
        "podSelector": {"matchLabels": picker_labels(model)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": ingress,
        "egress": egress,
    }


def proxy_policy(models: tuple[ModelPlan, ...], gateway_name: str, control: str) -> dict[str, Any]:
    """Flows of gateway proxies that live in the models' namespace (agentgateway).

    Args:
        models: every model behind them.
        gateway_name: the Gateway they belong to.
        control: namespace of their control plane.
    """
    return {
        "podSelector": {"matchLabels": {GATEWAY_POD_LABEL: gateway_name}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{}],
        "egress": [
            dns(),
            {"to": [namespace_peer(control)]},
            {"to": [{"podSelector": {"matchLabels": pool_labels(model)}} for model in models]},
            {"to": [picker_peer(model) for model in models], "ports": tcp(EXT_PROC_PORT)},
        ],
    }

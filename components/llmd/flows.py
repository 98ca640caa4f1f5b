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
from components.llmd.tiers import mooncake_wanted
from components.serving import MODEL_LABEL
from headwater.catalog.releases import charts
from headwater.plan import ModelPlan, Plan
from headwater.settings.llmd import RoutingPath

Peer = dict[str, Any]
Rule = dict[str, Any]

EVERYWHERE_BUT_METADATA: Peer = {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32"]}}
"""Any address but the node's metadata service: buckets, the hub and the API server have no fixed addresses."""
POD_IDENTITY: Peer = {"ipBlock": {"cidr": "169.254.170.23/32"}}
DNS: Peer = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
    "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
}
GATEWAY_POD_LABEL = "gateway.networking.k8s.io/gateway-name"


def tcp(*numbers: int) -> list[dict[str, Any]]:
    """Ports of a rule."""
    return [{"port": number, "protocol": "TCP"} for number in numbers]


def dns() -> Rule:
    """Names."""
    return {"to": [DNS], "ports": [{"port": 53, "protocol": "UDP"}, *tcp(53)]}


def picker_labels(model: ModelPlan) -> dict[str, str]:
    """Labels of the picker's pods; the chart gives them no others, in either mode."""
    return {"llm-d-router-gateway": picker_service(model)}


def picker_peer(model: ModelPlan) -> Peer:
    """The model's picker."""
    return {"podSelector": {"matchLabels": picker_labels(model)}}


def prometheus_peer() -> Peer:
    """Whoever scrapes: pods of the monitoring namespace."""
    return namespace_peer(charts()["kube-prometheus-stack"].namespace)


def namespace_peer(name: str) -> Peer:
    """Every pod of a namespace."""
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def default_deny() -> dict[str, Any]:
    """Nothing in, nothing out, for every pod of the namespace."""
    return {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


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

"""Words of network policies: who a peer is, what every pod may reach."""

from __future__ import annotations

from typing import Any

from headwater.catalog.releases import charts

Peer = dict[str, Any]
Rule = dict[str, Any]

EVERYWHERE_BUT_METADATA: Peer = {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32"]}}
"""Any address but the node's metadata service: buckets, the hub and the API server have no fixed addresses."""
POD_IDENTITY: Peer = {"ipBlock": {"cidr": "169.254.170.23/32"}}
DNS: Peer = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
    "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
}


def tcp(*numbers: int) -> list[dict[str, Any]]:
    """Ports of a rule."""
    return [{"port": number, "protocol": "TCP"} for number in numbers]


def dns() -> Rule:
    """Names."""
    return {"to": [DNS], "ports": [{"port": 53, "protocol": "UDP"}, *tcp(53)]}


def prometheus_peer() -> Peer:
    """Whoever scrapes: pods of the monitoring namespace."""
    return namespace_peer(charts()["kube-prometheus-stack"].namespace)


def namespace_peer(name: str) -> Peer:
    """Every pod of a namespace."""
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def default_deny() -> dict[str, Any]:
    """Nothing in, nothing out, for every pod of the namespace."""
    return {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}

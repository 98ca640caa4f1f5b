"""What Prometheus scrapes: engines by pod, gateway proxies; the pickers' monitor comes with their chart."""

from __future__ import annotations

from typing import Any

from components.llmd.labels import LLMD_ROLE_LABEL, pool_labels
from components.llmd.ports import ports
from components.serving import MODEL_LABEL
from headwater.plan import ModelPlan
from headwater.settings.llmd import RoutingPath

ENGINE_INTERVAL = "15s"


def engine_monitor(model: ModelPlan, path: RoutingPath) -> dict[str, Any]:
    """Spec of the PodMonitor of a model's engines: every rank where each has its own port."""
    ranks = max(ports(role, path).ranks for role in model.roles)
    names = [f"rank{rank}" for rank in range(ranks)] if ranks > 1 else ["modelserver"]
    return {
        "selector": {"matchLabels": pool_labels(model)},
        "podTargetLabels": [MODEL_LABEL, LLMD_ROLE_LABEL],
        "podMetricsEndpoints": [{"port": name, "path": "/metrics", "interval": ENGINE_INTERVAL} for name in names],
    }


def envoy_monitor(namespace: str, gateway_name: str) -> dict[str, Any]:
    """Spec of the PodMonitor of Envoy's proxies."""
    return {
        "namespaceSelector": {"matchNames": [namespace]},
        "selector": {"matchLabels": {"gateway.envoyproxy.io/owning-gateway-name": gateway_name}},
        "podMetricsEndpoints": [{"port": "metrics", "path": "/stats/prometheus", "interval": "30s"}],
    }

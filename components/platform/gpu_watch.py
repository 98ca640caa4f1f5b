"""Monitors, alerts and a dashboard for nodes and pools, once Prometheus is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.platform.gpu_alerts import rule_groups
from components.platform.gpu_dashboard import dashboard_text
from components.platform.karpenter import NAMESPACE as KARPENTER_NAMESPACE
from components.platform.model import MODEL_NAMESPACE
from headwater.catalog.releases import charts
from headwater.plan import Plan

MONITORING_API = "monitoring.coreos.com/v1"


def karpenter_monitor_spec() -> dict[str, Any]:
    """Scrape the controller. Not by its own chart: Prometheus' kinds come after Karpenter, and go before it."""
    return {
        "namespaceSelector": {"matchNames": [KARPENTER_NAMESPACE]},
        "selector": {"matchLabels": {"app.kubernetes.io/name": "karpenter"}},
        "endpoints": [{"port": "http-metrics", "path": "/metrics", "interval": "30s"}],
    }


class GpuWatch(pulumi.ComponentResource):
    """What tells people about GPU nodes.

    Args:
        name: logical name.
        plan: the environment.
        kubernetes: the provider.
        after: the monitoring stack.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        kubernetes: k8s.Provider,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:GpuWatch", name, {}, opts)
        home = charts()["kube-prometheus-stack"].namespace
        child = pulumi.ResourceOptions(parent=self, provider=kubernetes, depends_on=after)

        def custom(suffix: str, kind: str, spec: Mapping[str, Any]) -> None:
            k8s.apiextensions.CustomResource(
                f"{name}-{suffix}",
                api_version=MONITORING_API,
                kind=kind,
                metadata=k8s.meta.v1.ObjectMetaArgs(name=f"headwater-{suffix}", namespace=home),
                spec=spec,
                opts=child,
            )

        custom("karpenter", "ServiceMonitor", karpenter_monitor_spec())
        custom("nodes", "PrometheusRule", {"groups": rule_groups(plan, MODEL_NAMESPACE)})
        if plan.settings.observability.grafana:
            k8s.core.v1.ConfigMap(
                f"{name}-dashboard",
                metadata=k8s.meta.v1.ObjectMetaArgs(
                    name="headwater-gpus", namespace=home, labels={"grafana_dashboard": "1"}
                ),
                data={"headwater-gpus.json": dashboard_text()},
                opts=child,
            )
        self.register_outputs({})

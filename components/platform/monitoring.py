"""Prometheus, Grafana and the operator of their monitors, open to the monitors of everything that is served."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.platform.charts import platform_release
from components.platform.gpu_alerts import NODE_LABELS
from components.platform.namespaces import namespace
from components.platform.site import Site
from components.quantities import requests
from headwater.catalog.releases import charts
from headwater.catalog.system import own_pod
from headwater.settings.platform import Observability

CHART = "kube-prometheus-stack"
PROMETHEUS_PORT = 9090
VOLUME_GIB = 100
ANY = [{"operator": "Exists"}]
OPEN_SELECTORS = (
    "serviceMonitorSelectorNilUsesHelmValues",
    "podMonitorSelectorNilUsesHelmValues",
    "ruleSelectorNilUsesHelmValues",
    "probeSelectorNilUsesHelmValues",
    "scrapeConfigSelectorNilUsesHelmValues",
)
"""While these are true, only monitors that carry this release's label are read."""


def prometheus_url() -> str:
    """In-cluster address of Prometheus."""
    chart = charts()[CHART]
    return f"http://{chart.release}-prometheus.{chart.namespace}.svc.cluster.local:{PROMETHEUS_PORT}"


def prometheus_values(settings: Observability, storage_class: str) -> dict[str, Any]:
    """Chart values. Grafana's password is made by the chart and stays in its Secret; none passes through here."""
    unreachable = {"enabled": False}  # EKS runs these; scraping them would only raise alerts for ever
    return {
        "kubeControllerManager": unreachable,
        "kubeScheduler": unreachable,
        "kubeEtcd": unreachable,
        "kubeProxy": unreachable,
        # EndpointSlices instead of Endpoints, which Kubernetes has deprecated.
        "prometheusOperator": {"kubeletEndpointsEnabled": False, "kubeletEndpointSliceEnabled": True},
        "prometheus": {
            "prometheusSpec": {
                **dict.fromkeys(OPEN_SELECTORS, False),
                "retention": settings.retention,
                "retentionSize": f"{VOLUME_GIB * 9 // 10}GiB",
                "storageSpec": {"volumeClaimTemplate": {"spec": _claim(storage_class, VOLUME_GIB)}},
                # Claims go with the release, or their volumes would be billed after it.
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
                "resources": {"requests": requests(own_pod("prometheus")), "limits": {"memory": "8Gi"}},
            }
        },
        "grafana": {
            "enabled": settings.grafana,
            "testFramework": {"enabled": False},
        },
        "prometheus-node-exporter": {"tolerations": ANY},
        "kube-state-metrics": {"metricLabelsAllowlist": [NODE_LABELS]},
    }


def _claim(storage_class: str, gib: int) -> dict[str, Any]:
    return {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{gib}Gi"}},
    }


class Monitoring(pulumi.ComponentResource):
    """kube-prometheus-stack in a namespace of its own, before everything that brings monitors.

    Args:
        name: logical name.
        site: where.
        kubernetes: the provider.
        storage_class: of Prometheus' volume.
        after: what outlives it, above all the volume driver: its volumes are removed by that driver after it is gone.
    """

    stack: pulumi.Resource

    def __init__(
        self,
        name: str,
        site: Site,
        kubernetes: k8s.Provider,
        *,
        storage_class: str,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:Monitoring", name, {}, opts)
        home = namespace(f"{name}-namespace", charts()[CHART].namespace, kubernetes, after, parent=self)
        self.stack = platform_release(
            f"{name}-chart",
            CHART,
            prometheus_values(site.plan.settings.observability, storage_class),
            site=site,
            kubernetes=kubernetes,
            parent=self,
            after=[*after, home],
        )
        self.register_outputs({})

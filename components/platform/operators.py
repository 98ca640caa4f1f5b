"""Operators on the system nodes: the GPU Operator, the EFA device plugin, LeaderWorkerSet, KEDA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.platform.charts import platform_release
from components.platform.namespaces import namespace
from components.platform.site import Site
from components.quantities import requests
from headwater.catalog.releases import charts
from headwater.catalog.system import own_pod, upstream_pod
from headwater.plan import Plan

ANYWHERE = [{"operator": "Exists"}]
NO_CUDA_WORKLOAD = [{"name": "WITH_WORKLOAD", "value": "false"}]


def gpu_operator_values(monitored: bool) -> dict[str, Any]:
    """Driver and toolkit are in the AMI; the operator brings device plugin, discovery, exporter.

    Every DaemonSet tolerates everything: one that does not reach a GPU node keeps it from ever becoming initialised.
    """
    return {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "ccManager": {"enabled": False},
        "migManager": {"enabled": False},
        "dcgmExporter": {"enabled": True, "serviceMonitor": {"enabled": monitored}},
        "daemonsets": {"tolerations": ANYWHERE},
        "validator": {"cuda": {"env": NO_CUDA_WORKLOAD}},
        "node-feature-discovery": {
            "worker": {
                "tolerations": ANYWHERE,
                "nodeSelector": {"karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia"},
            }
        },
    }


def efa_plugin_values() -> dict[str, Any]:
    """The chart tolerates no GPU taint by itself, and then the node waits for EFA for ever."""
    return {"tolerations": ANYWHERE}


def lws_values(plan: Plan) -> dict[str, Any]:
    """Two replicas; the webhook for DisaggregatedSet when a model is split into prefill and decode."""
    own = own_pod("lws")
    return {
        "replicaCount": own.replicas,
        "resources": {"requests": requests(own)},
        "enableDisaggregatedSet": any(model.disaggregated for model in plan.models),
    }


def keda_values() -> dict[str, Any]:
    """Two operators; the CRDs outlive an uninstall, or every ScaledObject would go with it."""
    return {
        "operator": {"replicaCount": upstream_pod("keda-operator").replicas},
        "crds": {"additionalAnnotations": {"helm.sh/resource-policy": "keep"}},
    }


class Operators(pulumi.ComponentResource):
    """Everything between nodes and workloads.

    Args:
        name: logical name.
        site: where.
        kubernetes: the provider.
        after: the node pools and what is below them.
    """

    def __init__(
        self,
        name: str,
        site: Site,
        kubernetes: k8s.Provider,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:Operators", name, {}, opts)
        self._name, self._site, self._kubernetes, self._after = name, site, kubernetes, after
        plan = site.plan
        self._install("gpu-operator", gpu_operator_values(plan.settings.observability.enabled), hooks=True)
        if plan.efa:
            self._install("aws-efa-k8s-device-plugin", efa_plugin_values())
        self._install("lws", lws_values(plan))
        self._install("keda", keda_values())
        self.register_outputs({})

    def _install(self, key: str, values: Mapping[str, Any], *, hooks: bool = False) -> None:
        where = charts()[key].namespace
        after = list(self._after)
        if where != "kube-system":
            after.append(namespace(f"{self._name}-{where}", where, self._kubernetes, self._after, parent=self))
        platform_release(
            f"{self._name}-{key}",
            key,
            values,
            site=self._site,
            kubernetes=self._kubernetes,
            parent=self,
            after=after,
            disable_openapi_validation=hooks,
        )

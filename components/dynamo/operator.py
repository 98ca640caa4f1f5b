"""Dynamo's operator, and the schedulers of its gangs before it: KAI, then Grove; or Volcano for LeaderWorkerSets.

The operator looks once, at its start, which of them the cluster has; enabled but absent, it does not start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.dynamo.images import dynamo_image
from components.dynamo.queues import API_VERSION, LEAF, ROOT, leaf_spec, root_spec
from components.dynamo.upgrades import guard
from components.platform.charts import merge, release
from components.platform.model import PlatformRefs
from components.platform.namespaces import namespace
from headwater.catalog.releases import charts
from headwater.catalog.system import upstream_pod
from headwater.plan import Plan
from headwater.plan.dynamo_layout import orchestrator
from headwater.plan.dynamo_layout import release as dynamo_release
from headwater.settings import Mirror

RELEASE_TIMEOUT = 1200
"""Seconds; the operator applies its own CRDs, megabytes of them, before it is ready."""


def operator_values(plan: Plan, monitor_labels: Mapping[str, str], prometheus: str | None) -> dict[str, Any]:
    """Values of ``dynamo-platform``: no NATS and no etcd, discovery is Kubernetes' own; monitors are ours."""
    grove = orchestrator(plan.settings, plan.models) == "grove"
    repository, _, tag = dynamo_image(plan, "kubernetes-operator").rpartition(":")
    metrics: dict[str, Any] = {"podMonitors": {"enabled": False}}
    if prometheus is not None:
        metrics["prometheusEndpoint"] = prometheus
    return {
        "global": {"grove": {"enabled": grove}, "kai-scheduler": {"enabled": grove}},
        "dynamo-operator": {
            "controllerManager": {"manager": {"image": {"repository": repository, "tag": tag}}},
            "dynamo": {"metrics": metrics},
            "metricsService": {"enabled": prometheus is not None, "labels": dict(monitor_labels)},
        },
    }


def kai_values() -> dict[str, Any]:
    """Values of KAI. Gangs below their minimum are Grove's to end; with a grace period KAI would fight it."""
    return {
        "operator": {"replicaCount": upstream_pod("kai-operator").replicas},
        "global": {"leaderElection": True},
        "scheduler": {"args": {"default-staleness-grace-period": "-1s"}},
    }


def grove_values(mirror: Mirror) -> dict[str, Any]:
    """Values of Grove: two replicas, and its helper image from the mirror, which the chart only takes as a variable."""
    values: dict[str, Any] = {"replicaCount": upstream_pod("grove-operator").replicas}
    if mirror.images is not None:
        image = f"{mirror.images.rstrip('/')}/ai-dynamo/grove/grove-initc:{charts()['grove'].version}"
        values = merge(values, {"deployment": {"env": [{"name": "GROVE_INIT_CONTAINER_IMAGE", "value": image}]}})
    return values


class DynamoPlatform(pulumi.ComponentResource):
    """Everything between the cluster and the graphs.

    Attributes:
        ready: what a graph stands on; the operator outlives it, since only it can take a graph apart.
    """

    ready: list[pulumi.Resource]

    def __init__(
        self, name: str, plan: Plan, platform: PlatformRefs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("headwater:dynamo:DynamoPlatform", name, {}, opts)
        self._name, self._plan, self._platform = name, plan, platform
        mirror = plan.settings.mirror
        before: list[pulumi.Resource] = []
        placed_by = orchestrator(plan.settings, plan.models)
        if placed_by == "grove":
            kai = self._chart("kai-scheduler", kai_values())
            before = [kai, self._chart("grove", grove_values(mirror), after=[kai]), *self._queues(kai)]
        if placed_by == "lws":
            before = [self._chart("volcano", {})]
        operator = self._chart(
            "dynamo-platform",
            operator_values(plan, platform.monitor_labels, platform.prometheus_url),
            after=before,
            version=dynamo_release(plan.settings),
            hooks=guard(f"{name}-one-line-at-a-time"),
        )
        self.ready = [*before, operator]
        self.register_outputs({})

    def _chart(
        self,
        key: str,
        values: Mapping[str, Any],
        *,
        after: Sequence[pulumi.Resource] = (),
        version: str | None = None,
        hooks: pulumi.ResourceHookBinding | None = None,
    ) -> k8s.helm.v3.Release:
        home = namespace(
            f"{self._name}-{key}-namespace",
            charts()[key].namespace,
            self._platform.kubernetes,
            list(self._platform.ready),
            parent=self,
            level="baseline",
        )
        return release(
            f"{self._name}-{key}",
            key,
            values,
            mirror=self._plan.settings.mirror,
            version=version,
            timeout=RELEASE_TIMEOUT,
            opts=pulumi.ResourceOptions(
                parent=self,
                provider=self._platform.kubernetes,
                depends_on=[*self._platform.ready, home, *after],
                custom_timeouts=pulumi.CustomTimeouts(create="30m", update="30m", delete="20m"),
                hooks=hooks,
            ),
        )

    def _queues(self, kai: pulumi.Resource) -> list[pulumi.Resource]:
        """The models' own queues; a graph that names one that is missing is not placed."""
        made: list[pulumi.Resource] = []
        for queue, spec in ((ROOT, root_spec()), (LEAF, leaf_spec(self._plan, self._plan.settings.dynamo.queue))):
            made.append(
                k8s.apiextensions.CustomResource(
                    f"{self._name}-queue-{queue}",
                    api_version=API_VERSION,
                    kind="Queue",
                    metadata={"name": queue},
                    spec=spec,
                    opts=pulumi.ResourceOptions(
                        parent=self, provider=self._platform.kubernetes, depends_on=[kai, *made]
                    ),
                )
            )
        return made

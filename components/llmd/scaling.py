"""Replicas that follow load: KEDA on the router's metrics, or Kubernetes' own autoscaler on the engines'.

A query returns one series, and its threshold is in that series' own unit (requests, or a share between 0 and 1).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from components.llmd.ports import ports
from components.llmd.router import picker_service, router_name
from components.llmd.workloads import elastic
from components.quantities import requests
from components.serving import workload_name
from headwater.catalog.system import own_pod
from headwater.plan import ModelPlan, Role
from headwater.settings.llmd import Autoscaling, RoutingPath

SHARE_OF_BATCH = 0.8
"""Requests per replica at which another one is wanted, as a share of what it holds."""
SATURATION = 0.7
QUEUED = 1.0
"""Waiting requests for each replica: any queue at all wants another server."""
POLL_SECONDS = 15
SCALE_DOWN_SECONDS = 600
HPA_METRIC = "vllm_requests_in_engine"
"""Name under which the metrics adapter serves running and waiting requests of a pod."""


def scale_target(model: ModelPlan, role: Role) -> dict[str, str]:
    """What carries the number of replicas of a role."""
    if model.disaggregated:
        return {
            "apiVersion": "disaggregatedset.x-k8s.io/v1",
            "kind": "DisaggregatedSetRoleScaler",
            "name": f"{model.name}-{role.role}",
        }
    if role.nodes > 1:
        return {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "name": workload_name(model, role),
        }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": workload_name(model, role)}


def requests_per_replica(model: ModelPlan, role: Role, asked: float | None) -> float:
    """Requests running in the whole model per replica of this role, at which another replica is wanted.

    Every request passes every role, so a role with half the servers of another takes twice the requests each: the ratio
    of prefill to decode stays as planned.
    """
    answering = next(r for r in model.roles if r.role != "prefill")
    per_answering = asked or max(1.0, math.floor(SHARE_OF_BATCH * min(answering.max_num_seqs, answering.concurrency)))
    ratio = max(1, answering.replicas_min) / max(1, role.replicas_min)
    return per_answering * ratio


def endpoints_per_replica(model: ModelPlan, role: Role, path: RoutingPath) -> float:
    """Endpoints of the whole pool for each replica of this role, as planned."""
    pods = {r.role: r.nodes if path == "wide-ep" else 1 for r in model.roles}
    total = sum(max(1, r.replicas_min) * pods[r.role] * ports(r, path).ranks for r in model.roles)
    return total / max(1, role.replicas_min)


class Trigger(NamedTuple):
    """A query, its threshold per replica, and whether missing data means zero."""

    query: str
    target: float
    absent_is_zero: bool = False


def triggers(
    model: ModelPlan, role: Role, settings: Autoscaling, namespace: str, path: RoutingPath
) -> tuple[Trigger, ...]:
    """What a role scales on; of several, the one that wants most replicas wins.

    Requests running in the engines always count, or an empty queue would take servers away from running requests. KEDA
    divides a query by its threshold to get replicas, so a share is first multiplied by the servers it is a share of:
    0.9 of three servers are 2.7 servers' worth of load, and at 0.7 each they want four.
    """
    pool = router_name(model)
    labels = f'namespace="{namespace}",service="{picker_service(model)}",model_name="{model.name}"'
    asked = settings.target
    running = requests_per_replica(model, role, asked if settings.metric == "requests" else None)
    found = Trigger(f"sum(llm_d_epp_request_running{{{labels}}})", running, role.replicas_min == 0)
    if settings.metric == "queue":
        return found, Trigger(f"sum(llm_d_epp_flow_control_queue_size{{{labels}}})", asked or QUEUED, True)
    if settings.metric == "saturation":
        share = f'max(llm_d_epp_flow_control_pool_saturation{{namespace="{namespace}",inference_pool="{pool}"}})'
        ready = f'max(llm_d_epp_ready_endpoints{{namespace="{namespace}",name="{pool}"}})'
        target = (asked or SATURATION) * endpoints_per_replica(model, role, path)
        return found, Trigger(f"{share} * {ready}", target, role.replicas_min == 0)
    return (found,)


def behavior(settings: Autoscaling) -> dict[str, Any]:
    """Steps of the autoscaler: doubling at most, and slow to give a loaded GPU away."""
    settle = round(settings.settle)
    return {
        "scaleUp": {
            "stabilizationWindowSeconds": settle,
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": max(SCALE_DOWN_SECONDS, settle),
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}],
        },
    }


def scaled_object(
    model: ModelPlan, role: Role, settings: Autoscaling, path: RoutingPath, *, namespace: str, prometheus: str
) -> dict[str, Any]:
    """Spec of the ScaledObject of a role.

    Missing data is an error, not zero: then the number of replicas stays. Only a role that may go to zero takes missing
    data as no load, because a router without servers has none.
    """
    from_zero = role.replicas_min == 0
    spec: dict[str, Any] = {
        "scaleTargetRef": scale_target(model, role),
        "minReplicaCount": role.replicas_min,
        "maxReplicaCount": role.replicas_max,
        "pollingInterval": POLL_SECONDS,
        "cooldownPeriod": SCALE_DOWN_SECONDS,
        "advanced": {
            "horizontalPodAutoscalerConfig": {
                "name": workload_name(model, role),
                "behavior": behavior(settings),
            }
        },
        "triggers": [
            {
                "type": "prometheus",
                "metricType": "AverageValue",
                "metadata": {
                    "serverAddress": prometheus,
                    "query": trigger.query,
                    "threshold": f"{trigger.target:g}",
                    "ignoreNullValues": "true" if trigger.absent_is_zero else "false",
                },
            }
            for trigger in triggers(model, role, settings, namespace, path)
        ],
    }
    if not from_zero:
        spec["fallback"] = {"failureThreshold": 4, "replicas": role.replicas_min, "behavior": "currentReplicasIfHigher"}
    return spec


def horizontal_pod_autoscaler(model: ModelPlan, role: Role, settings: Autoscaling) -> dict[str, Any]:
    """Spec of an ordinary autoscaler on requests inside the engines, as the metrics adapter serves them."""
    target = requests_per_replica(model, role, settings.target)
    return {
        "scaleTargetRef": scale_target(model, role),
        "minReplicas": max(1, role.replicas_min),
        "maxReplicas": role.replicas_max,
        "behavior": behavior(settings),
        "metrics": [
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": HPA_METRIC},
                    "target": {"type": "AverageValue", "averageValue": f"{max(1, round(target))}"},
                },
            }
        ],
    }


def adapter_values(prometheus: str) -> dict[str, Any]:
    """Values of prometheus-adapter: one rule, per pod; nothing of ``external.metrics.k8s.io``, which is KEDA's."""
    host, _, port = prometheus.removeprefix("http://").partition(":")
    running, waiting = (f"vllm:num_requests_{what}{{<<.LabelMatchers>>}}" for what in ("running", "waiting"))
    query = f"sum({running} + {waiting}) by (<<.GroupBy>>)"
    own = own_pod("prometheus-adapter")
    return {
        "prometheus": {"url": f"http://{host}", "port": int(port or 80)},
        "replicas": own.replicas,
        "resources": {"requests": requests(own), "limits": {"memory": "512Mi"}},
        "rules": {
            "default": False,
            "custom": [
                {
                    "seriesQuery": 'vllm:num_requests_running{namespace!="",pod!=""}',
                    "resources": {"overrides": {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}},
                    "name": {"matches": "", "as": HPA_METRIC},
                    "metricsQuery": query,
                }
            ],
        },
    }


def scaled_roles(model: ModelPlan) -> list[Role]:
    """Roles whose number of replicas may change."""
    return [role for role in model.roles if elastic(role)]

"""Replicas that follow load without a planner: KEDA on the frontend's metrics, through Dynamo's scaling adapters."""

from __future__ import annotations

import math
from typing import Any

from components.dynamo.model import API_VERSION
from components.dynamo.names import adapter_name, dynamo_namespace
from headwater.plan import ModelPlan, Role
from headwater.plan.dynamo_layout import component_name

SHARE_OF_BATCH = 0.8
"""Requests per replica at which another one is wanted, as a share of what it holds."""
POLL_SECONDS = 15
SCALE_UP_SECONDS = 300
SCALE_DOWN_SECONDS = 600


def scaled_roles(model: ModelPlan) -> list[Role]:
    """Roles whose number of replicas may change."""
    return [role for role in model.roles if role.replicas_max > role.replicas_min]


def requests_per_replica(model: ModelPlan, role: Role) -> float:
    """Requests under way in the whole model, per replica of this role, at which another replica is wanted.

    Every request passes every role, so a role with half the servers of another takes twice the requests each: the
    ratio of prefill to decode stays as planned.
    """
    answering = next(r for r in model.roles if r.role != "prefill")
    held = max(1.0, math.floor(SHARE_OF_BATCH * min(answering.max_num_seqs, answering.concurrency)))
    return held * max(1, answering.replicas_min) / max(1, role.replicas_min)


def scaled_object(model: ModelPlan, role: Role, namespace: str, prometheus: str) -> dict[str, Any]:
    """Spec of the ScaledObject of a role. Missing data is an error, not zero: then the number of replicas stays.

    Args:
        model: the model.
        role: the role.
        namespace: of the models.
        prometheus: in-cluster address.
    """
    query = f'sum(dynamo_frontend_active_requests{{dynamo_namespace="{dynamo_namespace(model, namespace)}"}})'
    target = adapter_name(model, component_name(role))
    return {
        "scaleTargetRef": {
            "apiVersion": API_VERSION,
            "kind": "DynamoGraphDeploymentScalingAdapter",
            "name": target,
        },
        "minReplicaCount": max(1, role.replicas_min),
        "maxReplicaCount": role.replicas_max,
        "pollingInterval": POLL_SECONDS,
        "cooldownPeriod": SCALE_DOWN_SECONDS,
        "fallback": {"failureThreshold": 4, "replicas": role.replicas_min, "behavior": "currentReplicasIfHigher"},
        "advanced": {"horizontalPodAutoscalerConfig": {"name": target, "behavior": _behavior()}},
        "triggers": [
            {
                "type": "prometheus",
                "metricType": "AverageValue",
                "metadata": {
                    "serverAddress": prometheus,
                    "query": query,
                    "threshold": f"{requests_per_replica(model, role):g}",
                    "ignoreNullValues": "false",
                },
            }
        ],
    }


def _behavior() -> dict[str, Any]:
    """Doubling at most, and slow to give a loaded GPU away."""
    return {
        "scaleUp": {
            "stabilizationWindowSeconds": SCALE_UP_SECONDS,
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": SCALE_DOWN_SECONDS,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}],
        },
    }

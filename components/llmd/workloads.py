"""Workloads of a model as plain objects: Deployment, LeaderWorkerSet, DisaggregatedSet."""

from __future__ import annotations

from typing import Any

from components.llmd.engine import engine
from components.llmd.labels import selector, server_labels
from components.llmd.ports import ports
from components.llmd.sidecar import sidecar
from components.llmd.tiers import tier_volumes
from components.serving import SERVICE_ACCOUNT, model_labels, pod_annotations, pod_spec, workload_name
from headwater.plan import ModelPlan, Plan, Role
from headwater.settings.llmd import RoutingPath

ONE_AT_A_TIME: dict[str, Any] = {
    "type": "RollingUpdate",
    "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1, "partition": 0},
}
"""Replace one group after the other: a surge would need a second set of GPUs that nobody has bought."""
NODE_SECONDS = 1200
"""Time a new node may take before its first pod starts."""
NOT_AWAITED = {"pulumi.com/skipAwait": "true"}
"""Nodes and weights take as long as they take; alerts watch readiness, ``up`` does not."""


def elastic(role: Role) -> bool:
    """Whether something else than us sets the number of replicas."""
    return role.replicas_max > role.replicas_min


def pod_template(
    plan: Plan, model: ModelPlan, role: Role, path: RoutingPath, token_secret: str | None, *, worker: bool = False
) -> dict[str, Any]:
    """Template of one pod of a role; ``worker`` for the pods of a group that answer no requests."""
    behind = [sidecar(plan, ports(role, path))] if role.role == "decode" and not worker else []
    spec = pod_spec(
        plan,
        model,
        role,
        containers=[engine(plan, model, role, path, token_secret, worker=worker)],
        service_account=SERVICE_ACCOUNT,
        init=behind,
        volumes=tier_volumes(model, role, plan.settings.llmd.kv_tier)[0],
        group_index=role.nodes > 1,
        grace_seconds=130 if role.offload_gib > 0 else 60,
    )
    return {
        "metadata": {"labels": server_labels(model, role, serving=not worker), "annotations": pod_annotations()},
        "spec": spec,
    }


def deployment(plan: Plan, model: ModelPlan, role: Role, path: RoutingPath, token_secret: str | None) -> dict[str, Any]:
    """Metadata (without namespace) and spec of the Deployment of a single-node role."""
    return {
        "metadata": {
            "name": workload_name(model, role),
            "labels": model_labels(model),
            "annotations": NOT_AWAITED,
        },
        "spec": {
            "replicas": role.replicas_min,
            "selector": {"matchLabels": selector(model, role)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "progressDeadlineSeconds": role.startup_seconds + NODE_SECONDS,
            "revisionHistoryLimit": 3,
            "template": pod_template(plan, model, role, path, token_secret),
        },
    }


def group_template(
    plan: Plan, model: ModelPlan, role: Role, path: RoutingPath, token_secret: str | None
) -> dict[str, Any]:
    """``leaderWorkerTemplate`` of a role: leaders answer, workers compute; with wide expert parallelism all answer."""
    all_answer = role.nodes == 1 or path == "wide-ep"
    template: dict[str, Any] = {"size": role.nodes, "restartPolicy": "RecreateGroupOnPodRestart"}
    if not all_answer:
        template["leaderTemplate"] = pod_template(plan, model, role, path, token_secret)
    template["workerTemplate"] = pod_template(plan, model, role, path, token_secret, worker=not all_answer)
    return template


def leader_worker_set(
    plan: Plan, model: ModelPlan, role: Role, path: RoutingPath, token_secret: str | None
) -> dict[str, Any]:
    """Metadata and spec of the LeaderWorkerSet of a multi-node role."""
    return {
        "metadata": {"name": workload_name(model, role), "labels": model_labels(model)},
        "spec": {
            "replicas": role.replicas_min,
            "startupPolicy": "LeaderCreated",
            "networkConfig": {"subdomainPolicy": "Shared"},
            "rolloutStrategy": ONE_AT_A_TIME,
            "leaderWorkerTemplate": group_template(plan, model, role, path, token_secret),
        },
    }


def disaggregated_set(plan: Plan, model: ModelPlan, path: RoutingPath, token_secret: str | None) -> dict[str, Any]:
    """Metadata and spec of the DisaggregatedSet of a model: both roles roll out together, as one revision."""
    roles = []
    for role in model.roles:
        entry: dict[str, Any] = {"name": role.role, "metadata": {"labels": model_labels(model)}}
        rollout = {
            key: value for key, value in ONE_AT_A_TIME["rollingUpdateConfiguration"].items() if key != "partition"
        }
        spec: dict[str, Any] = {
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": rollout},
            "leaderWorkerTemplate": group_template(plan, model, role, path, token_secret),
        }
        if elastic(role):
            entry["scaling"] = {"mode": "External"}
        else:
            spec = {"replicas": role.replicas_min, **spec}
        roles.append({**entry, "spec": spec})
    return {
        "metadata": {"name": model.name, "labels": model_labels(model)},
        "spec": {"slices": 1, "roles": roles},
    }

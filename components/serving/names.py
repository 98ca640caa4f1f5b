"""Names and labels every object of a model carries, whichever stack serves it."""

from __future__ import annotations

from headwater.plan import ModelPlan, Role

SERVING_STACK = "headwater:serving:ServingStack"
SERVED_MODEL = "headwater:serving:ServedModel"
"""Component types of either serving stack: one type chain, so that an object both make is updated by a switch, not made
twice under one Kubernetes name."""

MODEL_LABEL = "headwater/model"
ROLE_LABEL = "headwater/role"
POOL_LABEL = "headwater/pool"
GPU_TAINT = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
ENGINE_CONTAINER = "modelserver"
ENGINE_PORT = 8000


def workload_name(model: ModelPlan, role: Role) -> str:
    """``kimi-prefill``: the name of the workload of one role."""
    return f"{model.name}-{role.role}"


def model_labels(model: ModelPlan) -> dict[str, str]:
    """Labels of every object that belongs to a model."""
    return {"app.kubernetes.io/name": model.name, "app.kubernetes.io/part-of": "headwater", MODEL_LABEL: model.name}


def role_labels(model: ModelPlan, role: Role) -> dict[str, str]:
    """Labels of the pods of one role."""
    return {**model_labels(model), "app.kubernetes.io/component": role.role, ROLE_LABEL: role.role}

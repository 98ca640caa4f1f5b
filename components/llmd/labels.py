"""Labels by which llm-d finds the pods of a model."""

from __future__ import annotations

from components.serving import MODEL_LABEL, role_labels
from headwater.plan import ModelPlan, Role

SERVING_LABEL = "llm-d.ai/inference-serving"
LLMD_ROLE_LABEL = "llm-d.ai/role"
ROLES = {"serve": "prefill-decode", "prefill": "prefill", "decode": "decode"}


def pool_labels(model: ModelPlan) -> dict[str, str]:
    """What the InferencePool selects: pods of the model that answer requests (never the workers of a group)."""
    return {MODEL_LABEL: model.name, SERVING_LABEL: "true"}


def server_labels(model: ModelPlan, role: Role, *, serving: bool = True) -> dict[str, str]:
    """Labels of a model pod.

    Args:
        model: the model.
        role: the role.
        serving: the pod answers requests itself; false for the workers of a group.
    """
    labels = {
        **role_labels(model, role),
        LLMD_ROLE_LABEL: ROLES[role.role],
        "llm-d.ai/engine-type": "vllm",
        "llm-d.ai/model": model.name,
    }
    return {**labels, SERVING_LABEL: "true"} if serving else labels


def selector(model: ModelPlan, role: Role) -> dict[str, str]:
    """Immutable selector of the role's workload."""
    return {key: value for key, value in role_labels(model, role).items() if key.startswith("headwater/")}

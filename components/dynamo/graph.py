"""One model's graph, put together from its components in a fixed order."""

from __future__ import annotations

from components.dynamo.frontend import frontend
from components.dynamo.model import Graph, GraphSpec
from components.dynamo.names import graph_name
from components.dynamo.queues import queue_name
from components.dynamo.worker import worker
from components.serving import model_labels
from headwater.plan import ModelPlan, Plan
from headwater.plan.dynamo_layout import elastic, orchestrator

REPLACED = (
    "spec.backendFramework",
    "spec.topologyConstraint",
    "spec.components[*].name",
    "spec.components[*].type",
    "spec.components[*].multinode",
)
"""What the webhook or the operator does not let change in place; the old graph goes first, since it holds the GPUs."""


def graph(plan: Plan, model: ModelPlan, namespace: str, token_secret: str | None) -> Graph:
    """The graph of a model.

    Args:
        plan: the environment.
        model: the model.
        namespace: of the models.
        token_secret: Secret with the hub token, or None.
    """
    scaled = elastic(model)
    components = [
        frontend(plan, model, token_secret),
        *(worker(plan, model, role, token_secret, elastic=scaled) for role in model.roles),
    ]
    return Graph(
        name=graph_name(model),
        namespace=namespace,
        labels=model_labels(model),
        annotations=placement(plan),
        spec=GraphSpec(components=tuple(components)),
    )


def placement(plan: Plan) -> dict[str, str]:
    """Annotations that say how the operator is to place the graph; upstream's pages disagree on the defaults."""
    placed_by = orchestrator(plan.settings, plan.models)
    if placed_by != "grove":
        found = {"nvidia.com/enable-grove": "false"}
        return found | {"nvidia.com/vllm-distributed-executor-backend": "mp"} if placed_by == "lws" else found
    return {
        "nvidia.com/grove-update-strategy": "RollingRecreate",
        "nvidia.com/kai-scheduler-queue": queue_name(),
        "nvidia.com/vllm-distributed-executor-backend": "mp",
    }


def replicas_owned_elsewhere(made: Graph) -> list[str]:
    """Paths of ``replicas`` that a planner or autoscaler sets once the graph runs."""
    return [
        f"spec.components[{index}].replicas"
        for index, component in enumerate(made.spec.components)
        if component.scaling_adapter is not None
    ]

"""One model's graph, put together from its components in a fixed order."""

from __future__ import annotations

from components.dynamo.frontend import frontend
from components.dynamo.model import Component, Graph, GraphSpec
from components.dynamo.names import graph_name
from components.dynamo.picker import picker, sidecar
from components.dynamo.planner import planner
from components.dynamo.queues import queue_name
from components.dynamo.worker import worker
from components.serving import model_labels
from headwater.plan import ModelPlan, Plan, Role
from headwater.plan.dynamo_layout import entry, orchestrator, planned

SHAPE = "headwater/shape"
"""Annotation that names what cannot change in place, so that a change of any of it is a replacement."""

REPLACED = (
    f'metadata.annotations["{SHAPE}"]',
    "spec.backendFramework",
    "spec.components[*].name",
    "spec.components[*].type",
    "spec.components[*].multinode",
)
"""What the webhook or the operator does not let change in place; the old graph goes first, since it holds the GPUs."""


def graph(
    plan: Plan, model: ModelPlan, namespace: str, *, token_secret: str | None = None, prometheus: str | None = None
) -> Graph:
    """The graph of a model.

    Args:
        plan: the environment.
        model: the model.
        namespace: of the models.
        token_secret: Secret with the hub token, or None.
        prometheus: in-cluster address of Prometheus, or None.
    """
    by_picker = entry(plan.settings, plan.models) == "picker"
    beside = [sidecar(plan, model, token_secret)] if by_picker else []
    front = picker(plan, model, token_secret) if by_picker else frontend(plan, model, token_secret)
    components = [
        front,
        *(
            worker(plan, model, role, token_secret, elastic=scaled_elsewhere(plan, model, role), sidecars=beside)
            for role in model.roles
        ),
    ]
    if planned(plan.settings, model):
        components.append(planner(plan, model, prometheus))
    return Graph(
        name=graph_name(model),
        namespace=namespace,
        labels=model_labels(model),
        annotations={**placement(plan), SHAPE: shape(plan, components)},
        spec=GraphSpec(components=tuple(components)),
    )


def scaled_elsewhere(plan: Plan, model: ModelPlan, role: Role) -> bool:
    """Whether a planner or autoscaler sets a role's replicas: the planner all of a model's, KEDA those with room."""
    return planned(plan.settings, model) or role.replicas_max > role.replicas_min


def placement(plan: Plan) -> dict[str, str]:
    """Annotations that say how the operator is to place the graph; upstream's pages disagree on the defaults."""
    placed_by = orchestrator(plan.settings, plan.models)
    if placed_by == "grove":
        return {
            "nvidia.com/grove-update-strategy": "RollingRecreate",
            "nvidia.com/kai-scheduler-queue": queue_name(),
            "nvidia.com/vllm-distributed-executor-backend": "mp",
        }
    found = {"nvidia.com/enable-grove": "false"}
    if placed_by == "lws":
        found["nvidia.com/vllm-distributed-executor-backend"] = "mp"
    return found


def shape(plan: Plan, components: list[Component]) -> str:
    """``grove: frontend, prefill x 2 nodes, decode``: orchestrator and components, without what may change."""
    parts = [c.name if c.multinode is None else f"{c.name} x {c.multinode.node_count} nodes" for c in components]
    return f"{orchestrator(plan.settings, plan.models)}: {', '.join(parts)}"


def replicas_owned_elsewhere(made: Graph) -> list[str]:
    """Paths of ``replicas`` that a planner or autoscaler sets once the graph runs."""
    return [
        f"spec.components[{index}].replicas"
        for index, component in enumerate(made.spec.components)
        if component.scaling_adapter is not None
    ]

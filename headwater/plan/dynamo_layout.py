"""How a plan maps to Dynamo's objects: names, orchestrator, GPU budgets. Rules and components both read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from headwater.catalog.dynamo_surface import dynamo_surface
from headwater.plan.model import ModelPlan, Role
from headwater.settings import Settings

Orchestrator = Literal["none", "grove", "lws"]
Entry = Literal["frontend", "gatewayApi", "picker"]
COMPONENT_NAMES = {"serve": "worker", "prefill": "prefill", "decode": "decode"}

NAME_BUDGET = 45
"""Characters Grove allows for graph and component together, so that nothing is cut and hashed."""

HOST_BLOCK_TOKENS = 256
"""Tokens that move to host memory at once; the size upstream validated."""


def orchestrator(settings: Settings, models: Sequence[ModelPlan]) -> Orchestrator:
    """Who places the pods: Grove with KAI where a replica spans nodes, plain Deployments elsewhere, or as asked."""
    asked = settings.dynamo.scheduling
    if asked != "auto":
        return asked
    return "grove" if any(role.nodes > 1 for model in models for role in model.roles) else "none"


def entry(settings: Settings, models: Sequence[ModelPlan]) -> Entry:
    """How clients come in: as asked; else one Gateway for several models, the Service of the only one otherwise."""
    asked = settings.dynamo.gateway
    if asked != "auto":
        return asked
    return "gatewayApi" if len(models) > 1 else "frontend"


def release(settings: Settings) -> str:
    """Release of Dynamo to run."""
    return settings.dynamo.version or dynamo_surface().version


def component_name(role: Role) -> str:
    """Name and type of a role's component: ``worker``, ``prefill`` or ``decode``."""
    return COMPONENT_NAMES[role.role]


def name_budget(component: str, nodes: int) -> int:
    """Characters a component takes of Grove's budget; one of several nodes is named twice over, with a suffix."""
    return len(component) if nodes == 1 else 2 * len(component) + 4


def elastic(model: ModelPlan) -> bool:
    """Whether any role of the model may scale."""
    return any(role.replicas_max > role.replicas_min for role in model.roles)


def planned(settings: Settings, model: ModelPlan) -> bool:
    """Whether Dynamo's Planner scales the model."""
    return settings.dynamo.planner is not None and elastic(model)


def most_gpus(model: ModelPlan) -> int:
    """GPUs of a model at its largest."""
    return sum(role.gpus * role.replicas_max for role in model.roles)


def least_gpus(model: ModelPlan) -> int:
    """GPUs of a model at its smallest; every role keeps one replica."""
    return sum(role.gpus * max(role.replicas_min, 1) for role in model.roles)

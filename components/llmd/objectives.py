"""Priorities clients may name: one InferenceObjective for each of them and each model."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.llmd.objects import INFERENCE_OBJECTIVE, Objects
from components.llmd.router import router_name
from components.llmd.routes import POOL
from components.platform.model import PlatformRefs
from components.serving import model_labels
from headwater.plan import ModelPlan, Plan


def objective_name(model: ModelPlan, objective: str) -> str:
    """What clients send in ``x-llm-d-inference-objective``: ``kimi-batch``. A pool has its own objectives."""
    return f"{model.name}-{objective}"


class Objectives(pulumi.ComponentResource):
    """Every objective of every model.

    Args:
        name: logical name.
        plan: the environment.
        platform: where.
        after: the routers, whose pools objectives belong to.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        platform: PlatformRefs,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:llmd:Objectives", name, {}, opts)
        for model in plan.models:
            objects = Objects(name, self, platform, [*platform.ready, *after], model_labels(model))
            for objective, priority in sorted(plan.settings.llmd.flow_control.objectives.items()):
                called = objective_name(model, objective)
                spec = {"poolRef": {**POOL, "name": router_name(model)}, "priority": priority}
                objects.custom(called, INFERENCE_OBJECTIVE, objects.metadata(called), spec)
        self.register_outputs({})

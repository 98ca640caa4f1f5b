"""Which serving stack: as asked, or resolved from the size of the fleet."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.defaults import default
from headwater.plan.model import ModelPlan, StackName
from headwater.settings import Settings

STACKS: tuple[StackName, ...] = ("llm-d", "dynamo")


def candidate_stacks(settings: Settings) -> tuple[StackName, ...]:
    """Stacks the plan may end on: every argument must be right for all of them."""
    asked = settings.serving.stack
    return STACKS if asked == "auto" else (asked,)


def resolve_stack(settings: Settings, models: Sequence[ModelPlan]) -> tuple[StackName, str]:
    """The stack and, when it was left to us, why.

    llm-d is the smaller machine: a router and plain pods. Dynamo brings an operator and a planner, which pay for
    themselves in large or disaggregated fleets.
    """
    asked = settings.serving.stack
    if asked != "auto":
        return asked, ""
    gpus = sum(role.gpus * role.replicas_max for model in models for role in model.roles)
    apart = any(model.disaggregated for model in models)
    many, fewer = int(default("auto_stack", "dynamo_gpus")), int(default("auto_stack", "dynamo_disaggregated"))
    if gpus >= many:
        return "dynamo", f"{gpus} GPUs at most, {many} or more: Dynamo's planner and multi-node scheduling pay off"
    if apart and gpus >= fewer:
        return "dynamo", f"prefill and decode apart on {gpus} GPUs: Dynamo's planner moves GPUs between them"
    return (
        "llm-d",
        f"{gpus} GPU{'' if gpus == 1 else 's'} at most, below {many}: llm-d serves them with fewer moving parts",
    )

"""Which model keeps its GPUs when there are not enough for all: ``priority`` of the stack file as pod priority."""

from __future__ import annotations

from headwater.plan import ModelPlan

HIGHEST = 1_000_000
"""Below the system's own classes, above everything a cluster has by default."""


def priority_class(priority: int) -> str:
    """Name of the class of a priority: ``headwater-5``, ``headwater-minus-5``."""
    return f"headwater-{priority}" if priority >= 0 else f"headwater-minus-{-priority}"


def priority_classes(models: tuple[ModelPlan, ...]) -> dict[str, int]:
    """Every class the models need, by name, with its value. Models without a priority use the cluster's default, 0."""
    wanted = sorted({model.priority for model in models if model.priority})
    return {priority_class(priority): max(-HIGHEST, min(HIGHEST, priority)) for priority in wanted}

"""Settings and catalogue in, one frozen Plan out."""

from headwater.plan.build import build_plan
from headwater.plan.model import (
    Alternative,
    Cost,
    EngineArg,
    Memory,
    ModelPlan,
    Parallel,
    Plan,
    Pod,
    Pool,
    Range,
    ReservationPlan,
    Role,
    Throughput,
)
from headwater.plan.system_model import SystemGroup

__all__ = [
    "Alternative",
    "Cost",
    "EngineArg",
    "Memory",
    "ModelPlan",
    "Parallel",
    "Plan",
    "Pod",
    "Pool",
    "Range",
    "ReservationPlan",
    "Role",
    "SystemGroup",
    "Throughput",
    "build_plan",
]

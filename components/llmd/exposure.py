"""How clients reach llm-d: the Gateway's Service, or a load balancer before a picker that has its own proxy."""

from __future__ import annotations

from typing import Any

from components.serving.exposure import LOAD_BALANCER_CLASS, PREFIX, Exposure, exposure, load_balancer_service
from headwater.plan import ModelPlan

__all__ = ["LOAD_BALANCER_CLASS", "PREFIX", "Exposure", "exposure", "standalone_service"]

PROXY_PORT = 8081


def standalone_service(model: ModelPlan, access: Exposure) -> Any:
    """Spec of the load balancer's Service before a picker that has its own proxy."""
    return load_balancer_service(access, {"llm-d-router-gateway": f"{model.name}-epp"}, PROXY_PORT)

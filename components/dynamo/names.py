"""Names Dynamo's operator derives, and ports of its pods."""

from __future__ import annotations

from typing import Any

from headwater.plan import ModelPlan

GRAPH_LABEL = "nvidia.com/dynamo-graph-deployment-name"
COMPONENT_LABEL = "nvidia.com/dynamo-component"
TYPE_LABEL = "nvidia.com/dynamo-component-type"
METRICS_LABEL = "nvidia.com/metrics-enabled"

FRONTEND = "frontend"
PLANNER = "planner"
PICKER = "picker"
"""Not ``epp``: llm-d's chart names its own Service and Deployment so, and a switch has both for a while."""

HTTP_PORT = 8000
SYSTEM_PORT = 9090
NIXL_PORT = 19090
PLANNER_METRICS_PORT = 9085
EXT_PROC_PORT = 9002
EXT_PROC_HEALTH_PORT = 9003
KV_EVENTS_PORT = 20080
"""The worker reads its engine's events here, on its own loopback, and relays them; each data-parallel rank adds one."""


def ports(**numbers: int) -> list[dict[str, Any]]:
    """Ports of a container by name, the operator's own: said here, so that monitors can be checked against them."""
    return [
        {"name": name.replace("_", "-"), "containerPort": number, "protocol": "TCP"} for name, number in numbers.items()
    ]


def graph_name(model: ModelPlan) -> str:
    """Name of the model's graph; the operator puts it before the name of everything it makes."""
    return model.name


def frontend_service(model: ModelPlan) -> str:
    """Service the operator makes for the model's frontend."""
    return f"{graph_name(model)}-{FRONTEND}"


def dynamo_namespace(model: ModelPlan, namespace: str) -> str:
    """Dynamo's own namespace of the graph: the label ``dynamo_namespace`` of every metric."""
    return f"{namespace}-{graph_name(model)}"


def adapter_name(model: ModelPlan, component: str) -> str:
    """Name of the scaling adapter of a component."""
    return f"{graph_name(model)}-{component}"

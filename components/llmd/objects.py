"""Custom objects llm-d is made of."""

from __future__ import annotations

from components.serving.objects import POD_MONITOR, PROMETHEUS_RULE, SCALED_OBJECT, Kind, Objects

__all__ = [
    "DISAGGREGATED_SET",
    "GATEWAY",
    "GATEWAY_CLASS",
    "HTTP_ROUTE",
    "INFERENCE_OBJECTIVE",
    "LEADER_WORKER_SET",
    "POD_MONITOR",
    "PROMETHEUS_RULE",
    "SCALED_OBJECT",
    "Kind",
    "Objects",
]

GATEWAY_CLASS = Kind("gateway.networking.k8s.io/v1", "GatewayClass")
GATEWAY = Kind("gateway.networking.k8s.io/v1", "Gateway")
HTTP_ROUTE = Kind("gateway.networking.k8s.io/v1", "HTTPRoute")
LEADER_WORKER_SET = Kind("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
DISAGGREGATED_SET = Kind("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet")
INFERENCE_OBJECTIVE = Kind("llm-d.ai/v1alpha2", "InferenceObjective")

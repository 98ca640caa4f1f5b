"""The router's own queue: priorities, limits, and when a pool counts as full."""

from __future__ import annotations

from dataclasses import dataclass, field

from components.llmd.epp.config import Band, FlowControlConfig, Plugin, Ref, plugin
from components.llmd.epp.parameters import ConcurrencyDetector

FAIRNESS = "round-robin-fairness-policy"
ORDERING = "fcfs-ordering-policy"


@dataclass(frozen=True)
class FlowPlan:
    """Limits of the queue of one model.

    Attributes:
        max_concurrency: requests one endpoint may have before the pool counts as full.
        max_requests: most requests waiting.
        gibibytes: most memory of waiting requests, GiB.
        ttl_seconds: longest wait.
        priorities: every priority that has a band of its own.
    """

    max_concurrency: int
    max_requests: int
    gibibytes: int
    ttl_seconds: float
    priorities: tuple[int, ...] = field(default=(0,))


def flow_control(flow: FlowPlan) -> tuple[FlowControlConfig, list[Plugin]]:
    """Configuration, and the plugins it refers to."""
    detector = plugin(ConcurrencyDetector(max_concurrency=flow.max_concurrency))
    bands = tuple(
        Band(
            priority=priority,
            max_requests=flow.max_requests,
            fairness_policy_ref=FAIRNESS,
            ordering_policy_ref=ORDERING,
        )
        for priority in sorted({0, *flow.priorities}, reverse=True)
    )
    config = FlowControlConfig(
        max_bytes=f"{flow.gibibytes}Gi",
        max_requests=flow.max_requests,
        default_request_ttl=f"{flow.ttl_seconds:g}s",
        saturation_detector=Ref(plugin_ref=detector.ref),
        priority_bands=bands,
    )
    return config, [plugin(FAIRNESS), plugin(ORDERING), detector]

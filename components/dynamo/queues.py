"""KAI queues: what the models' gangs are entitled to."""

from __future__ import annotations

from typing import Any

from headwater.plan import Plan
from headwater.plan.dynamo_layout import most_gpus
from headwater.settings.dynamo import Queue

API_VERSION = "scheduling.run.ai/v2"
ROOT = "headwater"
LEAF = "headwater-models"
UNLIMITED = -1


def queue_name() -> str:
    """The queue every graph names."""
    return LEAF


def root_spec() -> dict[str, Any]:
    """The parent: no bound of its own, so that the cluster's is the only one."""
    return {"resources": {kind: _share(UNLIMITED, UNLIMITED) for kind in ("cpu", "gpu", "memory")}}


def leaf_spec(plan: Plan, settings: Queue) -> dict[str, Any]:
    """The models' queue: GPUs as planned, processors and memory follow them."""
    entitled = settings.gpus if settings.gpus is not None else sum(most_gpus(model) for model in plan.models)
    most = UNLIMITED if settings.max_gpus is None else settings.max_gpus
    return {
        "parentQueue": ROOT,
        "priority": settings.priority,
        "resources": {
            "cpu": _share(UNLIMITED, UNLIMITED),
            "gpu": _share(entitled, most),
            "memory": _share(UNLIMITED, UNLIMITED),
        },
    }


def _share(quota: int, limit: int) -> dict[str, int]:
    return {"quota": quota, "limit": limit, "overQuotaWeight": 1}

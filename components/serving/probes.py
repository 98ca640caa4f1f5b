"""Probes of a model server, with the start-up budget the plan computed."""

from __future__ import annotations

import math
from typing import Any

from headwater.plan import Role

STARTUP_PERIOD = 10


def startup_failures(role: Role) -> int:
    """Failed start-up probes allowed: pull, load, compile and capture fit the budget, a hang does not stay for ever."""
    return max(1, math.ceil(role.startup_seconds / STARTUP_PERIOD))


def probes(role: Role, port: int | str) -> dict[str, Any]:
    """``startupProbe``, ``livenessProbe``, ``readinessProbe`` of an OpenAI-compatible server.

    Args:
        role: whose ``startup_seconds`` is the budget.
        port: number or name of the container port that answers.

    Readiness asks for the model list, which only answers once the model is loaded; liveness asks whether the
    engine loop still lives.
    """
    health = {"path": "/health", "port": port}
    models = {"path": "/v1/models", "port": port}
    return {
        "startupProbe": {
            "httpGet": models,
            "periodSeconds": STARTUP_PERIOD,
            "timeoutSeconds": 5,
            "failureThreshold": startup_failures(role),
        },
        "livenessProbe": {"httpGet": health, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3},
        "readinessProbe": {"httpGet": models, "periodSeconds": 5, "timeoutSeconds": 2, "failureThreshold": 3},
    }

"""An alert, and its form in a PrometheusRule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from headwater.plan import ModelPlan, Plan


class Alert(NamedTuple):
    """One rule: what is wrong, for how long, how bad, what is seen, what to do."""

    name: str
    expr: str
    wait: str
    severity: str
    summary: str
    action: str


def alert_rule(alert: Alert, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The rule as a PrometheusRule has it; ``labels`` stand beside the severity."""
    return {
        "alert": alert.name,
        "expr": alert.expr,
        "for": alert.wait,
        "labels": {"severity": alert.severity, **(labels or {})},
        "annotations": {"summary": alert.summary, "description": alert.action},
    }


def model_group(model: ModelPlan, alerts: Iterable[Alert]) -> dict[str, Any]:
    """The group of one model's rules."""
    rules = [alert_rule(alert, {"model": model.name}) for alert in alerts]
    return {"name": f"model-{model.name}", "interval": "30s", "rules": rules}


def latency_alerts(plan: Plan, model: ModelPlan, selector: str, *, first: str, later: str) -> list[Alert]:
    """Objectives missed for one request in twenty; none where the stack file sets none.

    Args:
        plan: the environment.
        model: the model.
        selector: labels of its series, in braces.
        first: histogram of seconds to the first token.
        later: histogram of seconds per token after it.
    """
    slo = next((m.slo for m in plan.settings.serving.models if m.name == model.name), None)
    if slo is None:
        return []
    watched = (
        ("ModelSlowFirstToken", first, slo.ttft, "time to first token"),
        ("ModelSlowTokens", later, slo.tpot, "time per token"),
    )
    return [
        Alert(
            name,
            f"histogram_quantile(0.95, sum by (le) (rate({metric}_bucket{selector}[5m]))) > {goal:g}",
            "10m",
            "warning",
            f"{model.name}: {words} above its objective for one request in twenty",
            "Compare load with the plan (headwater explain); more replicas or a smaller batch.",
        )
        for name, metric, goal, words in watched
        if goal is not None
    ]

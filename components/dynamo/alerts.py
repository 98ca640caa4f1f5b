"""What must wake somebody: rules over what frontends and engines report, one group for each model.

Ratios are between 0 and 1, as the engines report them; names of series are those of Dynamo's own list.
"""

from __future__ import annotations

from typing import Any

from components.dynamo.names import dynamo_namespace
from components.watching.alerts import Alert, latency_alerts, model_group
from headwater.plan import ModelPlan, Plan

KV_FULL = 0.95
WAITING = 8
"""Requests without a first token, above which a growing queue is worth a look."""
OURS = "internal|response_timeout|unavailable"
"""Kinds of error that are the service's own; a wrong request or a client that left is none."""


def model_alerts(plan: Plan, model: ModelPlan, namespace: str, *, by_picker: bool) -> list[Alert]:
    """Alerts of one model.

    Args:
        plan: the environment.
        model: the model.
        namespace: of the models.
        by_picker: frontends stand beside the workers, and none before them.
    """
    name = model.name
    front = f'{{dynamo_namespace="{dynamo_namespace(model, namespace)}"}}'
    engines = f'{{namespace="{namespace}",model_name="{name}"}}'
    workers = f'up{{namespace="{namespace}",headwater_model="{name}",dynamo_component_type=~"worker|prefill|decode"}}'
    found = [
        Alert(
            "ModelHasNoWorker",
            f"absent({workers} == 1)",
            "5m",
            "critical",
            f"{name}: no worker answers",
            "Look at its pods: Pending means no node or no room in the queue, otherwise the worker's log says why.",
        ),
        Alert(
            "ModelEnginesFull",
            f"max(vllm:kv_cache_usage_perc{engines}) > {KV_FULL}",
            "10m",
            "warning",
            f"{name}: the KV cache of a worker is full",
            "Requests are preempted or wait. More replicas, a shorter context, or an fp8 KV cache.",
        ),
    ]
    if by_picker:
        return found
    waiting = f"dynamo_frontend_queued_requests{front}"
    found += [
        Alert(
            "ModelNotReady",
            f"max(dynamo_frontend_model_ready{front}) == 0 or absent(dynamo_frontend_model_ready{front})",
            "10m",
            "critical",
            f"{name}: no frontend can route to it",
            "Frontends find workers through the API server: look at both pods' logs and the Role dynamo-discovery.",
        ),
        Alert(
            "ModelQueueGrows",
            f"sum({waiting}) > {WAITING} and sum(deriv({waiting}[10m])) > 0",
            "10m",
            "warning",
            f"{name}: requests wait for their first token and the queue grows",
            "Raise replicas.max, or look whether a worker is missing.",
        ),
        *(
            Alert(
                f"ModelErrors{suffix}",
                f"{_errors(front)} > {share:g}",
                wait,
                severity,
                f"{name}: more than {share:.0%} of requests fail",
                "Logs of the frontend and the workers say why.",
            )
            for suffix, share, wait, severity in (("", 0.05, "10m", "warning"), ("Critical", 0.2, "5m", "critical"))
        ),
    ]
    return found + latency_alerts(
        plan,
        model,
        front,
        first="dynamo_frontend_time_to_first_token_seconds",
        later="dynamo_frontend_inter_token_latency_seconds",
    )


def _errors(front: str) -> str:
    series = f"dynamo_frontend_requests_total{front}"
    failed = f'{series[:-1]},error_type=~"{OURS}"}}'
    return f"sum(rate({failed}[5m])) / sum(rate({series}[5m]))"


def rule_groups(plan: Plan, namespace: str, *, by_picker: bool) -> list[dict[str, Any]]:
    """One group for each model, as a PrometheusRule has them."""
    return [model_group(model, model_alerts(plan, model, namespace, by_picker=by_picker)) for model in plan.models]

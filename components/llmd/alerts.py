"""What must wake somebody: rules over what engines and pickers report, one set for each model.

Ratios are between 0 and 1, as the engines report them.
"""

from __future__ import annotations

from typing import Any

from components.llmd.router import picker_service, router_name
from components.watching.alerts import Alert, latency_alerts, model_group
from headwater.plan import ModelPlan, Plan

KV_FULL = 0.95
HIT_COLLAPSE = 0.5
"""Share of yesterday's prefix-hit ratio below which something is wrong with routing."""
HIT_WORTH_WATCHING = 0.2
WAITING = 8


def model_alerts(plan: Plan, model: ModelPlan, namespace: str) -> list[Alert]:
    """Alerts of one model."""
    name = model.name
    pool = f'{{namespace="{namespace}",name="{router_name(model)}"}}'
    served = f'{{namespace="{namespace}",model_name="{name}"}}'
    service = f'{{namespace="{namespace}",service="{picker_service(model)}"}}'
    waiting = f"vllm:num_requests_waiting{served}"
    found = [
        Alert(
            "ModelRouterAbsent",
            f"absent(llm_d_epp_ready_endpoints{pool})",
            "5m",
            "critical",
            f"{name}: its endpoint picker reports nothing",
            "Look at the pods of its router and at its configuration: a misspelt key ends the process.",
        ),
        Alert(
            "ModelEnginesFull",
            f"max(vllm:kv_cache_usage_perc{served}) > {KV_FULL}",
            "10m",
            "warning",
            f"{name}: the KV cache of a server is full",
            "Requests are preempted or wait. More replicas, a shorter context, or an fp8 KV cache.",
        ),
        Alert(
            "ModelQueueGrows",
            f"sum({waiting}) > {WAITING} and sum(deriv({waiting}[10m])) > 0",
            "10m",
            "warning",
            f"{name}: requests wait and the queue grows",
            "Raise replicas.max, or look whether a server is missing.",
        ),
        Alert(
            "ModelPrefixHitsCollapsed",
            _collapse(served),
            "15m",
            "warning",
            f"{name}: far fewer prompts hit the prefix cache than yesterday",
            "Prompts no longer go where their prefix is: the picker, block sizes, or what clients send has changed.",
        ),
        Alert(
            "ModelErrors",
            f"{_errors(served)} > 0.05",
            "10m",
            "warning",
            f"{name}: more than 5 % of requests fail",
            "Logs of the picker and the servers say why.",
        ),
        Alert(
            "ModelErrorsCritical",
            f"{_errors(served)} > 0.2",
            "5m",
            "critical",
            f"{name}: more than 20 % of requests fail",
            "Logs of the picker and the servers say why.",
        ),
        Alert(
            "ModelMetricsUnread",
            f"sum(rate(llm_d_epp_datalayer_poll_errors_total{service}[5m])) > 0",
            "10m",
            "warning",
            f"{name}: the picker cannot read some servers",
            "It routes on old facts; look at network policies and for a hanging server.",
        ),
    ]
    if all(role.replicas_min > 0 for role in model.roles):
        found.append(
            Alert(
                "ModelHasNoServer",
                f"max(llm_d_epp_ready_endpoints{pool}) == 0",
                "2m",
                "critical",
                f"{name}: no server is ready",
                "Look at its pods: Pending means no node, otherwise the engine's log says why.",
            )
        )
    return found + latency_alerts(
        plan, model, served, first="llm_d_epp_request_ttft_seconds", later="llm_d_epp_request_streaming_tpot_seconds"
    )


def _errors(served: str) -> str:
    return f"sum(rate(llm_d_epp_request_error_total{served}[5m])) / sum(rate(llm_d_epp_request_total{served}[5m]))"


def _hits(served: str, window: str) -> str:
    hits, asked = f"vllm:prefix_cache_hits_total{served}", f"vllm:prefix_cache_queries_total{served}"
    return f"(sum(rate({hits}[{window}])) / sum(rate({asked}[{window}])))"


def _collapse(served: str) -> str:
    now, before = _hits(served, "30m"), _hits(served, "1d")
    return f"{now} < {HIT_COLLAPSE} * {before} and {before} > {HIT_WORTH_WATCHING}"


def rule_groups(plan: Plan, namespace: str) -> list[dict[str, Any]]:
    """One group for each model, as a PrometheusRule has them."""
    return [model_group(model, model_alerts(plan, model, namespace)) for model in plan.models]

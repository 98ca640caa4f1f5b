"""A Grafana dashboard as code: what a model answers, how fast, what limits it, and what its router knows.

Series of frontends carry the model's Kubernetes label, which the monitors copy; the router's own label
``dynamo_namespace`` is spelt otherwise than the frontend's, so nothing here selects by it.
"""

from __future__ import annotations

import json
from typing import Any

from components.dynamo.alerts import OURS
from components.watching.dashboards import Queries, dashboard_json, namespace_variable, query_variable
from headwater.plan import Plan
from headwater.plan.dynamo_layout import entry

MODEL = "{{headwater_model}}"
WORKERS = "worker|prefill|decode"
PROMPTS = "worker|prefill"
"""Workers that compute prompts; decode counts the same prompt again."""
ANSWERS = "worker|decode"


def _of(metric: str, more: str = "") -> str:
    return f'{metric}{{namespace="$namespace",headwater_model=~"$model"{more}}}'


def _at(metric: str, types: str) -> str:
    return _of(metric, f',dynamo_component_type=~"{types}"')


def _now(series: str, by: str = "headwater_model") -> str:
    return f"sum by ({by}) ({series})"


def _rate(series: str, by: str = "headwater_model") -> str:
    return f"sum by ({by}) (rate({series}[5m]))"


def _both(metric: str) -> Queries:
    series = f"sum by (le, headwater_model) (rate({_of(f'{metric}_bucket')}[5m]))"
    return tuple((f"p{share * 100:g} {MODEL}", f"histogram_quantile({share}, {series})") for share in (0.5, 0.95))


def _requests(*, by_picker: bool) -> tuple[tuple[str, str, Queries], ...]:
    answering = ("Workers that answer", "short", ((f"{MODEL} {{{{dynamo_component_type}}}}", _alive()),))
    if by_picker:  # no frontend sees all requests
        ended = _at("vllm:request_success_total", ANSWERS)
        return (("Requests per second", "reqps", ((MODEL, _rate(ended)),)), answering)
    requests = "dynamo_frontend_requests_total"
    failed = _of(requests, f',error_type=~"{OURS}"')
    return (
        ("Requests per second", "reqps", ((MODEL, _rate(_of(requests))),)),
        ("Errors", "percentunit", ((MODEL, f"{_rate(failed)} / {_rate(_of(requests))}"),)),
        answering,
    )


def _alive() -> str:
    return _now(_at("up", WORKERS), "headwater_model, dynamo_component_type")


def _speed(*, by_picker: bool) -> tuple[tuple[str, str, Queries], ...]:
    source = "vllm:" if by_picker else "dynamo_frontend_"
    return (
        ("Time to first token", "s", _both(f"{source}time_to_first_token_seconds")),
        ("Time between tokens", "s", _both(f"{source}inter_token_latency_seconds")),
        (
            "Tokens per second",
            "short",
            (
                (f"prompt {MODEL}", _rate(_at("vllm:prompt_tokens_total", PROMPTS))),
                (f"answer {MODEL}", _rate(_at("vllm:generation_tokens_total", ANSWERS))),
            ),
        ),
    )


def _limits() -> tuple[tuple[str, str, Queries], ...]:
    kind = "headwater_model, dynamo_component_type"
    hits = _rate(_at("vllm:prefix_cache_hits_total", PROMPTS))
    return (
        ("KV cache in use", "percentunit", (("{{pod}}", f"max by (pod) ({_of('vllm:kv_cache_usage_perc')})"),)),
        (
            "Prefix cache hits",
            "percentunit",
            ((MODEL, f"{hits} / {_rate(_at('vllm:prefix_cache_queries_total', PROMPTS))}"),),
        ),
        (
            "Requests in the engines",
            "short",
            tuple(
                (f"{word} {MODEL} {{{{dynamo_component_type}}}}", _now(_of(f"vllm:num_requests_{word}"), kind))
                for word in ("running", "waiting")
            ),
        ),
    )


def _router() -> tuple[tuple[str, str, Queries], ...]:
    hits = "dynamo_component_router_kv_hit_rate"
    events = "dynamo_component_kv_cache_events_applied"
    return (
        (
            "Share of a prompt found in the chosen cache",
            "percentunit",
            ((MODEL, f"{_rate(_of(f'{hits}_sum'))} / {_rate(_of(f'{hits}_count'))}"),),
        ),
        (
            "Cache events per second",
            "short",
            (
                (f"applied {MODEL}", _rate(_of(events, ',status="ok"'))),
                (f"lost {MODEL}", _rate(_of(events, ',status!="ok"'))),
            ),
        ),
        (
            "Requests before the first token",
            "short",
            (
                (f"all {MODEL}", _now(_of("dynamo_frontend_queued_requests"))),
                (f"held by the router {MODEL}", _now(_of("dynamo_frontend_router_queue_pending_requests"))),
            ),
        ),
    )


def _transfer() -> tuple[tuple[str, str, Queries], ...]:
    took = "vllm:nixl_xfer_time_seconds"
    return (
        ("KV cache moved to decode", "Bps", ((MODEL, _rate(_of("vllm:nixl_bytes_transferred_sum"))),)),
        ("Time of a transfer", "s", _both(took)),
        ("Failed transfers per second", "short", ((MODEL, _rate(_of("vllm:nixl_num_failed_transfers_total"))),)),
    )


def dashboard(plan: Plan, namespace: str) -> dict[str, Any]:
    """The dashboard's own JSON form, with a row only for what this environment has.

    Args:
        plan: the environment.
        namespace: of the models.
    """
    by_picker = entry(plan.settings, plan.models) == "picker"
    rows = [
        ("Requests", _requests(by_picker=by_picker)),
        ("Speed", _speed(by_picker=by_picker)),
        ("Limits", _limits()),
    ]
    if plan.settings.dynamo.router.mode == "kv" and not by_picker:
        rows.append(("Router", _router()))
    if any(model.disaggregated for model in plan.models):
        rows.append(("Prefill to decode", _transfer()))
    known = f'label_values(up{{namespace="$namespace",dynamo_component_type=~"{WORKERS}"}}, headwater_model)'
    variables = [namespace_variable(namespace), query_variable("model", known)]
    return dashboard_json("headwater-dynamo", "Headwater: models behind Dynamo", rows, variables)


def dashboard_text(plan: Plan, namespace: str) -> str:
    """The dashboard as the file Grafana's sidecar picks up."""
    return json.dumps(dashboard(plan, namespace), indent=1, sort_keys=True) + "\n"

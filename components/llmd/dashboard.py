"""A Grafana dashboard as code: what a model serves, how fast, and what limits it."""

from __future__ import annotations

import json
from typing import Any

from components.watching.dashboards import Queries, dashboard_json, namespace_variable, query_variable

ENGINE = '{namespace="$namespace",model_name=~"$model"}'
POOL = '{namespace="$namespace",name=~"$model"}'


def _quantile(metric: str, share: float) -> str:
    return f"histogram_quantile({share}, sum by (le, model_name) (rate({metric}_bucket{ENGINE}[5m])))"


def _rate(metric: str) -> str:
    return f"sum by (model_name) (rate({metric}{ENGINE}[5m]))"


def _ratio(part: str, whole: str) -> str:
    return f"{_rate(part)} / {_rate(whole)}"


def _both(metric: str) -> Queries:
    return (("p50 {{model_name}}", _quantile(metric, 0.5)), ("p95 {{model_name}}", _quantile(metric, 0.95)))


def _now(metric: str) -> str:
    return f"sum by (model_name) ({metric}{ENGINE})"


MODEL = "{{model_name}}"
ROWS: tuple[tuple[str, tuple[tuple[str, str, Queries], ...]], ...] = (
    (
        "Requests",
        (
            ("Requests per second", "reqps", ((MODEL, _rate("llm_d_epp_request_total")),)),
            (
                "Errors",
                "percentunit",
                ((MODEL, _ratio("llm_d_epp_request_error_total", "llm_d_epp_request_total")),),
            ),
            ("Ready servers", "short", (("{{name}}", f"max by (name) (llm_d_epp_ready_endpoints{POOL})"),)),
        ),
    ),
    (
        "Speed",
        (
            ("Time to first token", "s", _both("vllm:time_to_first_token_seconds")),
            ("Time between tokens", "s", _both("vllm:inter_token_latency_seconds")),
            (
                "Tokens per second",
                "short",
                (
                    (f"prompt {MODEL}", _rate("vllm:prompt_tokens_total")),
                    (f"answer {MODEL}", _rate("vllm:generation_tokens_total")),
                ),
            ),
        ),
    ),
    (
        "Limits",
        (
            ("KV cache in use", "percentunit", (("{{pod}}", f"vllm:kv_cache_usage_perc{ENGINE}"),)),
            (
                "Prefix cache hits",
                "percentunit",
                ((MODEL, _ratio("vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total")),),
            ),
            (
                "Requests in the engines",
                "short",
                (
                    (f"running {MODEL}", _now("vllm:num_requests_running")),
                    (f"waiting {MODEL}", _now("vllm:num_requests_waiting")),
                ),
            ),
        ),
    ),
)


def dashboard(namespace: str) -> dict[str, Any]:
    """The dashboard's own JSON form.

    Args:
        namespace: of the models, shown first.
    """
    known = 'label_values(llm_d_epp_ready_endpoints{namespace="$namespace"}, name)'
    variables = [namespace_variable(namespace), query_variable("model", known)]
    return dashboard_json("headwater-llm-d", "Headwater: models behind llm-d", ROWS, variables)


def dashboard_text(namespace: str) -> str:
    """The dashboard as the file Grafana's sidecar picks up."""
    return json.dumps(dashboard(namespace), indent=1, sort_keys=True) + "\n"

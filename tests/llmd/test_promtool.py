"""Alert rules and scaling queries on made-up series, judged by Prometheus' own promtool."""

from __future__ import annotations

import pytest

from components.llmd.alerts import rule_groups
from components.llmd.scaling import triggers
from headwater.settings.llmd import Autoscaling
from tests.factories import make_plan
from tests.llmd.cases import one_server
from tests.llmd.test_watching import slo_plan
from tests.promtool import Rules, Series, find_promtool

pytestmark = pytest.mark.judges

ENGINE = 'namespace="models",model_name="qwen"'
PICKER = 'namespace="models",service="qwen-epp",model_name="qwen",target_model_name="qwen"'
POOL = 'namespace="models",service="qwen-epp",name="qwen"'

QUIET: Series = {
    f"llm_d_epp_ready_endpoints{{{POOL}}}": "2x1500",
    f'vllm:kv_cache_usage_perc{{{ENGINE},pod="a"}}': "0.5x1500",
    f'vllm:num_requests_waiting{{{ENGINE},pod="a"}}': "0x1500",
    f'vllm:prefix_cache_hits_total{{{ENGINE},pod="a"}}': "0+80x1500",
    f'vllm:prefix_cache_queries_total{{{ENGINE},pod="a"}}': "0+100x1500",
    f'llm_d_epp_request_total{{{PICKER},priority="0"}}': "0+600x1500",
    f'llm_d_epp_request_error_total{{{PICKER},priority="0",error_code="500"}}': "0+6x1500",
    'llm_d_epp_datalayer_poll_errors_total{namespace="models",service="qwen-epp",source_type="metrics"}': "0x1500",
    f'llm_d_epp_request_ttft_seconds_bucket{{{PICKER},le="1"}}': "0+590x1500",
    f'llm_d_epp_request_ttft_seconds_bucket{{{PICKER},le="5"}}': "0+600x1500",
    f'llm_d_epp_request_ttft_seconds_bucket{{{PICKER},le="+Inf"}}': "0+600x1500",
    f'llm_d_epp_request_streaming_tpot_seconds_bucket{{{PICKER},le="0.03"}}': "0+590x1500",
    f'llm_d_epp_request_streaming_tpot_seconds_bucket{{{PICKER},le="0.1"}}': "0+600x1500",
    f'llm_d_epp_request_streaming_tpot_seconds_bucket{{{PICKER},le="+Inf"}}': "0+600x1500",
}  # fmt: skip
"""A day of an untroubled model: 80 % of prompt tokens from cache, 1 % errors."""

LOUD: dict[str, Series] = {
    "ModelRouterAbsent": {f"llm_d_epp_ready_endpoints{{{POOL}}}": "_x1500"},
    "ModelHasNoServer": {f"llm_d_epp_ready_endpoints{{{POOL}}}": "2x1400 0x100"},
    "ModelEnginesFull": {f'vllm:kv_cache_usage_perc{{{ENGINE},pod="a"}}': "0.5x1400 0.99x100"},
    "ModelQueueGrows": {f'vllm:num_requests_waiting{{{ENGINE},pod="a"}}': "0x1400 0+3x100"},
    "ModelPrefixHitsCollapsed": {f'vllm:prefix_cache_hits_total{{{ENGINE},pod="a"}}': "0+80x1400 112000+5x100"},
    "ModelErrors": {f'llm_d_epp_request_error_total{{{PICKER},priority="0",error_code="500"}}': "0+6x1400 8400+60x100"},
    "ModelErrorsCritical": {
        f'llm_d_epp_request_error_total{{{PICKER},priority="0",error_code="500"}}': "0+6x1400 8400+200x100"
    },
    "ModelMetricsUnread": {
        'llm_d_epp_datalayer_poll_errors_total{namespace="models",service="qwen-epp",source_type="metrics"}': (
            "0x1400 0+20x100"
        )
    },
    "ModelSlowFirstToken": {f'llm_d_epp_request_ttft_seconds_bucket{{{PICKER},le="1"}}': "0+590x1400 826000+540x100"},
    "ModelSlowTokens": {
        f'llm_d_epp_request_streaming_tpot_seconds_bucket{{{PICKER},le="0.03"}}': "0+590x1400 826000+540x100"
    },
}


@pytest.fixture
def rules(tmp_path):
    return Rules(find_promtool(), tmp_path, rule_groups(slo_plan(), "models"))


def test_the_rules_are_valid(rules):
    assert rules.errors() == ""


def test_every_alert_has_its_trouble(rules):
    assert {r["alert"] for g in rules.groups for r in g["rules"]} == set(LOUD)


def test_an_untroubled_model_raises_nothing(rules):
    assert rules.silent(QUIET, *LOUD) == ""


@pytest.mark.parametrize("name", sorted(LOUD))
def test_each_trouble_raises_its_alert(rules, name):
    found = {"namespace": "models", "name": "qwen"} if name == "ModelRouterAbsent" else {}  # what absent() looked for
    assert rules.raised({**QUIET, **LOUD[name]}, name, **found) == ""


@pytest.mark.parametrize("name", sorted(set(LOUD) - {"ModelRouterAbsent"}))
def test_each_alert_waits_before_it_is_raised(rules, name):
    assert rules.silent({**QUIET, **LOUD[name]}, name, at="1400m") == ""


RUNNING = f"llm_d_epp_request_running{{{PICKER}}}"
QUEUE = f'llm_d_epp_flow_control_queue_size{{{PICKER},inference_pool="qwen",'
SHARE = 'llm_d_epp_flow_control_pool_saturation{namespace="models",service="qwen-epp",inference_pool="qwen"}'
OTHER = 'llm_d_epp_ready_endpoints{namespace="models",service="other-epp",name="other"}'


@pytest.mark.parametrize(
    ("metric", "series", "values"),
    [
        ("requests", {RUNNING: "12x10", f'llm_d_epp_request_running{{{PICKER},x="y"}}': "5x10"}, [17]),
        ("queue", {RUNNING: "4x10", f'{QUEUE}priority="0"}}': "3x10", f'{QUEUE}priority="10"}}': "2x10"}, [4, 5]),
        (
            "saturation",
            {RUNNING: "4x10", SHARE: "0.9x10", f"llm_d_epp_ready_endpoints{{{POOL}}}": "3x10", OTHER: "9x10"},
            [4, 2.7],
        ),
    ],
)
def test_every_scaling_query_gives_one_number(rules, metric, series, values):
    model = one_server()
    found = triggers(model, model.roles[0], Autoscaling(metric=metric), "models", "prefix")
    assert rules.evaluated(series, dict(zip([t.query for t in found], values, strict=True))) == ""


def test_the_plan_of_this_module_is_the_one_that_is_rendered():
    assert [g["name"] for g in rule_groups(make_plan(models=(one_server(),)), "models")] == ["model-qwen"]

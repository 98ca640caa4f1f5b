"""Alert rules and scaling queries on made-up series, judged by Prometheus' own promtool."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.llmd.alerts import rule_groups
from components.llmd.scaling import triggers
from headwater.settings.llmd import Autoscaling
from tests.factories import make_plan
from tests.llmd.cases import one_server
from tests.llmd.test_watching import slo_plan
from tools.build import find
from tools.judges import JUDGES

pytestmark = pytest.mark.judges

ENGINE = 'namespace="models",model_name="qwen"'
PICKER = 'namespace="models",service="qwen-epp",model_name="qwen",target_model_name="qwen"'
POOL = 'namespace="models",service="qwen-epp",name="qwen"'
Series = dict[str, str]

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
    "ModelSlowFirstToken": {f'llm_d_epp_request_ttft_seconds_bucket{{{PICKER},le="1"}}': "0+590x1400 826000+100x100"},
    "ModelSlowTokens": {
        f'llm_d_epp_request_streaming_tpot_seconds_bucket{{{PICKER},le="0.03"}}': "0+590x1400 826000+100x100"
    },
}
END = "1495m"


@pytest.fixture(scope="session")
def promtool() -> Path:
    judge = next(j for j in JUDGES if j.module == "prometheus")
    found = find(judge)
    if found is None:
        why = "promtool is not built; `make tools` builds it"
        if os.environ.get("HEADWATER_JUDGES") == "required":
            pytest.fail(why)
        pytest.skip(why)
    return found["promtool"]


def judged(promtool: Path, folder: Path, series: Series, checks: dict[str, Any]) -> str:
    """What promtool says of the rules over these series; empty when it agrees."""
    groups = rule_groups(slo_plan(), "models")
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    test = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": inputs, **checks}],
    }
    (folder / "test.yaml").write_text(yaml.safe_dump(test), encoding="utf-8")
    ran = subprocess.run(
        [promtool, "test", "rules", "test.yaml"], cwd=folder, capture_output=True, text=True, check=False
    )
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def expected(name: str) -> list[dict[str, Any]]:
    rule = next(r for g in rule_groups(slo_plan(), "models") for r in g["rules"] if r["alert"] == name)
    labels = dict(rule["labels"])
    if name == "ModelRouterAbsent":  # absent() names what it looked for
        labels |= {"namespace": "models", "name": "qwen"}
    return [{"exp_labels": labels, "exp_annotations": rule["annotations"]}]


def test_the_rules_are_valid(promtool, tmp_path):
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rule_groups(slo_plan(), "models")}))
    ran = subprocess.run(
        [promtool, "check", "rules", "rules.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_an_untroubled_model_raises_nothing(promtool, tmp_path):
    checks = {"alert_rule_test": [{"eval_time": END, "alertname": name, "exp_alerts": []} for name in LOUD]}
    assert judged(promtool, tmp_path, QUIET, checks) == ""


@pytest.mark.parametrize("name", sorted(LOUD))
def test_each_trouble_raises_its_alert(promtool, tmp_path, name):
    checks = {"alert_rule_test": [{"eval_time": END, "alertname": name, "exp_alerts": expected(name)}]}
    assert judged(promtool, tmp_path, {**QUIET, **LOUD[name]}, checks) == ""


@pytest.mark.parametrize("name", sorted(set(LOUD) - {"ModelRouterAbsent"}))
def test_each_alert_waits_before_it_is_raised(promtool, tmp_path, name):
    checks = {"alert_rule_test": [{"eval_time": "1400m", "alertname": name, "exp_alerts": []}]}
    assert judged(promtool, tmp_path, {**QUIET, **LOUD[name]}, checks) == ""


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
def test_every_scaling_query_gives_one_number(promtool, tmp_path, metric, series, values):
    model = one_server()
    found = triggers(model, model.roles[0], Autoscaling(metric=metric), "models", "prefix")
    checks = {
        "promql_expr_test": [
            {"expr": t.query, "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": value}]}
            for t, value in zip(found, values, strict=True)
        ]
    }
    assert judged(promtool, tmp_path, series, checks) == ""


def test_the_plan_of_this_module_is_the_one_that_is_rendered():
    assert [g["name"] for g in rule_groups(make_plan(models=(one_server(),)), "models")] == ["model-qwen"]

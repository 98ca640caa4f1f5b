"""Dynamo's alert rules and scaling queries on made-up series, judged by Prometheus' own promtool."""

from __future__ import annotations

import pytest

from components.dynamo.alerts import rule_groups
from components.dynamo.scaling import scaled_object
from tests.dynamo.shapes import elastic_disaggregated, plan, with_slo
from tests.llmd.cases import one_server
from tests.promtool import Rules, Series, find_promtool

pytestmark = pytest.mark.judges

ENGINE = 'namespace="models",headwater_model="qwen",dynamo_component_type="worker",model_name="qwen",engine="0"'
FRONT = 'namespace="models",headwater_model="qwen",dynamo_component_type="frontend",dynamo_namespace="models-qwen"'
FRONT += ',model="qwen"'
ONE, OTHER = f'{FRONT},pod="a"', f'{FRONT},pod="b"'
ANSWERED = f'dynamo_frontend_requests_total{{{ONE},status="success",error_type=""}}'
WRONG = f'dynamo_frontend_requests_total{{{ONE},status="error",error_type="validation"}}'
FAILED = f'dynamo_frontend_requests_total{{{ONE},status="error",error_type="internal"}}'
UP = 'up{namespace="models",headwater_model="qwen",dynamo_component_type="worker",pod="w"}'
READY, QUEUED = f"dynamo_frontend_model_ready{{{ONE}}}", f"dynamo_frontend_queued_requests{{{ONE}}}"
CACHE = f'vllm:kv_cache_usage_perc{{{ENGINE},pod="w"}}'
FIRST, LATER = "dynamo_frontend_time_to_first_token_seconds", "dynamo_frontend_inter_token_latency_seconds"

QUIET: Series = {
    UP: "1x1500",
    READY: "1x1500",
    f"dynamo_frontend_model_ready{{{OTHER}}}": "0x1500",
    QUEUED: "2x1500",
    CACHE: "0.5x1500",
    ANSWERED: "0+590x1500",
    WRONG: "0+300x1500",
    FAILED: "0+6x1500",
    f'{FIRST}_bucket{{{ONE},le="1"}}': "0+590x1500",
    f'{FIRST}_bucket{{{ONE},le="5"}}': "0+600x1500",
    f'{FIRST}_bucket{{{ONE},le="+Inf"}}': "0+600x1500",
    f'{LATER}_bucket{{{ONE},le="0.03"}}': "0+590x1500",
    f'{LATER}_bucket{{{ONE},le="0.1"}}': "0+600x1500",
    f'{LATER}_bucket{{{ONE},le="+Inf"}}': "0+600x1500",
}
"""A day of an untroubled model: one of its frontends still starts, a third of the requests are clients' mistakes."""

LOUD: dict[str, Series] = {
    "ModelHasNoWorker": {UP: "1x1400 0x100"},
    "ModelEnginesFull": {CACHE: "0.5x1400 0.99x100"},
    "ModelNotReady": {READY: "1x1400 0x100"},
    "ModelQueueGrows": {QUEUED: "2x1400 2+3x100"},
    "ModelErrors": {FAILED: "0+6x1400 8400+60x100"},
    "ModelErrorsCritical": {FAILED: "0+6x1400 8400+300x100"},
    "ModelSlowFirstToken": {f'{FIRST}_bucket{{{ONE},le="1"}}': "0+590x1400 826000+540x100"},
    "ModelSlowTokens": {f'{LATER}_bucket{{{ONE},le="0.03"}}': "0+590x1400 826000+540x100"},
}


@pytest.fixture
def rules(tmp_path):
    made = with_slo(plan(one_server("h100")))
    return Rules(find_promtool(), tmp_path, rule_groups(made, "models", by_picker=False))


def test_the_rules_are_valid(rules):
    assert rules.errors() == ""


def test_every_alert_has_its_trouble(rules):
    assert {r["alert"] for g in rules.groups for r in g["rules"]} == set(LOUD)


def test_an_untroubled_model_raises_nothing(rules):
    assert rules.silent(QUIET, *LOUD) == ""


@pytest.mark.parametrize("name", sorted(LOUD))
def test_each_trouble_raises_its_alert(rules, name):
    assert rules.raised({**QUIET, **LOUD[name]}, name) == ""


@pytest.mark.parametrize("name", sorted(LOUD))
def test_each_alert_waits_before_it_is_raised(rules, name):
    assert rules.silent({**QUIET, **LOUD[name]}, name, at="1400m") == ""


def test_a_model_that_is_gone_is_missed(rules):
    """``absent`` names what it looked for, and a series that ends is as bad as one that says no."""
    gone = {**QUIET, UP: "1x1400", READY: "1x1400", f"dynamo_frontend_model_ready{{{OTHER}}}": "0x1400"}
    assert rules.raised(gone, "ModelNotReady", dynamo_namespace="models-qwen") == ""
    assert rules.raised(gone, "ModelHasNoWorker") == ""


def test_another_models_trouble_is_its_own(rules):
    others = {name.replace("qwen", "other"): values for trouble in LOUD.values() for name, values in trouble.items()}
    assert rules.silent({**QUIET, **others}, *LOUD) == ""


def test_behind_the_picker_the_rules_are_valid_and_raised(tmp_path):
    groups = rule_groups(plan(one_server("h100"), gateway="picker"), "models", by_picker=True)
    rules = Rules(find_promtool(), tmp_path, groups)
    assert rules.errors() == ""
    for name in ("ModelHasNoWorker", "ModelEnginesFull"):
        assert rules.raised({**QUIET, **LOUD[name]}, name) == ""


@pytest.mark.parametrize("role", [0, 1], ids=["prefill", "decode"])
def test_every_scaling_query_gives_one_number(rules, role):
    model = elastic_disaggregated(name="qwen")
    scaled = scaled_object(model, model.roles[role], "models", "http://prometheus")
    queries = [trigger["metadata"]["query"] for trigger in scaled["triggers"]]
    active = {f"dynamo_frontend_active_requests{{{pod}}}": f"{number}x10" for pod, number in ((ONE, 12), (OTHER, 5))}
    other = {"dynamo_frontend_active_requests" + f"{{{ONE}}}".replace("qwen", "other"): "40x10"}
    assert rules.evaluated({**active, **other}, dict.fromkeys(queries, 17)) == ""

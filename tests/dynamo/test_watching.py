"""Alerts and monitors of a model: what they read exists, and each model has its own."""

from __future__ import annotations

import re

import pytest

from components.dynamo.alerts import model_alerts
from tests.dynamo.shapes import ALL, elastic_disaggregated, plan, with_slo, world
from tests.llmd.cases import one_server

FRONTEND = {
    "model_ready", "queued_requests", "requests_total", "time_to_first_token_seconds", "inter_token_latency_seconds",
}  # fmt: skip


def rules(made, **refs):
    (found,) = world(made, **refs).all("PrometheusRule")
    return found.spec["groups"]


@pytest.mark.parametrize("case", sorted(ALL))
def test_every_model_has_its_own_rules(case):
    made = ALL[case]("h200")
    groups = rules(made)
    assert [g["name"] for g in groups] == [f"model-{m.name}" for m in made.models]
    for group, model in zip(groups, made.models, strict=True):
        for rule in group["rules"]:
            assert rule["labels"]["model"] == model.name
            assert model.name in rule["expr"]
            assert rule["annotations"]["description"]


def test_only_series_of_the_frontends_own_list_are_read():
    made = with_slo(plan(one_server("h100")))
    text = " ".join(a.expr for a in model_alerts(made, made.models[0], "models", by_picker=False))
    read = {name.removesuffix("_bucket") for name in re.findall(r"dynamo_frontend_(\w+)", text)}
    assert read == FRONTEND


def test_rules_find_the_graph_by_the_name_the_monitors_copy():
    found = world(plan(one_server("h100")))
    (group,) = found.one("PrometheusRule").spec["groups"]
    assert any('dynamo_namespace="models-qwen"' in rule["expr"] for rule in group["rules"])
    monitor = found.one("PodMonitor", "qwen-frontend")
    copied = [r["targetLabel"] for e in monitor.spec["podMetricsEndpoints"] for r in e["relabelings"]]
    assert "dynamo_namespace" in copied


def test_objectives_are_watched_only_where_they_are_given():
    made = plan(elastic_disaggregated())
    names = [r["alert"] for g in rules(made) for r in g["rules"]]
    assert not {"ModelSlowFirstToken", "ModelSlowTokens"} & set(names)
    names = [r["alert"] for g in rules(with_slo(made)) for r in g["rules"]]
    assert {"ModelSlowFirstToken", "ModelSlowTokens"} <= set(names)


def test_with_the_picker_no_rule_reads_a_frontend():
    assert not [r for g in rules(ALL["picker"]("h100")) for r in g["rules"] if "dynamo_frontend" in r["expr"]]


def test_nothing_is_watched_without_prometheus():
    found = world(plan(one_server("h100")), prometheus_url=None)
    assert not found.all("PrometheusRule")
    assert not found.all("PodMonitor")
    assert not found.all("ScaledObject")

"""Alerts and monitors of a model: what they read exists, and each model has its own."""

from __future__ import annotations

import json
import re

import pytest

from components.dynamo.alerts import model_alerts
from tests.dynamo.shapes import ALL, elastic_disaggregated, plan, with_slo, world
from tests.llmd.cases import one_server
from tests.llmd.world import world as llmd_world
from tests.validators import promql
from tests.watched import ENGINE, fills_the_grid_without_overlap, metrics

FRONTEND = {
    "model_ready", "queued_requests", "requests_total", "time_to_first_token_seconds", "inter_token_latency_seconds",
}  # fmt: skip
SHOWN = ENGINE | {
    "dynamo_frontend_requests_total", "dynamo_frontend_time_to_first_token_seconds_bucket",
    "dynamo_frontend_inter_token_latency_seconds_bucket", "dynamo_frontend_queued_requests",
    "dynamo_frontend_router_queue_pending_requests", "dynamo_component_router_kv_hit_rate_sum",
    "dynamo_component_router_kv_hit_rate_count", "dynamo_component_kv_cache_events_applied",
}  # fmt: skip
"""What the dashboard may read; the real frontend shows each (``test_real_series``)."""


def shown(made):
    (found,) = world(made).all("ConfigMap")
    assert found.inputs["metadata"]["labels"] == {"grafana_dashboard": "1"}
    return json.loads(found.inputs["data"]["headwater-dynamo.json"])


def read(board):
    return " ".join(target["expr"] for panel in board["panels"] for target in panel.get("targets", ()))


def titles(board):
    return [panel["title"] for panel in board["panels"] if panel["type"] == "row"]


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
    assert not found.all("ConfigMap")
    assert not found.all("PrometheusRule")
    assert not found.all("PodMonitor")
    assert not found.all("ScaledObject")


@pytest.mark.parametrize("case", ["plain", "disaggregated", "several-models", "picker", "round-robin"])
def test_the_dashboard_reads_only_known_series_and_fills_the_grid(case):
    board = shown(ALL[case]("h200"))
    assert metrics(read(board), "dynamo_frontend_", "dynamo_component_") - {"dynamo_component_type"} <= SHOWN
    assert fills_the_grid_without_overlap(board["panels"])
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            assert not promql.errors(target["expr"].replace("$namespace", "models").replace("$model", "qwen"))
            assert 'namespace="$namespace",headwater_model=~"$model"' in target["expr"]


def test_the_dashboard_has_a_row_only_for_what_there_is():
    always = ["Requests", "Speed", "Limits"]
    assert titles(shown(ALL["plain"]("h100"))) == [*always, "Router"]
    assert titles(shown(ALL["round-robin"]("h100"))) == always
    assert titles(shown(ALL["picker"]("h100"))) == always
    assert titles(shown(ALL["disaggregated"]("h100"))) == [*always, "Router", "Prefill to decode"]


def test_with_the_picker_the_dashboard_reads_no_frontend():
    assert "dynamo_frontend" not in read(shown(ALL["picker"]("h100")))


def test_the_labels_the_dashboard_selects_by_are_ones_every_monitor_copies():
    for monitor in world(ALL["disaggregated"]("h100")).all("PodMonitor"):
        assert "headwater/model" in monitor.spec["podTargetLabels"]
        for endpoint in monitor.spec["podMetricsEndpoints"]:
            assert "dynamo_component_type" in [r["targetLabel"] for r in endpoint["relabelings"]]


def test_both_stacks_dashboards_may_stand_side_by_side():
    (other,) = llmd_world(plan(one_server("h100"))).all("ConfigMap")
    (ours,) = world(plan(one_server("h100"))).all("ConfigMap")
    assert other.inputs["metadata"]["name"] != ours.inputs["metadata"]["name"]
    assert set(other.inputs["data"]) != set(ours.inputs["data"])

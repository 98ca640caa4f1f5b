"""What is scraped, what alarms, what is shown: by the names engines and pickers really use."""

from __future__ import annotations

import json
import re

import pytest

from components.llmd.alerts import model_alerts
from components.llmd.dashboard import dashboard, dashboard_text
from tests.factories import make_model, make_plan, make_role
from tests.llmd.cases import ALL, one_server, wide
from tests.llmd.world import rendered, world
from tests.validators import promql
from tests.watched import ENGINE, fills_the_grid_without_overlap, metrics

LEGACY = re.compile(r"inference_(objective|pool|extension|model)_|kvcache_|gpu_cache_usage|llm_d_inference_scheduler")
KNOWN = ENGINE | {
    "llm_d_epp_request_total", "llm_d_epp_request_error_total", "llm_d_epp_request_running",
    "llm_d_epp_ready_endpoints", "llm_d_epp_datalayer_poll_errors_total", "llm_d_epp_flow_control_queue_size",
    "llm_d_epp_flow_control_pool_saturation", "llm_d_epp_request_ttft_seconds_bucket",
    "llm_d_epp_request_streaming_tpot_seconds_bucket",
}  # fmt: skip


def slo_plan():
    config = {"headwater:serving": {
        "stack": "llm-d", "models": [{"name": "qwen", "model": "qwen3-32b", "slo": {"ttft": "2s", "tpot": "40ms"}}],
    }}  # fmt: skip
    return make_plan(models=(one_server(),), config=config)


def rules(plan):
    groups = world(plan).one("PrometheusRule").spec["groups"]
    return {r["alert"]: r for g in groups for r in g["rules"]}


def test_engines_are_scraped_by_their_own_port():
    spec = world(make_plan(models=(one_server(),))).one("PodMonitor", "qwen").spec
    assert [e["port"] for e in spec["podMetricsEndpoints"]] == ["modelserver"]
    assert spec["selector"]["matchLabels"]["headwater/model"] == "qwen"


@pytest.mark.parametrize("case", sorted(ALL))
def test_every_scraped_port_exists_on_every_selected_pod(case):
    made = rendered(case, "h200")
    for monitor in made.all("PodMonitor"):
        labels = monitor.spec["selector"]["matchLabels"]
        for pod in made.pods():
            if labels.items() <= pod["metadata"]["labels"].items():
                names = {p["name"] for c in pod["spec"]["containers"] for p in c["ports"]}
                assert {e["port"] for e in monitor.spec["podMetricsEndpoints"]} <= names


def test_every_rank_is_scraped():
    spec = world(make_plan(models=(wide(),))).one("PodMonitor", "deepseek").spec
    assert [e["port"] for e in spec["podMetricsEndpoints"]] == [f"rank{n}" for n in range(8)]


def test_the_gateways_proxies_are_scraped():
    spec = world(make_plan(models=(one_server(),))).one("PodMonitor", "inference-gateway").spec
    assert spec["namespaceSelector"] == {"matchNames": ["envoy-gateway-system"]}
    assert spec["podMetricsEndpoints"][0]["path"] == "/stats/prometheus"


def test_nothing_watches_where_there_is_no_prometheus():
    made = world(make_plan(models=(one_server(),)), prometheus_url=None)
    for kind in ("PodMonitor", "PrometheusRule", "ConfigMap", "ScaledObject"):
        assert not made.all(kind)


def test_alerts_say_what_is_wrong_and_what_to_do():
    found = rules(slo_plan())
    assert set(found) == {
        "ModelRouterAbsent", "ModelHasNoServer", "ModelEnginesFull", "ModelQueueGrows", "ModelPrefixHitsCollapsed",
        "ModelErrors", "ModelErrorsCritical", "ModelMetricsUnread", "ModelSlowFirstToken", "ModelSlowTokens",
    }  # fmt: skip
    for rule in found.values():
        assert rule["annotations"]["summary"].startswith("qwen: ")
        assert rule["annotations"]["description"].endswith(".")
        assert rule["labels"]["severity"] in ("warning", "critical")


def test_every_model_is_watched_for_silence_by_itself():
    plan = make_plan(models=(one_server(), one_server(name="other")))
    groups = world(plan).one("PrometheusRule").spec["groups"]
    absent = [r["expr"] for g in groups for r in g["rules"] if r["alert"] == "ModelRouterAbsent"]
    assert absent == [f'absent(llm_d_epp_ready_endpoints{{namespace="models",name="{n}"}})' for n in ("qwen", "other")]


def test_a_model_that_may_sleep_raises_no_alarm_when_it_does():
    model = make_model(roles=(make_role(replicas=(0, 1)),))
    names = {a.name for a in model_alerts(make_plan(models=(model,)), model, "models")}
    assert "ModelHasNoServer" not in names
    assert "ModelRouterAbsent" in names


def test_shares_are_compared_with_shares():
    found = rules(slo_plan())
    assert found["ModelEnginesFull"]["expr"].endswith("> 0.95")
    assert found["ModelErrors"]["expr"].endswith("> 0.05")
    assert found["ModelSlowFirstToken"]["expr"].endswith("> 2")
    assert found["ModelSlowTokens"]["expr"].endswith("> 0.04")


@pytest.mark.parametrize("case", sorted(ALL))
def test_every_alert_is_one_series_of_known_metrics(case):
    for rule in rules(ALL[case]("h200")).values():
        assert metrics(rule["expr"], "llm_d_epp_") <= KNOWN
        assert not LEGACY.search(rule["expr"])
        assert not promql.errors(rule["expr"], rule["alert"])


@pytest.mark.parametrize("case", ["prefix", "wide-ep"])
def test_the_dashboard_is_found_by_grafana_and_reads_only_known_metrics(case):
    made = rendered(case, "h200").one("ConfigMap", "headwater-llm-d")
    assert made.inputs["metadata"]["labels"] == {"grafana_dashboard": "1"}
    text = made.inputs["data"]["headwater-llm-d.json"]
    assert metrics(text, "llm_d_epp_") <= KNOWN
    assert not LEGACY.search(text)


def test_the_dashboard_fills_the_grid_without_overlap():
    assert fills_the_grid_without_overlap(dashboard("models")["panels"])


def test_dashboard_text_is_stable_json():
    assert json.loads(dashboard_text("models"))["uid"] == "headwater-llm-d"
    assert dashboard_text("models") == dashboard_text("models")

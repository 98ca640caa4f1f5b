"""Replicas follow load: one series a query, a threshold in its own unit, bounds from the plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.llmd.scaling import requests_per_replica
from headwater.plan import Parallel
from headwater.settings.llmd import Autoscaling
from tests.factories import make_model, make_plan, make_role, multi_node_model
from tests.llmd.cases import ALL, llmd, one_server
from tests.llmd.world import rendered, world


def elastic(role="serve", replicas=(1, 3), **changes):
    return make_role(role, accelerator="h200", parallel=Parallel(tensor=8), replicas=replicas, **changes)


def scaled(plan, name="qwen-serve"):
    return world(plan).one("ScaledObject", name).spec


def test_bounds_are_the_plans_and_so_the_pools():
    spec = scaled(make_plan(models=(one_server(),)))
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (1, 3)


def test_nothing_scales_where_the_number_is_fixed():
    fixed = make_model(roles=(make_role(replicas=(2, 2)),))
    made = world(make_plan(models=(fixed,)))
    assert not made.all("ScaledObject")
    assert not made.all("HorizontalPodAutoscaler")


def test_the_query_names_namespace_service_and_model():
    (trigger,) = scaled(make_plan(models=(one_server(),)))["triggers"]
    assert trigger["metadata"]["query"] == (
        'sum(llm_d_epp_request_running{namespace="models",service="qwen-epp",model_name="qwen"})'
    )
    assert trigger["metricType"] == "AverageValue"


@pytest.mark.parametrize("case", sorted(ALL))
def test_no_trigger_multiplies_replicas(case):
    for made in rendered(case, "h200").all("ScaledObject"):
        assert {t["metricType"] for t in made.spec["triggers"]} == {"AverageValue"}


def test_the_threshold_is_what_a_replica_holds():
    role = make_role(replicas=(1, 3), concurrency=10.0, max_num_seqs=64)
    (trigger,) = scaled(make_plan(models=(make_model(roles=(role,)),)))["triggers"]
    assert trigger["metadata"]["threshold"] == "8"


def test_an_own_target_wins():
    (trigger,) = scaled(make_plan(models=(one_server(),), config=llmd(autoscaling={"target": 16})))["triggers"]
    assert trigger["metadata"]["threshold"] == "16"


@given(prefill=st.integers(1, 8), decode=st.integers(1, 8), load=st.integers(1, 500), target=st.integers(1, 64))
def test_prefill_and_decode_keep_their_ratio_under_any_load(prefill, decode, load, target):
    roles = (elastic("prefill", (prefill, 64)), elastic("decode", (decode, 64)))
    model = make_model(roles=roles)
    wanted = [load / requests_per_replica(model, role, float(target)) for role in roles]
    assert wanted[0] / wanted[1] == pytest.approx(prefill / decode)


RUNNING = 'sum(llm_d_epp_request_running{namespace="models",service="qwen-epp",model_name="qwen"})'
QUEUE = 'sum(llm_d_epp_flow_control_queue_size{namespace="models",service="qwen-epp",model_name="qwen"})'
SHARE = 'max(llm_d_epp_flow_control_pool_saturation{namespace="models",inference_pool="qwen"})'
READY = 'max(llm_d_epp_ready_endpoints{namespace="models",name="qwen"})'


@pytest.mark.parametrize(
    ("metric", "query", "threshold"), [("saturation", f"{SHARE} * {READY}", "0.7"), ("queue", QUEUE, "1")]
)
def test_the_routers_metrics_come_on_top_of_running_requests(metric, query, threshold):
    config = llmd(autoscaling={"metric": metric}, flowControl={"enabled": True})
    first, second = (t["metadata"] for t in scaled(make_plan(models=(one_server(),), config=config))["triggers"])
    assert first["query"] == RUNNING
    assert (second["query"], second["threshold"]) == (query, threshold)


def test_saturation_is_counted_in_servers_of_every_role():
    roles = (elastic("prefill", (2, 4)), elastic("decode", (1, 2)))
    config = llmd(autoscaling={"metric": "saturation"}, flowControl={"enabled": True})
    plan = make_plan(models=(make_model("kimi", roles),), config=config)
    thresholds = {
        r: float(scaled(plan, f"kimi-{r}")["triggers"][1]["metadata"]["threshold"]) for r in ("prefill", "decode")
    }
    assert thresholds == {"prefill": pytest.approx(0.7 * 1.5), "decode": pytest.approx(0.7 * 3)}


def test_an_empty_queue_has_no_series_and_that_is_no_error():
    config = llmd(autoscaling={"metric": "queue"}, flowControl={"enabled": True})
    found = scaled(make_plan(models=(one_server(),), config=config))["triggers"]
    assert [t["metadata"]["ignoreNullValues"] for t in found] == ["false", "true"]


def test_missing_data_keeps_replicas_instead_of_dropping_them():
    spec = scaled(make_plan(models=(one_server(),)))
    assert spec["triggers"][0]["metadata"]["ignoreNullValues"] == "false"
    assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"


def test_from_zero_missing_data_means_no_load():
    role = make_role(replicas=(0, 2))
    config = llmd(flowControl={"enabled": True, "ttl": "40m"})
    spec = scaled(make_plan(models=(make_model(roles=(role,)),), config=config))
    assert spec["minReplicaCount"] == 0
    assert spec["triggers"][0]["metadata"]["ignoreNullValues"] == "true"
    assert "fallback" not in spec


def test_gpus_are_given_away_slowly():
    behavior = scaled(make_plan(models=(one_server(),)))["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behavior["scaleUp"]["stabilizationWindowSeconds"] == 300
    assert behavior["scaleDown"]["stabilizationWindowSeconds"] >= 600
    assert behavior["scaleDown"]["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 120}]


def test_each_workload_is_scaled_by_what_carries_its_replicas():
    group = multi_node_model().roles[0].model_copy(update={"replicas_max": 2})
    plan = make_plan(models=(make_model("glm", (group,)),))
    assert scaled(plan, "glm-serve")["scaleTargetRef"] == {
        "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "glm-serve",
    }  # fmt: skip
    apart = make_plan(models=(make_model("kimi", (elastic("prefill", (2, 4)), elastic("decode", (1, 2)))),))
    for role in ("prefill", "decode"):
        assert scaled(apart, f"kimi-{role}")["scaleTargetRef"] == {
            "apiVersion": "disaggregatedset.x-k8s.io/v1", "kind": "DisaggregatedSetRoleScaler", "name": f"kimi-{role}",
        }  # fmt: skip


def test_a_scaled_role_of_a_set_leaves_its_replicas_to_the_scaler():
    made = world(make_plan(models=(make_model("kimi", (elastic("prefill", (2, 4)), elastic("decode", (1, 1)))),)))
    roles = {r["name"]: r for r in made.one("DisaggregatedSet").spec["roles"]}
    assert roles["prefill"]["scaling"] == {"mode": "External"}
    assert "replicas" not in roles["prefill"]["spec"]
    assert roles["decode"]["spec"]["replicas"] == 1
    assert "scaling" not in roles["decode"]
    assert made.one("DisaggregatedSet").spec["slices"] == 1


def test_the_workload_variant_autoscaler_is_gone():
    for case in ALL:
        assert not rendered(case, "h100").all("VariantAutoscaling")


def test_kubernetes_own_autoscaler_reads_the_engines_through_an_adapter():
    made = world(make_plan(models=(one_server(),), config=llmd(autoscaling={"by": "hpa", "target": 12})))
    assert not made.all("ScaledObject")
    spec = made.one("HorizontalPodAutoscaler", "qwen-serve").spec
    assert spec["scaleTargetRef"]["name"] == "qwen-serve"
    assert spec["metrics"][0]["pods"]["target"] == {"type": "AverageValue", "averageValue": "12"}
    rules = made.release("prometheus-adapter")["rules"]
    assert [r["name"]["as"] for r in rules["custom"]] == [spec["metrics"][0]["pods"]["metric"]["name"]]
    assert "external" not in rules
    assert rules["default"] is False


def test_the_adapter_is_there_only_for_kubernetes_own_autoscaler():
    for case in set(ALL) - {"hpa"}:
        assert not [r for r in rendered(case, "h100").all("Release") if "adapter" in r.inputs["chart"]]


@given(st.floats(0.5, 1000), st.integers(1, 512))
def test_a_replica_is_never_asked_for_less_than_one_request(concurrency, batch):
    role = make_role(replicas=(1, 3), concurrency=concurrency, max_num_seqs=batch)
    model = make_model(roles=(role,))
    found = requests_per_replica(model, role, Autoscaling().target)
    assert 1 <= found <= max(1, batch)

"""What llm-d cannot do is refused before anything is created, with place, value, reason and remedy."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.plan import EngineArg, Parallel
from headwater.plan.llmd_paths import offload_tokens, routing_path
from headwater.plan.llmd_rules import llmd_faults
from headwater.settings.llmd import Llmd
from tests.factories import disaggregated_model, make_model, make_plan, make_role, multi_node_model
from tests.llmd.cases import ALL, llmd, offloaded, one_server, wide


def faults(*models: Any, pools: Any = (), **settings: Any) -> dict[str, Any]:
    plan = make_plan(models=models or (one_server(),), config=llmd(**settings))
    return {f.path: f for f in llmd_faults(plan.settings, plan.models, pools)}


def refused(at: str, /, *words: str, models: Any = (), **settings: Any) -> None:
    found = faults(*models, **settings)
    assert at in found, sorted(found)
    text = found[at].text()
    for word in words:
        assert word in text
    assert found[at].remedy


@pytest.mark.parametrize("case", sorted(ALL))
@pytest.mark.parametrize("accelerator", ["h100", "h200"])
def test_what_we_render_is_never_refused(case, accelerator):
    plan = ALL[case](accelerator)
    assert llmd_faults(plan.settings, plan.models, plan.pools) == []


# -- paths


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (one_server(), "prefix"),
        (offloaded(), "tiered"),
        (disaggregated_model(), "disaggregated"),
        (multi_node_model(), "prefix"),
        (wide(), "wide-ep"),
    ],
)
def test_the_path_follows_the_placement(model, expected):
    assert routing_path(Llmd(), model) == expected


def test_a_models_own_path_wins_over_the_general_one():
    settings = Llmd(path="precise", paths={"qwen": "slo"})
    assert routing_path(settings, one_server()) == "slo"
    assert routing_path(settings, one_server(name="other")) == "precise"


def test_host_tokens_scale_with_bytes():
    role = make_role(offload_gib=75.0)
    assert offload_tokens(role) == int(role.kv_tokens * 75.0 / role.memory.kv.expected)
    assert offload_tokens(make_role()) == 0


def test_a_path_of_an_unknown_model_is_answered_with_the_right_name():
    refused("headwater:llmd.paths.qwenn", "Did you mean `qwen`?", paths={"qwenn": "precise"})


def test_a_model_cannot_be_called_like_the_gateway():
    refused("headwater:serving.models[0].name", "have this name", models=(one_server(name="inference-gateway"),))


def test_istio_has_one_pool():
    refused("headwater:llmd.gateway", "istio#58392", models=(one_server(), one_server(name="b")), gateway="istio")
    assert not faults(gateway="istio")


def test_disaggregated_routing_needs_separate_servers():
    refused("headwater:llmd.path", "has no prefill and decode servers", "disaggregate", path="disaggregated")


@pytest.mark.parametrize("path", ["prefix", "precise", "tiered"])
def test_separate_servers_need_a_path_that_knows_them(path):
    refused("headwater:llmd.path", "whole requests to prefill servers", models=(disaggregated_model(),), path=path)


def test_tiers_need_something_to_hold():
    refused("headwater:llmd.path", "no KV tier", "kvCache.offload", path="tiered")


def test_wide_expert_parallelism_needs_ranks():
    refused("headwater:llmd.path", "no data-parallel ranks", path="wide-ep")


def test_wide_expert_parallelism_between_nodes_needs_efa():
    parallel = Parallel(tensor=1, data=16, expert=True)
    model = make_model(roles=(make_role(accelerator="h200", parallel=parallel, nodes=2),))
    refused("headwater:llmd.path", "needs EFA", models=(model,), path="wide-ep")


def test_wide_expert_parallelism_refuses_what_needs_ibgda():
    model = wide()
    bad = EngineArg(flag="--all2all-backend", value="deepep_low_latency", origin="user", why="test")
    roles = tuple(r.model_copy(update={"engine_args": (*r.engine_args, bad)}) for r in model.roles)
    path = "headwater:serving.models[0].engine.all2all-backend"
    refused(path, "IBGDA", "allgather_reducescatter", models=(model.model_copy(update={"roles": roles}),))


def test_ranks_divide_evenly_over_nodes():
    parallel = Parallel(tensor=1, data=9, expert=True)
    role = make_role(accelerator="h200", parallel=Parallel(tensor=8), efa=True)
    model = make_model(roles=(role.model_copy(update={"parallel": parallel, "nodes": 2}),))
    refused("headwater:llmd.path", "9 ranks on 2 nodes", models=(model,), path="wide-ep")


def test_an_exact_index_needs_full_attention():
    for kind in ("hybrid", "sliding_window"):
        model = make_model(**{kind: True})
        refused("headwater:llmd.path", "not full attention", "Use `prefix`", models=(model,), path="precise")


def test_an_exact_index_cannot_see_foreign_tiers():
    refused(
        "headwater:llmd.kvTier.engine",
        "does not see",
        models=(offloaded(),),
        path="precise",
        kvTier={"engine": "lmcache"},
    )


def test_an_exact_index_cannot_tell_ranks_apart():
    role = make_role(accelerator="h200", parallel=Parallel(tensor=4, data=2))
    refused("headwater:llmd.path", "data-parallel ranks", models=(make_model(roles=(role,)),), path="precise")


def test_ranks_on_several_nodes_start_only_on_the_wide_path():
    refused("headwater:llmd.path", "rank by rank", models=(wide(),), path="disaggregated")


def test_disaggregated_latency_prediction_needs_streams():
    refused("headwater:llmd.path", "stream", models=(disaggregated_model(),), path="slo")
    assert not faults(disaggregated_model(), path="slo", streaming=True)


# -- prefill and decode


def test_decode_needs_at_least_prefills_tensor_ranks_without_latent_attention():
    roles = (
        make_role("prefill", accelerator="h200", parallel=Parallel(tensor=8), efa=True),
        make_role("decode", accelerator="h200", parallel=Parallel(tensor=4), efa=True),
    )
    path = "headwater:serving.models[0].disaggregate"
    refused(path, "TP 4", "TP 8", models=(make_model(roles=roles),))
    assert path not in faults(make_model(roles=roles, latent_attention=True))


def test_both_sides_mean_the_same_by_a_block():
    model = disaggregated_model()
    other = model.roles[1].model_copy(update={"block_size": 64})
    refused(
        "headwater:serving.models[0].kvCache",
        "block size",
        models=(model.model_copy(update={"roles": (model.roles[0], other)}),),
    )


def test_prefill_and_decode_never_span_zones():
    plan = make_plan(models=(disaggregated_model(),))
    spread = tuple(p.model_copy(update={"zones": ("us-east-2a", "us-east-2b")}) for p in plan.pools)
    found = {f.path: f for f in llmd_faults(plan.settings, plan.models, spread)}
    assert "does not leave a zone" in found["headwater:serving.models[0]"].why


def test_groups_need_efa():
    role = make_role(parallel=Parallel(tensor=8, pipeline=2), nodes=2)
    refused("headwater:serving.models[0]", "over TCP", models=(make_model(roles=(role,)),))


# -- the picker


@pytest.mark.parametrize("path", ["prefix", "tiered", "slo"])
def test_several_pickers_need_a_path_without_state(path):
    model = offloaded() if path == "tiered" else one_server()
    refused("headwater:llmd.picker.replicas", "inside one picker", models=(model,), path=path, picker={"replicas": 2})


def test_several_pickers_are_fine_on_the_exact_path_or_with_stateless_scorers():
    assert not faults(path="precise", picker={"replicas": 2})
    assert not faults(picker={"replicas": 2, "scorers": {"queue-scorer": 1, "kv-cache-utilization-scorer": 1}})


def test_several_pickers_cannot_share_a_queue():
    refused(
        "headwater:llmd.picker.replicas",
        "one picker",
        path="precise",
        picker={"replicas": 2},
        flowControl={"enabled": True},
    )


def test_a_misspelt_scorer_is_answered_with_the_right_one():
    refused(
        "headwater:llmd.picker.scorers.queue-scorrer",
        "Did you mean `queue-scorer`?",
        picker={"scorers": {"queue-scorrer": 1}},
    )


def test_a_removed_scorer_is_answered_with_its_replacement():
    name = "precise-prefix-cache-scorer"
    refused(f"headwater:llmd.picker.scorers.{name}", "prefix-cache-scorer", picker={"scorers": {name: 1}})


def test_an_alpha_scorer_needs_the_opt_in():
    name = "session-affinity-scorer"
    refused(f"headwater:llmd.picker.scorers.{name}", "alphaPlugins: true", picker={"scorers": {name: 1}})
    assert not faults(picker={"scorers": {name: 1}}, alphaPlugins=True)


def test_what_is_no_scorer_has_no_weight():
    name = "decode-filter"
    refused(f"headwater:llmd.picker.scorers.{name}", "a filter, not a scorer", picker={"scorers": {name: 1}})


# -- queue and scaling


def test_waiting_requests_fit_the_pickers_memory():
    refused("headwater:llmd.flowControl.gibibytes", "16 GiB", flowControl={"enabled": True, "gibibytes": 32})


def test_priorities_without_a_queue_must_be_ones_that_drop():
    refused("headwater:llmd.flowControl.objectives", "accepted and ignored", flowControl={"objectives": {"fast": 10}})
    assert not faults(flowControl={"objectives": {"batch": -10}})


@pytest.mark.parametrize("metric", ["queue", "saturation"])
def test_the_queues_metrics_need_the_queue(metric):
    refused("headwater:llmd.autoscaling.metric", "only with flow control", autoscaling={"metric": metric})


def test_scaling_from_zero_needs_a_queue_that_waits_long_enough():
    sleepy = make_model(roles=(make_role(replicas=(0, 2)),))
    path = "headwater:serving.models[0].replicas.min"
    refused(path, "wait somewhere", models=(sleepy,))
    refused("headwater:llmd.flowControl.ttl", "1800 s", models=(sleepy,), flowControl={"enabled": True, "ttl": "60s"})
    assert not faults(sleepy, flowControl={"enabled": True, "ttl": "30m"})


def test_kubernetes_own_autoscaler_wakes_nobody():
    sleepy = make_model(roles=(make_role(replicas=(0, 2)),))
    flow = {"enabled": True, "ttl": "30m"}
    refused(
        "headwater:llmd.autoscaling.by", "never wakes", models=(sleepy,), flowControl=flow, autoscaling={"by": "hpa"}
    )


def test_separate_servers_do_not_wake_from_zero():
    model = disaggregated_model()
    roles = tuple(r.model_copy(update={"replicas_min": 0}) for r in model.roles)
    refused(
        "headwater:serving.models[0].replicas.min", "wake together", models=(model.model_copy(update={"roles": roles}),)
    )


# -- nothing is accepted and ignored


@pytest.mark.parametrize(
    ("path", "settings"),
    [
        ("gateway", {"mode": "standalone", "gateway": "envoy"}),
        ("decider", {"decider": 512}),
        ("streaming", {"streaming": True}),
        ("picker.scorers", {"path": "precise", "picker": {"scorers": {"queue-scorer": 1}}}),
        ("flowControl.ttl", {"flowControl": {"ttl": "90s"}}),
        ("flowControl.requests", {"flowControl": {"requests": 10}}),
        ("kvTier", {"kvTier": {"engine": "lmcache"}}),
        ("prefillThroughput.other", {"prefillThroughput": {"other": 1000}}),
    ],
)
def test_a_setting_nothing_reads_is_refused(path, settings):
    assert f"headwater:llmd.{path}" in faults(**settings)


def test_a_file_tier_has_a_size_only_when_it_exists():
    assert "headwater:llmd.kvTier.gibibytes" in faults(offloaded(), kvTier={"gibibytes": 100})
    assert "headwater:llmd.kvTier.files" in faults(offloaded(), kvTier={"engine": "mooncake", "files": "nvme"})


def test_autoscaling_of_fixed_models_is_refused():
    assert "headwater:llmd.autoscaling" in faults(
        make_model(roles=(make_role(replicas=(1, 1)),)), autoscaling={"target": 5}
    )


def test_load_is_read_from_prometheus():
    plan = make_plan(models=(one_server(),), config={"headwater:observability": {"enabled": False}})
    assert "headwater:observability.enabled" in {f.path for f in llmd_faults(plan.settings, plan.models)}


def test_kubernetes_own_autoscaler_reads_requests_only():
    found = faults(autoscaling={"by": "hpa", "metric": "queue"}, flowControl={"enabled": True})
    assert "headwater:llmd.autoscaling.metric" in found


def test_every_fault_names_its_place_reason_and_remedy():
    found = faults(path="disaggregated", picker={"replicas": 2}, streaming=True, flowControl={"ttl": "5s"})
    assert len(found) >= 3
    for fault in found.values():
        assert fault.path.startswith("headwater:")
        assert fault.why.endswith(".")
        assert fault.remedy.endswith((".", "?"))

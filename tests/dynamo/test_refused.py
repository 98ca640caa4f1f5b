"""What Dynamo cannot do is refused before anything is created, with place, value, reason and remedy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.catalog.dynamo_surface import dynamo_surface, lines, lines_between
from headwater.plan.dynamo_layout import NAME_BUDGET, least_gpus, most_gpus
from headwater.plan.dynamo_rules import dynamo_faults, upgrade_fault
from headwater.plan.model import EngineArg, Parallel
from tests.dynamo.shapes import ALL, elastic_disaggregated, plan, with_slo
from tests.factories import disaggregated_model, make_model, make_role, multi_node_model
from tests.llmd.cases import offloaded, one_server

FIXED = make_model("qwen", (make_role(replicas=(1, 1)),))


def faults(*models: Any, slo: bool = False, pools: Any = (), config: Any = None, **settings: Any) -> dict[str, Any]:
    made = plan(*(models or (one_server(),)), config=config, **settings)
    made = with_slo(made) if slo else made
    return {f.path: f for f in dynamo_faults(made.settings, made.models, pools)}


def refused(at: str, *words: str, models: Any = (), slo: bool = False, config: Any = None, **settings: Any) -> None:
    found = faults(*models, slo=slo, config=config, **settings)
    assert at in found, sorted(found)
    text = found[at].text()
    for word in words:
        assert word in text, text
    assert found[at].remedy


@pytest.mark.parametrize("case", sorted(ALL))
@pytest.mark.parametrize("accelerator", ["h100", "h200"])
def test_what_we_render_is_never_refused(case, accelerator):
    made = ALL[case](accelerator)
    assert dynamo_faults(made.settings, made.models, made.pools) == []


# -- releases


def test_an_unknown_release_is_refused_with_those_we_know():
    refused("headwater:dynamo.version", "1.4.0", *dynamo_surface().releases, version="1.4.0")


@pytest.mark.parametrize("release", dynamo_surface().releases)
def test_every_release_of_the_line_is_taken(release):
    assert "headwater:dynamo.version" not in faults(version=release)


def test_an_upgrade_over_several_lines_names_the_ones_between():
    refused("headwater:dynamo.upgradeFrom", "1.3, 1.4, 1.5", upgradeFrom="1.2.1")


@pytest.mark.parametrize("old", ["1.5.0", "1.5.1", "1.6.0"])
def test_an_upgrade_to_the_next_line_or_within_it_is_taken(old):
    assert "headwater:dynamo.upgradeFrom" not in faults(upgradeFrom=old)


def test_a_way_back_is_refused():
    refused("headwater:dynamo.upgradeFrom", "older", upgradeFrom="1.7.0")


@given(st.sampled_from(lines()), st.sampled_from(lines()))
def test_an_upgrade_is_taken_exactly_when_its_line_is_the_same_or_the_next(old, new):
    steps = lines().index(new) - lines().index(old)
    assert lines_between(f"{old}.0", f"{new}.0") == steps
    assert (upgrade_fault("path", f"{old}.0", f"{new}.0") is None) == (steps in (0, 1))


# -- KV tiers


def test_disk_is_refused_with_a_reason_and_a_way_out():
    refused("headwater:dynamo.kvTiers", "deprecated", "host", models=(offloaded(),), kvTiers=["gpu", "host", "disk"])


def test_a_remote_tier_is_refused_because_nothing_reads_it():
    tiers = ["gpu", "host", "remote"]
    refused("headwater:dynamo.kvTiers", "nothing in this release", models=(offloaded(),), kvTiers=tiers)


def test_tiers_start_on_the_gpu():
    refused("headwater:dynamo.kvTiers", "gpu", models=(offloaded(),), kvTiers=["host", "gpu"])


def test_a_host_tier_needs_a_model_that_offloads_and_the_other_way_round():
    at = "headwater:serving.models[0].kvCache.offload"
    refused(at, "GPUs only", kvTiers=["gpu", "host"])
    refused(at, "does not list host", models=(offloaded(),), kvTiers=["gpu"])
    assert at not in faults(offloaded(), kvTiers=["gpu", "host"])
    assert at not in faults(offloaded())


# -- placement


def test_plain_deployments_cannot_hold_a_replica_over_nodes():
    refused("headwater:dynamo.scheduling", "spans nodes", models=(multi_node_model(),), scheduling="none")


def test_a_queue_without_kai_is_refused():
    refused("headwater:dynamo.queue", "KAI", queue={"priority": 200})
    assert "headwater:dynamo.queue" not in faults(queue={"priority": 200}, scheduling="grove")


def test_a_queue_below_the_models_minimum_is_refused():
    refused("headwater:dynamo.queue.maxGpus", "16 GPUs", models=(multi_node_model(),), queue={"gpus": 8, "maxGpus": 8})


def test_a_name_that_grove_would_cut_is_refused_and_one_character_less_is_taken():
    role = make_role("prefill", parallel=Parallel(tensor=8, pipeline=2), nodes=2, replicas=(1, 1), efa=True)
    decode = role.model_copy(update={"role": "decode"})
    longest = NAME_BUDGET - (2 * len("prefill") + 4)
    at = "headwater:serving.models[0].name"
    fits, cut = "m" * min(longest, 24), "m" * (longest + 1)
    assert at not in faults(make_model(fits, (role, decode)))
    long = make_model("qwen", (role, decode)).model_copy(update={"name": cut})
    made = plan(make_model("qwen", (role, decode)))
    found = {f.path: f for f in dynamo_faults(made.settings, (long,))}
    assert at in found


def test_servers_that_talk_over_efa_share_a_zone():
    model = disaggregated_model("h200")
    made = plan(model)
    pools = [pool.model_copy(update={"zones": ("us-east-2a", "us-east-2b")}) for pool in made.pools]
    found = {f.path: f for f in dynamo_faults(made.settings, made.models, pools)}
    assert "us-east-2a, us-east-2b" in found["headwater:serving.models[0]"].text()
    assert "headwater:serving.models[0]" not in faults(model, pools=made.pools)


def test_prefill_and_decode_without_efa_are_refused():
    roles = tuple(make_role(role, parallel=Parallel(tensor=8), replicas=(1, 1)) for role in ("prefill", "decode"))
    refused("headwater:serving.models[0].disaggregate", "TCP", models=(make_model("kimi", roles),))


def test_decode_with_fewer_tensor_ranks_than_prefill_is_refused_but_for_latent_attention():
    roles = (
        make_role("prefill", parallel=Parallel(tensor=8), replicas=(1, 1), efa=True),
        make_role("decode", parallel=Parallel(tensor=4), replicas=(1, 1), efa=True),
    )
    at = "headwater:serving.models[0].disaggregate"
    refused(at, "TP 4", "TP 8", models=(make_model("kimi", roles),))
    assert at not in faults(make_model("kimi", roles, latent_attention=True))


def test_several_wide_replicas_of_a_disaggregated_role_are_refused():
    wide = Parallel(tensor=8, pipeline=2)
    roles = tuple(make_role(r, parallel=wide, nodes=2, replicas=(1, 2), efa=True) for r in ("prefill", "decode"))
    refused("headwater:serving.models[0].disaggregate", "spans 2 nodes", models=(make_model("glm", roles),))


# -- models


def test_nothing_wakes_a_model_from_zero():
    model = make_model("qwen", (make_role(replicas=(0, 2)),))
    refused("headwater:serving.models[0].replicas.min", "no request brings it back", models=(model,))


@pytest.mark.parametrize(("flag", "key"), [("--tool-call-parser", "toolCalling"), ("--reasoning-parser", "reasoning")])
def test_a_parser_dynamo_does_not_have_is_refused(flag, key):
    role = make_role()
    args = (*role.engine_args, EngineArg(flag=flag, value="nobody_knows", origin="model", why="sample"))
    model = make_model("qwen", (role.model_copy(update={"engine_args": args}),))
    refused(f"headwater:serving.models[0].{key}", "nobody_knows", models=(model,))


def test_scaling_needs_something_that_measures():
    off = {"headwater:observability": {"enabled": False}}
    assert "headwater:observability.enabled" in faults(config=off)
    assert "headwater:observability.enabled" not in faults(FIXED, config=off)


# -- entry


def test_the_picker_routes_by_kv_cache_only():
    refused("headwater:dynamo.router.mode", "KV cache only", gateway="picker", router="random")


def test_the_picker_cannot_front_a_group_of_nodes():
    refused("headwater:serving.models[0]", "gatewayApi", models=(multi_node_model(),), gateway="picker")


@pytest.mark.parametrize("router", [{"affinity": {"ttl": "10m"}}, {"overload": {"decodeShare": 0.9}}])
def test_what_only_frontends_do_is_refused_with_the_picker(router):
    (key,) = router
    refused(f"headwater:dynamo.router.{key}", "frontends", gateway="picker", router={"mode": "kv", **router})


def test_frontend_settings_are_refused_with_the_picker():
    refused("headwater:dynamo.frontend", "picker", gateway="picker", frontend={"replicas": 4})


# -- what would be ignored


def test_settings_nothing_would_read_are_refused():
    refused("headwater:dynamo.privileged", "EFA", privileged=False)
    refused(
        "headwater:dynamo.router.cost.hostCredit", "host memory", router={"mode": "kv", "cost": {"hostCredit": 0.5}}
    )
    refused("headwater:dynamo.compilationCache", "efs", compilationCache=True)


# -- planner


def test_a_planner_with_nothing_to_plan_is_refused():
    refused("headwater:dynamo.planner", "replicas", models=(FIXED,), planner={})


def test_the_sla_target_needs_both_objectives():
    refused("headwater:serving.models[0].slo", "ttft", "tpot", planner={"target": "sla"})
    assert "headwater:serving.models[0].slo" not in faults(slo=True, planner={"target": "sla"})
    assert "headwater:serving.models[0].slo" not in faults(planner={"target": "throughput"})


@pytest.mark.parametrize("key", ["no_operation", "max_gpu_budgets", "adjustment_interval"])
def test_a_field_the_planner_would_ignore_is_refused(key):
    refused(f"headwater:dynamo.planner.config.{key}", "ignore", slo=True, planner={"config": {key: 1}})


def test_a_field_with_a_setting_of_its_own_is_refused():
    at = "headwater:dynamo.planner.config.max_gpu_budget"
    refused(at, "headwater:dynamo.planner.maxGpus", slo=True, planner={"config": {"max_gpu_budget": 8}})


@pytest.mark.parametrize(("key", "value"), [("kalman_min_points", "five"), ("load_predictor_log1p", 1)])
def test_a_planner_field_of_another_kind_is_refused(key, value):
    at = f"headwater:dynamo.planner.config.{key}"
    assert at in faults(slo=True, planner={"config": {key: value}})


@given(st.integers(min_value=1, max_value=200))
def test_a_gpu_budget_is_taken_exactly_between_least_and_most(budget):
    model = elastic_disaggregated()
    least, most = least_gpus(model), most_gpus(model)
    found = faults(model, slo=True, planner={"maxGpus": budget})
    assert ("headwater:dynamo.planner.maxGpus" not in found) == (least <= budget <= most)

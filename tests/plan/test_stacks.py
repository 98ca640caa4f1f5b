"""The shipped stacks, and that the serving stack never decides about GPUs."""

import pytest

from headwater.catalog.calibration import Calibration
from headwater.catalog.releases import engines
from headwater.plan import build_plan
from headwater.settings import load_stack, settings_from_config
from tests.conftest import ROOT
from tests.plan.plans import DAY, glm, kimi, llama, only, plan, qwen, shipped


def test_dev_is_one_gpu_on_a_one_gpu_node():
    found = shipped("dev")
    role = only(found)
    assert (role.gpus, role.instance, found.cost.complete) == (1, "p5.4xlarge", True)
    assert [p.nodes_now for p in found.pools] == [1]


def test_staging_shares_one_node():
    found = shipped("staging")
    assert [only(m).parallel.text for m in found.models] == ["TP 4", "1 GPU"]
    assert [(p.name, p.nodes_now) for p in found.pools] == [("h100-part", 1)]
    assert found.stack == "dynamo"


def test_prod_runs_kimi_on_a_node_of_h200_and_glm_on_two_of_h100():
    found = shipped("prod")
    kimi_plan, glm_plan = found.models
    assert (only(kimi_plan).parallel.text, only(kimi_plan).nodes) == ("TP 8", 1)
    assert (only(glm_plan).parallel.text, only(glm_plan).nodes) == ("TP 8 × PP 2", 2)
    assert all(only(m).memory.verdict == "fits" for m in found.models)
    assert found.pool("h200-node").reserved_nodes == 1


@pytest.mark.parametrize("models", [[qwen()], [llama(), qwen()], [kimi(), glm()], [glm(kvCache={"offload": "auto"})]])
def test_both_stacks_get_the_same_gpus_pools_and_arguments(models):
    one, other = plan(*models, stack="llm-d"), plan(*models, stack="dynamo")
    assert one.models == other.models
    assert one.pools == other.pools
    assert one.cost == other.cost
    assert (one.vllm, other.vllm) == (engines()["llm-d"].vllm, engines()["dynamo"].vllm)


def test_auto_takes_llm_d_for_a_small_fleet_and_says_why():
    found = plan(qwen(), stack="auto")
    assert found.stack == "llm-d"
    assert "1 GPUs" in found.stack_why or "1 GPU" in found.stack_why


def test_auto_takes_dynamo_for_a_large_fleet_and_says_why():
    found = plan(kimi(replicas={"min": 1, "max": 4}), stack="auto")
    assert found.stack == "dynamo"
    assert "32 GPUs" in found.stack_why


def test_an_asked_stack_needs_no_reason():
    assert plan(qwen(), stack="dynamo").stack_why == ""


def test_the_plan_never_looks_at_the_clock():
    file = ROOT / "stacks" / "Pulumi.prod.yaml"
    assert build_plan(load_stack(file)) == build_plan(load_stack(file), today=DAY)


def test_an_existing_network_gives_its_own_zones():
    config = {
        "aws:region": "ap-southeast-1",
        "headwater:network": {
            "vpc": "vpc-0abc",
            "subnets": {"system": ["subnet-1", "subnet-2"], "gpu": {"ap-southeast-1a": "subnet-3"}},
        },
        "headwater:serving": {"stack": "llm-d", "models": [qwen()]},
    }
    found = build_plan(settings_from_config(config, "test"), today=DAY)
    assert found.zones == ("ap-southeast-1a",)
    assert not found.cost.complete


def test_exposure_is_warned_of():
    gateway = {
        "exposure": "public",
        "certificate": "arn:aws:acm:us-east-2:123456789012:certificate/abc",
        "allow": ["203.0.113.0/24"],
        "host": "llm.example.com",
    }
    found = plan(qwen(trustRemoteCode=True), gateway=gateway)
    assert any("answers the internet" in w for w in found.warnings)
    assert any("trustRemoteCode" in w for w in found.warnings)


BOTH = {
    "llmd": {"gateway": "agentgateway", "path": "precise", "flowControl": {"enabled": True}},
    "dynamo": {"version": "1.4.0", "router": "round-robin", "kvTiers": ["gpu", "remote"]},
}
"""Settings for both stacks; Dynamo's would be refused where it serves."""
UNUSED_DYNAMO = (
    "headwater:dynamo.version, headwater:dynamo.router and headwater:dynamo.kvTiers are not used: "
    "llm-d serves, and only dynamo reads them; system nodes keep room for either stack"
)


def unused(found):
    return [w for w in found.warnings if "not used" in w]


@pytest.mark.parametrize("stack", ["llm-d", "auto"])
def test_settings_of_dynamo_wait_while_llm_d_serves_and_are_named(stack):
    assert unused(plan(qwen(), stack=stack, **BOTH)) == [UNUSED_DYNAMO]


def test_settings_of_llm_d_wait_while_dynamo_serves_but_the_gateway_is_for_both():
    said = (
        "headwater:llmd.path and headwater:llmd.flowControl are not used: dynamo serves, and only llm-d reads them"
        "; system nodes keep room for either stack"
    )
    assert unused(plan(qwen(), llama(), stack="dynamo", llmd=BOTH["llmd"])) == [said]


def test_a_gateway_is_not_used_where_dynamo_has_none():
    (said,) = unused(plan(qwen(), stack="dynamo", llmd={"gateway": "istio"}))
    assert said.startswith("headwater:llmd.gateway is not used: ")
    assert unused(plan(qwen(), stack="dynamo", llmd={"gateway": "istio"}, dynamo={"gateway": "gatewayApi"})) == []


@pytest.mark.parametrize("stack", ["llm-d", "dynamo"])
def test_sections_that_say_nothing_are_not_spoken_of(stack):
    assert unused(plan(qwen(), stack=stack, llmd={}, dynamo={})) == []


def test_a_calibration_of_the_stacks_engine_narrows_the_band():
    entry = Calibration(
        version=engines()["llm-d"].vllm,
        gpu="h100",
        visible_gib=79.19,
        non_torch=0.2,
        sampler_q=3.5,
        graph_estimate=1.0,
        graph_actual=0.9,
    )
    config = {
        "aws:region": "us-east-2",
        "headwater:serving": {"stack": "llm-d", "models": [qwen(calibration="mine")]},
    }
    taught = build_plan(settings_from_config(config, "test"), today=DAY, calibrations={"mine": entry})
    m, prior = only(taught).memory, only(plan(qwen())).memory
    assert m.calibrated
    assert not prior.calibrated
    assert m.kv.high - m.kv.low < prior.kv.high - prior.kv.low
    assert m.non_torch.expected == pytest.approx(0.2)

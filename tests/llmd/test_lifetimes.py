"""What is made after what, by which provider, and what is left to others."""

from __future__ import annotations

import pytest

from tests.factories import make_model, make_plan, make_role, multi_node_model
from tests.llmd.cases import ALL, CASES, one_server
from tests.llmd.world import rendered, world


def names(options):
    return {r._name for r in options.depends_on or []}


@pytest.mark.parametrize("case", sorted(ALL))
def test_every_kubernetes_object_goes_to_our_cluster_and_has_a_parent(case):
    made = rendered(case, "h100")
    for resource in made.resources:
        options = made.options[resource.urn]
        assert options.parent is not None
        assert options.provider is not None or options.providers


def test_replicas_of_a_scaled_workload_are_left_to_the_autoscaler():
    made = world(make_plan(models=(one_server(),)))
    assert made.options[made.one("Deployment").urn].ignore_changes == ["spec.replicas"]
    group = multi_node_model().roles[0].model_copy(update={"replicas_max": 2})
    made = world(make_plan(models=(make_model("glm", (group,)),)))
    assert made.options[made.one("LeaderWorkerSet").urn].ignore_changes == ["spec.replicas"]


def test_replicas_of_a_fixed_workload_are_ours():
    made = world(make_plan(models=(make_model(roles=(make_role(replicas=(2, 2)),)),)))
    assert not made.options[made.one("Deployment").urn].ignore_changes


def test_a_route_waits_for_the_gateway_and_the_pool():
    made = world(make_plan(models=(one_server(),)))
    assert {"serving-gateway-gateway", "serving-qwen-router"} <= names(made.options[made.one("HTTPRoute").urn])


def test_the_gateway_waits_for_its_class_and_that_for_the_controllers():
    made = world(make_plan(models=(one_server(),)))
    assert {"serving-gateway-class", "serving-gateway-proxy"} <= names(made.options[made.one("Gateway").urn])
    controllers = {"serving-gateway-gateway-helm", "serving-gateway-ai-gateway-helm"}
    assert controllers <= names(made.options[made.one("GatewayClass").urn])


def test_a_scaler_goes_before_what_it_scales():
    made = world(make_plan(models=(one_server(),)))
    assert {"serving-qwen-serve", "serving-qwen-router"} <= names(made.options[made.one("ScaledObject").urn])


def test_objectives_wait_for_their_definitions_and_pools():
    made = rendered("flow-control", "h100")
    objective = made.all("InferenceObjective")[0]
    assert "serving-qwen-router" in names(made.options[objective.urn])
    router = next(r for r in made.all("Release") if r.inputs["name"] == "qwen")
    assert "serving-definitions" in names(made.options[router.urn])
    bundle = next(r for r in made.resources if r.kind == "ConfigFile")
    assert bundle.inputs["file"].endswith("/manifests.yaml")


@pytest.mark.parametrize("case", sorted(CASES))
def test_without_objectives_the_routers_own_kinds_are_not_needed(case):
    assert not [r for r in rendered(case, "h200").resources if r.kind == "ConfigFile"]


def test_logical_names_are_stable_and_readable():
    made = world(make_plan(models=(one_server(),)))
    assert sorted(r.name for r in made.resources) == [
        "serving-alerts",
        "serving-dashboard",
        "serving-default-deny",
        "serving-gateway-ai-gateway-crds-helm",
        "serving-gateway-ai-gateway-helm",
        "serving-gateway-class",
        "serving-gateway-client-policy",
        "serving-gateway-envoy-ai-gateway-system",
        "serving-gateway-envoy-gateway-system",
        "serving-gateway-gateway",
        "serving-gateway-gateway-crds-helm",
        "serving-gateway-gateway-helm",
        "serving-gateway-monitor",
        "serving-gateway-proxy",
        "serving-identity-account",
        "serving-qwen-monitor",
        "serving-qwen-picker-flows",
        "serving-qwen-route",
        "serving-qwen-router",
        "serving-qwen-serve",
        "serving-qwen-serve-budget",
        "serving-qwen-serve-scaling",
        "serving-qwen-servers-flows",
    ]

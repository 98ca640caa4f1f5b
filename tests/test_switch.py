"""The switch between serving stacks, and the names that state depends on."""

from __future__ import annotations

import pytest

from headwater.plan import build_plan
from headwater.settings import Settings, load_stack
from tests.conftest import ROOT
from tests.stacks import SERVING, STACKS, graph, names, stack_file, varied

pytestmark = pytest.mark.graph
each = pytest.mark.parametrize("stack", STACKS)
both = pytest.mark.parametrize("serving", SERVING)


def platform(stack, serving):
    """Every resource under the platform component, by URN, with all that was registered of it."""
    found = graph(stack, serving)
    roots = [r.urn for r in found.resources if r.type == "headwater:platform:Platform"]
    assert len(roots) == 1
    parents = {r.urn: r.parent for r in found.resources}

    def inside(urn):
        while urn:
            if urn == roots[0]:
                return True
            urn = parents.get(urn, "")
        return False

    return {r.urn: r.to_json() for r in found.resources if inside(r.urn)}


def objects(found):
    """URN of every Kubernetes object outside the platform, by API version, kind, namespace and name."""
    made = {}
    for r in found.resources:
        inputs = r.to_json().get("inputs", {})
        metadata = inputs.get("metadata") or {}
        name = metadata.get("name") or inputs.get("name")
        if r.custom and name and r.type.startswith("kubernetes:") and "headwater:platform:" not in r.urn:
            made[r.type, str(metadata.get("namespace") or inputs.get("namespace")), name] = r.urn
    return made


@each
def test_switching_the_serving_stack_touches_no_platform_resource(stack):
    llmd, dynamo = platform(stack, "llm-d"), platform(stack, "dynamo")
    assert len(llmd) > 60
    assert llmd == dynamo


WAITING = {
    "dynamo": ("llmd", {
        "mode": "standalone", "path": "precise", "paths": {"kimi": "slo"}, "decider": 512, "streaming": True,
        "prefillThroughput": {"kimi": 9000.0}, "alphaPlugins": True,
        "flowControl": {"enabled": True, "objectives": {"batch": -10}, "ttl": "5s"},
        "autoscaling": {"by": "hpa"}, "picker": {"cpu": 7}, "kvTier": {"engine": "lmcache"}, "isolate": False,
    }),
    "llm-d": ("dynamo", {
        "version": "1.6.2", "upgradeFrom": "1.6.0", "router": "random", "frontend": {"replicas": 5},
        "gateway": "picker", "planner": {"target": "throughput"}, "kvTiers": ["gpu"], "scheduling": "lws",
        "queue": {"maxGpus": 99}, "compilationCache": True, "isolate": False, "privileged": False,
    }),
}  # fmt: skip
"""Every setting that waits while a stack serves, at another value than its default."""


@both
def test_settings_of_the_stack_that_waits_reach_no_resource(serving):
    section, settings = WAITING[serving]
    model = Settings.model_fields[section].annotation
    assert {field.alias or name for name, field in model.model_fields.items()} - {"gateway"} == {*settings} - {
        "gateway"
    }
    waits = varied("prod", serving, {f"headwater:{section}": settings})
    assert _but_system_nodes(waits) == _but_system_nodes(graph("prod", serving))


def _but_system_nodes(found):
    """All resources but the system node group, which has room for the pods of either stack."""
    return [r.to_json() for r in found.resources if r.type != "aws:eks/nodeGroup:NodeGroup"]


@each
def test_switching_the_serving_stack_replaces_every_serving_resource_kind(stack):
    llmd, dynamo = names(graph(stack, "llm-d")), names(graph(stack, "dynamo"))
    assert not any("DynamoGraphDeployment" in name for name in llmd)
    assert any("DynamoGraphDeployment" in name for name in dynamo)
    routers = {name for name in llmd if name.endswith("-router")}
    assert routers
    assert not routers & {*dynamo}


def made_twice(llmd, dynamo):
    """Objects that both graphs have under one Kubernetes name, but as two resources, with both URNs."""
    one, other = objects(llmd), objects(dynamo)
    assert len(one.keys() & other.keys()) >= 3  # the service account, the default policy, a budget
    return {key: (urn, other[key]) for key, urn in one.items() if other.get(key, urn) != urn}


@each
def test_an_object_that_both_serving_stacks_make_is_one_resource(stack):
    """The engine makes the new before it deletes the old: two resources of one Kubernetes name would collide."""
    assert made_twice(*(graph(stack, serving) for serving in SERVING)) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"headwater:llmd": {"autoscaling": {"by": "hpa"}}, "headwater:weights": {"prepull": True}},
        {"headwater:llmd": {"mode": "standalone"}, "headwater:dynamo": {"gateway": "frontend"}},
        {"headwater:llmd": {"gateway": "agentgateway"}, "headwater:gateway": {"exposure": "internal"}},
        {"headwater:dynamo": {"gateway": "picker", "scheduling": "grove"}},
    ],
    ids=["hpa, prepull", "standalone", "agentgateway", "picker"],
)
def test_settings_leave_no_object_made_twice(change):
    assert made_twice(*(varied("staging", serving, change) for serving in SERVING)) == {}


def services_of_llmd(found):
    """Services that exist under llm-d: ours, the router chart's, and the ones LeaderWorkerSets bring."""
    own = {name for (kind, _, name) in objects(found) if kind.endswith((":Service", ":LeaderWorkerSet"))}
    routers = {r.inputs["name"] for r in found.resources if r.name.endswith("-router")}
    return own | {f"{name}-epp" for name in routers}


@pytest.mark.parametrize(
    ("stack", "gateway"), [("dev", "picker"), ("staging", "picker"), ("staging", "auto"), ("prod", "auto")]
)
def test_services_of_dynamos_operator_have_names_of_their_own(stack, gateway):
    """The operator makes `<graph>-<component>` while llm-d's chart still holds its own: neither may be taken over."""
    change = {"headwater:dynamo": {"gateway": gateway}}
    found = varied(stack, "dynamo", change)
    graphs = [r.inputs for r in found.resources if r.type.endswith(":DynamoGraphDeployment")]
    made = {f"{g['metadata']['name']}-{part['name']}" for g in graphs for part in g["spec"]["components"]}
    assert len(made) > len(graphs) > 0
    assert made & services_of_llmd(varied(stack, "llm-d", change)) == set()


@each
def test_switching_the_serving_stack_keeps_gpus_and_engine_arguments(stack):
    llmd, dynamo = (build_plan(load_stack(stack_file(stack, serving))) for serving in SERVING)
    assert llmd.pools == dynamo.pools
    assert llmd.cost == dynamo.cost
    for one, other in zip(llmd.models, dynamo.models, strict=True):
        assert one.gpus == other.gpus
        assert one.dollars_per_hour == other.dollars_per_hour
        for role, twin in zip(one.roles, other.roles, strict=True):
            assert role.parallel == twin.parallel
            assert role.pod == twin.pod
            assert [a.words for a in role.engine_args] == [a.words for a in twin.engine_args]


@each
@both
def test_logical_names_change_only_on_purpose(stack, serving):
    golden = (ROOT / "tests" / "golden" / f"names-{stack}-{serving}.txt").read_text(encoding="utf-8").splitlines()
    assert names(graph(stack, serving)) == golden, "a rename replaces resources: give it an alias, then `make golden`"


@each
@both
def test_every_resource_has_a_parent_inside_the_program(stack, serving):
    orphans = [
        r.urn
        for r in graph(stack, serving).resources
        if not r.parent and r.type != "pulumi:pulumi:Stack" and not r.is_provider
    ]
    assert orphans == []


@each
@both
def test_every_component_registers_its_type_under_headwater(stack, serving):
    own = {r.type for r in graph(stack, serving).resources if not r.custom and not r.is_provider and not r.remote}
    known = ("headwater:", "pulumi:pulumi:Stack", "eks:index:", "kubernetes:yaml/v2:")
    assert [t for t in sorted(own) if not t.startswith(known)] == []

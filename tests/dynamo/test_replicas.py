"""Who sets replicas: the stack file, KEDA or the planner; never two of them."""

from __future__ import annotations

import pytest

from components.dynamo.graph import graph, replicas_owned_elsewhere
from components.dynamo.upgrades import check
from headwater.plan import Parallel
from headwater.refusal import Refusal
from tests.dynamo.shapes import elastic_disaggregated, plan, with_slo, world
from tests.factories import disaggregated_model, make_model, make_role
from tests.llmd.cases import one_server


def owners(made):
    return replicas_owned_elsewhere(graph(made, made.models[0], "models"))


def one_side_grows():
    roles = tuple(
        make_role(role, accelerator="h200", parallel=Parallel(tensor=8), replicas=(1, most), efa=True)
        for role, most in (("prefill", 3), ("decode", 1))
    )
    return make_model("kimi", roles)


def test_without_room_to_grow_replicas_are_the_stack_files():
    made = plan(disaggregated_model())
    assert owners(made) == []
    assert world(made).all("ScaledObject") == []


def test_keda_owns_exactly_the_roles_that_may_grow():
    made = plan(one_side_grows())
    assert owners(made) == ["spec.components[1].replicas"]
    (scaler,) = world(made).all("ScaledObject")
    assert scaler.spec["scaleTargetRef"]["name"] == "kimi-prefill"
    assert (scaler.spec["minReplicaCount"], scaler.spec["maxReplicaCount"]) == (1, 3)


def test_the_planner_owns_every_worker_of_its_model_and_keda_none():
    made = with_slo(plan(one_side_grows(), planner={}))
    assert owners(made) == ["spec.components[1].replicas", "spec.components[2].replicas"]
    assert world(made).all("ScaledObject") == []


def test_what_something_else_sets_is_ignored_on_update():
    made = plan(elastic_disaggregated())
    found = world(made)
    options = found.options[found.one("DynamoGraphDeployment").urn]
    assert options.ignore_changes == ["spec.components[1].replicas", "spec.components[2].replicas"]
    assert 'metadata.annotations["headwater/shape"]' in options.replace_on_changes
    assert options.delete_before_replace is True


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (plan(one_server()), plan(one_server(), scheduling="grove")),
        (plan(one_server()), plan(one_server(), gateway="picker")),
        (plan(elastic_disaggregated()), with_slo(plan(elastic_disaggregated(), planner={}))),
        (plan(one_server(name="kimi")), plan(disaggregated_model())),
    ],
    ids=["orchestrator", "picker", "planner", "apart"],
)
def test_what_cannot_change_in_place_changes_the_shape(before, after):
    shapes = [graph(made, made.models[0], "models").annotations["headwater/shape"] for made in (before, after)]
    assert shapes[0] != shapes[1]


@pytest.mark.parametrize("more", [{"router": "random"}, {"frontend": {"replicas": 5}}])
def test_what_can_change_in_place_keeps_the_shape(more):
    shapes = {graph(made, made.models[0], "models").annotations["headwater/shape"]
              for made in (plan(one_server()), plan(one_server(), **more))}  # fmt: skip
    assert len(shapes) == 1


class Update:
    def __init__(self, old, new):
        self.old_inputs, self.new_inputs = old, new


@pytest.mark.parametrize(("old", "new"), [("1.5.1", "1.6.1"), ("1.6.0", "1.6.2"), ("1.6.1", "1.6.1")])
def test_an_update_within_a_line_or_to_the_next_one_goes_on(old, new):
    check(Update({"version": old}, {"version": new}))


@pytest.mark.parametrize(("old", "new"), [("1.4.2", "1.6.1"), ("1.7.0", "1.6.1"), ("0.9.0", "1.6.1")])
def test_an_update_that_skips_a_line_or_goes_back_is_stopped(old, new):
    with pytest.raises(Refusal, match=r"headwater:dynamo\.version"):
        check(Update({"version": old}, {"version": new}))


def test_the_hook_is_bound_to_the_operators_release():
    found = world(plan(one_server()))
    release = next(r for r in found.all("Release") if r.inputs["name"] == "dynamo-platform")
    assert found.options[release.urn].hooks is not None
    assert len(found.options[release.urn].hooks.before_update) == 1

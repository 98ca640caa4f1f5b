"""From a pool of the plan to its node class and node pools."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.platform.efa import static_interfaces
from components.platform.gpu_specs import node_class_spec, node_pool_spec, warm_pool_spec
from headwater.catalog.instances import load_instances
from headwater.plan.model import Pool
from tests.factories import make_model, make_pools, make_role, multi_node_model

CLASS = {
    "ami": "al2023@v1",
    "profile": {"role": "nodes"},
    "subnets": ["subnet-1"],
    "security_group": "sg-1",
    "tags": {"a": "b"},
    "placement_group": None,
}


def pool(**changes: object) -> Pool:
    return make_pools((multi_node_model(),))[0].model_copy(update=changes)


@given(st.integers(1, 64), st.data())
def test_listed_interfaces_hold_one_ordinary_and_at_most_one_efa_a_card(cards, data):
    efa = data.draw(st.integers(0, cards))
    found = static_interfaces(cards, efa)
    pairs = [(i["networkCardIndex"], i["deviceIndex"]) for i in found]
    assert len(set(pairs)) == len(pairs) == efa + 1
    assert found[0] == {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    only = [i["networkCardIndex"] for i in found if i["interfaceType"] == "efa-only"]
    assert len(only) == len(set(only)) == efa
    assert all(0 <= card < cards for card in only)


def test_more_efa_interfaces_than_cards_are_refused():
    with pytest.raises(ValueError, match="33 EFA interfaces do not fit on 32"):
        static_interfaces(32, 33)


@pytest.mark.parametrize("name", sorted(load_instances()))
def test_every_type_of_the_catalogue_has_a_card_for_each_of_its_efa_interfaces(name):
    facts = load_instances()[name]
    assert len(static_interfaces(facts.cards, facts.efa)) == facts.efa + 1


def test_a_pool_without_traffic_between_nodes_lists_no_interfaces():
    quiet = make_pools((make_model(roles=(make_role(),)),))[0]
    assert "networkInterfaces" not in node_class_spec(quiet, **CLASS)


def test_the_placement_group_is_selected_only_where_there_is_one():
    assert "placementGroupSelector" not in node_class_spec(pool(), **CLASS)
    spec = node_class_spec(pool(), **{**CLASS, "placement_group": "close"})
    assert spec["placementGroupSelector"] == {"name": "close"}


def test_warm_nodes_are_a_static_pool_beside_the_one_that_grows():
    warm = pool(warm=1, gpu_limit=24)
    static, growing = warm_pool_spec(warm), node_pool_spec(warm)
    assert static is not None
    assert growing is not None
    assert static["replicas"] == 1
    assert static["limits"] == {"nodes": "2"}
    assert "weight" not in static
    assert growing["limits"] == {"nvidia.com/gpu": "16"}
    assert "replicas" not in growing
    assert static["template"] == growing["template"]


def test_warm_nodes_in_a_reservation_leave_no_room_for_a_surge():
    spec = warm_pool_spec(pool(warm=2, gpu_limit=24, buy=("reserved", "on-demand")))
    assert spec is not None
    assert spec["limits"] == {"nodes": "2"}


def test_a_pool_that_is_all_warm_has_no_growing_part():
    assert node_pool_spec(pool(warm=3, gpu_limit=24)) is None


def test_no_warm_nodes_no_static_pool():
    assert warm_pool_spec(pool()) is None


@given(st.integers(1, 16), st.integers(0, 16))
def test_warm_and_growing_together_never_pass_the_plans_limit(nodes, warm):
    warm = min(warm, nodes)
    some = pool(warm=warm, gpu_limit=nodes * 8)
    growing = node_pool_spec(some)
    assert warm * 8 + (int(growing["limits"]["nvidia.com/gpu"]) if growing else 0) == nodes * 8


def test_all_empty_nodes_may_go_at_once_and_no_busy_one_ever():
    budgets = node_pool_spec(pool())["disruption"]["budgets"]
    assert {b["reasons"][0]: b["nodes"] for b in budgets} == {"Empty": "100%", "Underutilized": "0", "Drifted": "1"}


def test_a_pool_none_of_whose_types_is_reserved_selects_no_reservation():
    assert "capacityReservationSelectorTerms" not in node_class_spec(pool(buy=("reserved", "on-demand")), **CLASS)

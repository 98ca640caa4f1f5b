"""Node pools, pods, zones, reservations, limits, cost: what is bought, and that pods fit on it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.catalog.instances import load_instances
from headwater.catalog.prices import on_demand
from headwater.plan import Plan
from tests.plan.plans import glm, kimi, llama, plan, qwen, shipped


def roles(found: Plan):
    return [(m, r, found.pool(r.pool)) for m in found.models for r in m.roles]


EVERYTHING = (
    glm(),
    kimi(replicas={"min": 1, "max": 2}),
    llama(replicas={"min": 1, "max": 2}),
    qwen(replicas={"min": 2, "max": 3}),
)


def test_whole_node_and_part_node_pods_never_share_a_pool():
    found = plan(*EVERYTHING)
    for pool in found.pools:
        kinds = {r.pod.whole_node for _, r, p in roles(found) if p.name == pool.name}
        assert kinds == {pool.whole_node}
    assert {p.name for p in found.pools} >= {"h100-node", "h100-part", "h200-node"}


@pytest.mark.parametrize("asked", EVERYTHING)
def test_pods_fill_a_node_and_leave_the_daemons_their_room(asked):
    for _, role, pool in roles(plan(asked)):
        for name in pool.instances:
            facts = load_instances()[name]
            count = facts.gpus // role.pod.gpus
            assert count * role.pod.cpu_millis <= facts.allocatable.cpu_millis - 4000
            assert count * role.pod.memory_mib <= facts.allocatable.memory_mib - 8192
            assert count * role.pod.ephemeral_gib * 2**30 <= facts.nvme_gb * 1e9 * 0.9
            assert role.pod.efa <= facts.efa
            assert role.pod.shared_memory_mib < role.pod.memory_mib


def test_pods_ask_for_efa_only_where_tensors_leave_the_node():
    assert [r.pod.efa for _, r, _ in roles(plan(glm()))] == [32]
    assert [r.pod.efa for _, r, _ in roles(plan(kimi()))] == [0]
    assert plan(kimi()).efa is False
    assert plan(glm()).multi_node is True


def test_disk_holds_the_weights_and_more():
    for model, role, _ in roles(plan(*EVERYTHING)):
        assert role.pod.ephemeral_gib > 1.1 * model.checkpoint_gib + 50


def test_groups_of_nodes_stay_in_one_zone_and_close_together():
    pool = plan(glm()).pool("h100-node")
    assert len(pool.zones) == 1
    assert pool.placement_group
    assert (pool.efa, pool.cards) == (32, 32)
    assert pool.instances == ("p5.48xlarge",)
    alone = plan(kimi()).pool("h200-node")
    assert len(alone.zones) == 3
    assert not alone.placement_group


def test_the_one_zone_is_the_reservations():
    capacity = {
        "h100": {
            "buy": ["reserved"],
            "instances": ["p5.48xlarge"],
            "zones": ["us-east-2a", "us-east-2b"],
            "reservations": [{"id": "cr-0abc", "zone": "us-east-2b", "instances": 2}],
        }
    }
    found = plan(glm(), capacity=capacity)
    pool = found.pool("h100-node")
    assert pool.zones == ("us-east-2b",)
    assert pool.reserved_nodes == 2
    assert found.cost.reserved == found.cost.now
    assert not any("often refused" in w for w in found.warnings)


def test_groups_on_demand_are_warned_of():
    assert any(w.startswith("glm: no reservation for 2 × p5.48xlarge") for w in plan(glm()).warnings)
    assert not any("reservation" in w for w in plan(kimi()).warnings)


def test_a_reservation_is_used_once():
    capacity = {
        "h100": {
            "buy": ["reserved", "onDemand"],
            "instances": ["p5.48xlarge"],
            "reservations": [{"id": "cr-0abc", "zone": "us-east-2a", "instances": 2}],
        }
    }
    found = plan(glm(), llama(), capacity=capacity)
    assert sum(p.reserved_nodes for p in found.pools) == 2
    assert found.pool("h100-node").buy == ("reserved", "on-demand")


def test_a_reservation_beyond_the_need_pays_only_what_runs():
    capacity = {
        "h200": {
            "buy": ["reserved"],
            "instances": ["p5en.48xlarge"],
            "reservations": [{"id": "cr-0abc", "zone": "us-east-2a", "instances": 5}],
        }
    }
    assert plan(kimi(), capacity=capacity).pool("h200-node").reserved_nodes == 1


def test_what_may_only_be_reserved_runs_on_the_reserved_type():
    capacity = {
        "h100": {"buy": ["reserved"], "reservations": [{"id": "cr-0abc", "zone": "us-east-2a", "instances": 1}]}
    }
    pool = plan(qwen(), capacity=capacity).pools[0]
    assert pool.instances == ("p5.48xlarge",)
    assert pool.reservations
    assert pool.reserved_nodes == 1


def test_what_is_paid_for_already_is_taken_before_the_same_price_on_demand():
    reservations = [{"id": "cr-0abc", "zone": "us-east-2a", "instances": 1}]
    found = plan(qwen(), capacity={"h100": {"buy": ["reserved", "onDemand"], "reservations": reservations}})
    assert found.pools[0].instances == ("p5.48xlarge",)
    assert found.pools[0].reserved_nodes == 1


def test_a_reservation_nothing_runs_on_is_said_aloud():
    reservations = [{"id": "cr-0abc", "zone": "us-east-2a", "instances": 1}]
    found = plan(qwen(), capacity={"h200": {"buy": ["reserved"], "reservations": reservations}})
    assert any("cr-0abc (p5en.48xlarge) is paid for" in w for w in found.warnings)


def test_a_soon_ending_reservation_is_warned_of():
    capacity = {
        "h200": {
            "buy": ["reserved"],
            "reservations": [
                {"id": "cr-0abc", "kind": "block", "instances": 1, "zone": "us-east-2a", "ends": "2026-12-05T11:30:00Z"}
            ],
        }
    }
    assert any("cr-0abc ends 2026-12-05 11:30 UTC" in w for w in plan(kimi(), capacity=capacity).warnings)


def test_limits_are_whole_nodes_of_the_largest_fleet():
    for pool in plan(*EVERYTHING).pools:
        assert pool.gpu_limit == pool.nodes_max * pool.gpus_per_node
        assert pool.nodes_now <= pool.nodes_max
        assert pool.gpu_limit % pool.gpus_per_node == 0


def test_warm_nodes_raise_limit_and_cost():
    base = plan(kimi())
    warm = plan(kimi(), capacity={"h200": {"warm": 2}})
    assert warm.pool("h200-node").gpu_limit == 16
    assert warm.cost.now == pytest.approx(2 * base.cost.now)


def test_warm_nodes_are_kept_once_for_an_accelerator_even_of_one_gpu():
    assert plan(qwen(), capacity={"h100": {"warm": 2}}).pools[0].gpu_limit == 2
    both = plan(glm(), qwen(), capacity={"h100": {"warm": 3}})
    assert [p.warm for p in both.pools] == [3, 0]


def test_small_pods_fill_a_large_models_node_instead_of_buying_another():
    found = plan(llama(), qwen(replicas={"min": 1, "max": 4}))
    assert [p.name for p in found.pools] == ["h100-part"]
    assert found.pools[0].nodes_now == found.pools[0].nodes_max == 1
    assert {r.instance for _, r, _ in roles(found)} == {"p5.48xlarge"}


def test_small_pods_get_small_nodes_when_the_large_ones_are_full():
    found = plan(llama(replicas=2), qwen(replicas=2))
    assert [p.name for p in found.pools] == ["h100-part", "h100-single"]
    assert found.pool("h100-single").instances == ("p5.4xlarge",)
    assert found.pool("h100-part").nodes_now == 1
    assert found.pool("h100-single").nodes_now == 2


def test_idle_gpus_are_said_aloud():
    assert any("4 of 8 GPUs are paid for and idle" in w for w in plan(llama()).warnings)
    assert not any("idle" in w for w in plan(qwen()).warnings)


def test_cost_is_nodes_times_list_price():
    found = plan(*EVERYTHING)
    for pool in found.pools:
        assert pool.dollars_per_hour == on_demand("us-east-2", pool.instances[0])
    assert found.cost.now == pytest.approx(sum(p.nodes_now * p.dollars_per_hour for p in found.pools))
    assert found.cost.most == pytest.approx(sum(p.nodes_max * p.dollars_per_hour for p in found.pools))
    assert found.cost.complete
    assert found.cost.platform > 0


def test_a_missing_price_is_said_and_never_counted_as_zero_silently():
    found = plan(kimi(), capacity={"h200": {"instances": ["p5e.48xlarge"]}})
    assert found.pools[0].dollars_per_hour is None
    assert not found.cost.complete
    assert any("no price of p5e.48xlarge" in w for w in found.warnings)
    assert found.models[0].dollars_per_hour > 0


def test_unpriced_types_are_not_offered_where_priced_ones_exist():
    assert plan(kimi()).pools[0].instances == ("p5en.48xlarge",)


def test_unused_capacity_is_said():
    found = plan(qwen(), capacity={"h100": {}, "h200": {}})
    assert any(w.startswith("capacity.h200 is listed") for w in found.warnings)


def test_pools_without_traffic_between_nodes_may_buy_every_type_of_the_size():
    capacity = {"h200": {"instances": ["p5en.48xlarge", "p5e.48xlarge"]}}
    assert plan(kimi(), capacity=capacity).pools[0].instances[0] == "p5en.48xlarge"


def test_loading_a_terabyte_gets_more_time_than_a_small_model():
    slow, quick = (next(r for _, r, _ in roles(plan(asked))) for asked in (glm(), qwen()))
    assert slow.startup_seconds > quick.startup_seconds >= 900
    mirrored = plan(glm(), weights={"mirror": "s3://models/weights"})
    assert next(r for _, r, _ in roles(mirrored)).startup_seconds < slow.startup_seconds


SHAPES = st.lists(
    st.sampled_from(
        [qwen(), llama(), kimi(), glm(), qwen(replicas={"min": 2, "max": 5}), llama(replicas={"min": 1, "max": 3})]
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=40, deadline=None)
@given(SHAPES)
def test_every_pod_has_a_node_within_the_limits(models):
    named = [{**m, "name": f"m{i}"} for i, m in enumerate(models)]
    found = plan(*named)
    for pool in found.pools:
        mine = [r for _, r, p in roles(found) if p.name == pool.name]
        for nodes, most in ((pool.nodes_now, False), (pool.nodes_max, True)):
            pods = [r.pod.gpus for r in mine for _ in range((r.replicas_max if most else r.replicas_min) * r.nodes)]
            assert sum(pods) <= nodes * pool.gpus_per_node
            assert sum(pods) > (nodes - 1) * pool.gpus_per_node or pool.whole_node or nodes == 0
        assert set(pool.roles) == {f"{m.name}/{r.role}" for m, r, p in roles(found) if p.name == pool.name}
    assert found.cost.now <= found.cost.most


def test_a_plan_is_the_same_twice():
    assert shipped("prod").model_dump_json() == shipped("prod").model_dump_json()

"""Models of a whole node, of part of one, of a pair, of prefill and decode: none takes another's node."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from . import placement
from .engine.harness import Harness
from .life import Life, loads_of, plan_of
from .world.world import World

pytestmark = pytest.mark.judges

GLM = {"model": "glm-5", "precision": "fp8", "concurrency": 4}
QWEN = {"model": "qwen3-32b", "precision": "fp8", "context": 32768, "concurrency": 4}
MODELS = [
    {"name": "large", **GLM, "accelerator": "h200", "context": 32768},
    {"name": "small", **QWEN, "accelerator": "h200", "replicas": 2},
    {"name": "pair", **GLM, "accelerator": "h100", "context": 65536},
    {"name": "tiny", **QWEN, "accelerator": "h100"},
    {"name": "split", **QWEN, "accelerator": "h200", "disaggregate": {"prefill": 1, "decode": 1}},
]


@pytest.fixture(scope="module")
def life(
    make_world: Callable[..., World],
    make_harness: Callable[..., Harness],
    stack_configs: dict[str, dict[str, Any]],
) -> Life:
    config = copy.deepcopy(stack_configs["dev"])
    config["headwater:serving"] = {"stack": "llm-d", "models": MODELS}
    world = make_world(loads=loads_of(plan_of(config, "dev")))
    return Life(world, make_harness(world, {"dev": config}), "dev", config)


def test_each_model_gets_the_nodes_the_plan_bought_for_it(life: Life) -> None:
    assert len({pool.accelerator for pool in life.plan.pools}) == 2
    assert [pool.whole_node for pool in life.plan.pools].count(True) == 2
    life.up()
    life.settle_first()
    assert placement.nodes_against_plan(life.world, life.plan) == []
    assert placement.pods_against_plan(life.world, life.plan) == []
    assert placement.dollars_per_hour(life.world, life.plan.region) == pytest.approx(life.plan.cost.now)


def test_the_other_serving_stack_sits_on_the_same_nodes(life: Life) -> None:
    nodes = set(life.world.aws.launches())
    life.change_serving({"stack": "dynamo"})
    life.up()
    life.settle(placement.demanded_pods(life.plan))
    assert placement.pods_against_plan(life.world, life.plan) == []
    assert set(life.world.aws.launches()) == nodes

"""The judge of a destroy's order: what it says of a right one, and of each pair that changed places."""

import pytest

from .order import BEFORE, out_of_order

ROOT = "urn:pulumi:dev::headwater::headwater:"
GONE = [
    f"{ROOT}serving:ServingStack$headwater:serving:ServedModel$kubernetes:apps/v1:Deployment::serving-qwen-serve",
    f"{ROOT}platform:Platform$headwater:platform:GpuPools$kubernetes:karpenter.sh/v1:NodePool::platform-gpu-h100-pool",
    f"{ROOT}platform:Platform$headwater:platform:GpuPools$kubernetes:karpenter.k8s.aws/v1:EC2NodeClass::h100-class",
    f"{ROOT}platform:Platform$headwater:platform:Karpenter$kubernetes:helm.sh/v3:Release::platform-karpenter-chart",
    f"{ROOT}platform:Platform$headwater:platform:Karpenter$aws:sqs/queue:Queue::platform-karpenter-interruption-queue",
    f"{ROOT}platform:Platform$headwater:platform:SystemNodes$aws:eks/nodeGroup:NodeGroup::platform-system-group",
    f"{ROOT}platform:Platform$headwater:platform:Cluster$eks:index:Cluster$aws:eks/cluster:Cluster::platform-cluster",
]


def test_the_order_of_the_house_is_right() -> None:
    assert out_of_order(GONE) == []


@pytest.mark.parametrize(("first", "then"), [(0, 1), (1, 2), (2, 3), (3, 4), (3, 5), (5, 6)])
def test_a_pair_that_changed_places_is_seen(first: int, then: int) -> None:
    swapped = list(GONE)
    swapped[first], swapped[then] = swapped[then], swapped[first]
    assert f"{GONE[then]} went before {GONE[first]}" in out_of_order(swapped)


def test_a_kind_that_did_not_go_is_seen() -> None:
    for place in range(len(GONE)):
        assert out_of_order([urn for number, urn in enumerate(GONE) if number != place])


def test_every_pair_of_the_rule_is_tried() -> None:
    assert len(BEFORE) == 6

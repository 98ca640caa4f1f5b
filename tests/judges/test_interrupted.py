"""An `up` that is killed, throttled, refused or half done ends, when run again, where an undisturbed one ends.

The dev stack, three times in one world: undisturbed; killed ten times, each time further on, each time taken up again
as docs/interrupted.md says; struck by each kind of fault. What an undisturbed `up` leaves in the state, in the
simulated AWS and in the API server is what the other two must leave, no more and no less, and after every single kill
AWS must hold nothing that the state does not know.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .closed_network import REGION
from .ending import Ending, differences, ending, in_cloud, unknown_to
from .engine.faults import MESSAGES, Kind
from .engine.harness import Harness
from .trial import Trial
from .world.world import World

pytestmark = pytest.mark.judges

KILLS = 10
Object = dict[str, Any]


@pytest.fixture(scope="module")
def trial(
    make_world: Callable[..., World],
    make_harness: Callable[..., Harness],
    stack_configs: dict[str, dict[str, Any]],
) -> Trial:
    world = make_world(region=REGION)
    return Trial(make_harness(world, {"dev": copy.deepcopy(stack_configs["dev"])}), "dev")


@pytest.fixture(scope="module")
def undisturbed(trial: Trial) -> tuple[Ending, list[Object]]:
    """Where an undisturbed up ends, and what it created in which order; it is destroyed again."""
    trial.pulumi.up()
    order = [item for item in trial.pulumi.export() if in_cloud(item)]
    found = ending(trial.harness)
    trial.pulumi.run("destroy", "--yes", timeout=600)
    return found, order


@pytest.fixture(autouse=True)
def from_nothing(trial: Trial, undisturbed: object) -> Iterator[None]:
    """Each test starts with an empty state and an empty account."""
    assert trial.pulumi.export() == []
    assert set(trial.aws.kept) == set()
    yield
    trial.pulumi.run("destroy", "--yes", timeout=600)
    assert set(trial.aws.kept) == set(), "a destroy left what the state did not know"


def _still_to_come(order: list[Object], share: float, state: list[Object]) -> Object:
    """The first resource, from that share of an undisturbed up on, that the state does not have."""
    there = {item["urn"] for item in state}
    begin = int(len(order) * share)
    return next(item for item in [*order[begin:], *order[:begin]] if item["urn"] not in there)


def test_an_up_killed_at_ten_points_ends_where_an_undisturbed_one_ends(
    trial: Trial, undisturbed: tuple[Ending, list[Object]]
) -> None:
    expected, order = undisturbed
    struck = []
    for number in range(KILLS):
        target = _still_to_come(order, (number + 0.5) / KILLS, trial.pulumi.export())
        assert trial.kill(target, "after" if number % 2 else "before") == -9, f"{target['urn']} was not met"
        struck.append(target)
        trial.resume()
        deployment = trial.pulumi.deployment()
        assert len(deployment["resources"]) < len(expected["state"])
        assert not deployment.get("pending_operations")
        assert unknown_to(deployment["resources"], trial.aws) == set(), target["urn"]
    assert len({item["urn"] for item in struck}) == KILLS
    assert {item["type"].split(":")[0] for item in struck} == {"aws", "kubernetes"}
    assert trial.imported, "no kill struck between a creation and its record"
    assert trial.cleared, "no kill struck between an intention and its creation"
    trial.pulumi.up()
    trial.pulumi.up("--expect-no-changes")
    assert differences(expected, ending(trial.harness)) == []


FAULTS: tuple[tuple[str, Kind], ...] = (
    ("aws:ec2/subnet:Subnet", "slow"),
    ("aws:eks/cluster:Cluster", "throttled"),
    ("aws:eks/nodeGroup:NodeGroup", "refused"),
    ("aws:eks/addon:Addon", "after-create"),
)


def test_each_fault_stops_an_up_that_then_goes_on(trial: Trial, undisturbed: tuple[Ending, list[Object]]) -> None:
    expected, _ = undisturbed
    faults = trial.aws.faults
    for type_, kind in FAULTS:
        faults.plan(type_, kind)
        if kind == "slow":
            continue
        ended = trial.pulumi.up(check=False)
        assert (type_, kind) in faults.played
        assert ended.code != 0, kind
        assert MESSAGES[kind] in ended.text
    assert sorted(faults.played) == sorted(FAULTS)
    trial.pulumi.up()
    trial.pulumi.up("--expect-no-changes")
    assert differences(expected, ending(trial.harness)) == []
    assert unknown_to(trial.pulumi.export(), trial.aws) == set()

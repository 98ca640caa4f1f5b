"""An `up` that is killed, throttled, refused or half done ends, when run again, where an undisturbed one ends.

The dev stack, twice. The first is brought up undisturbed; what that leaves in the state, in the simulated AWS and in
the API server is the measure. Then somebody deletes resources by hand, and the ups that make them again meet each kind
of fault. The second is killed ten times on its way up, each time further on, in the middle of a creation: before it
exists, or when it exists and the engine does not know; each time it is taken up again as docs/interrupted.md says.
Both must end at the measure, no more and no less, and after every single kill and fault AWS must hold what the state
knows, and nothing else.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from .closed_network import REGION
from .ending import differences, ending, in_cloud, unknown_to
from .engine.faults import MESSAGES, Kind, When
from .engine.harness import Harness
from .trial import Trial
from .world.world import World

pytestmark = pytest.mark.judges

KILLS = 10
Object = dict[str, Any]


class Ground:
    """An environment after an undisturbed up.

    Attributes:
        ending: where it ended.
        order: what it created, in that order.
    """

    def __init__(self, trial: Trial):
        self.trial = trial
        trial.pulumi.up()
        self.order = [item for item in trial.pulumi.export() if in_cloud(item)]
        self.ending = ending(trial.harness)


@pytest.fixture(scope="module")
def make_trial(
    make_world: Callable[..., World],
    make_harness: Callable[..., Harness],
    stack_configs: dict[str, dict[str, Any]],
) -> Callable[[], Trial]:
    """The dev stack in a world of its own, nothing deployed yet."""

    def make() -> Trial:
        world = make_world(region=REGION)
        return Trial(make_harness(world, {"dev": copy.deepcopy(stack_configs["dev"])}), "dev")

    return make


@pytest.fixture(scope="module")
def ground(make_trial: Callable[[], Trial]) -> Ground:
    return Ground(make_trial())


FAULTS: tuple[tuple[str, Kind], ...] = (
    ("aws:ec2/vpcEndpoint:VpcEndpoint", "slow"),
    ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "throttled"),
    ("aws:eks/nodeGroup:NodeGroup", "refused"),
    ("aws:eks/addon:Addon", "after-create"),
)


def test_each_fault_stops_an_up_that_then_goes_on(ground: Ground) -> None:
    trial, faults = ground.trial, ground.trial.aws.faults
    for type_, kind in FAULTS:
        trial.aws.lose(type_)
        faults.plan(type_, kind)
        if kind == "slow":  # whoever waits for it goes on, so one of the next ups meets it
            continue
        ended = trial.pulumi.up("--refresh", check=False)
        assert (type_, kind) in faults.played
        assert ended.code != 0, kind
        assert MESSAGES[kind] in ended.text
        assert unknown_to(trial.pulumi.export(), trial.aws) == set()
        made_again = [item for item, _ in trial.aws.kept].count(type_) == ground.ending["kept"].count(type_)
        assert made_again == (kind == "after-create")
    trial.pulumi.up()
    assert sorted(faults.played) == sorted(FAULTS)
    trial.pulumi.up("--expect-no-changes")
    different = differences(ground.ending, ending(trial.harness))
    assert not different, "\n".join(different)


def _still_to_come(order: list[Object], share: float, state: list[Object]) -> Object:
    """The first resource, from that share of an undisturbed up on, that the state does not have."""
    there = {item["urn"] for item in state}
    begin = int(len(order) * share)
    return next(item for item in [*order[begin:], *order[:begin]] if item["urn"] not in there)


def test_an_up_killed_at_ten_points_ends_where_an_undisturbed_one_ends(
    ground: Ground, make_trial: Callable[[], Trial]
) -> None:
    ground.trial.close()
    trial, order = make_trial(), ground.order
    points: list[tuple[str, When]] = []
    for number in range(KILLS):
        target = _still_to_come(order, (number + 0.5) / KILLS, trial.pulumi.export())
        when: When = "after" if number % 2 or target["type"].startswith("kubernetes:") else "before"
        assert trial.kill(target, when) == -9, f"{target['urn']} was not met"
        points.append((target["urn"], when))
        trial.resume()
        deployment = trial.pulumi.deployment()
        assert len(deployment["resources"]) < len(ground.ending["state"])
        assert not deployment.get("pending_operations")
        assert unknown_to(deployment["resources"], trial.aws) == set(), target["urn"]
    assert len(set(points)) == KILLS
    assert {urn.split("::")[2].rsplit("$", 1)[-1].split(":")[0] for urn, _ in points} == {"aws", "kubernetes"}
    assert trial.imported, "no kill struck between a creation and its record"
    assert trial.cleared, "no kill struck between an intention and its creation"
    trial.pulumi.up()
    trial.pulumi.up("--expect-no-changes")
    different = differences(ground.ending, ending(trial.harness))
    assert not different, "\n".join(different)

"""An `up` that is killed, throttled, refused or half done ends, when run again, where an undisturbed one ends."""

import copy
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from .closed_network import REGION
from .engine.faults import Kind
from .engine.harness import Harness
from .stored import inventory
from .world.daemon import wait_until
from .world.world import World

pytestmark = pytest.mark.judges

KILLS = 10


class Trial:
    """The smallest stack in a world without Karpenter's nodes: what counts here is the engine's state."""

    def __init__(self, harness: Harness, stack: str):
        self.harness, self.pulumi = harness, harness.pulumi
        self.pulumi.init(stack)

    def state_file(self) -> dict[str, str]:
        """URN and id kind of every resource in the state."""
        return {item["urn"]: item["type"] for item in self.pulumi.export()}

    def done(self) -> int:
        """How many resources the state holds by now, read from the file as the CLI writes it."""
        files = [path for path in (self.harness.pulumi.state).rglob("*.json") if "stacks" in path.parts]
        for path in files:
            try:
                deployment = json.loads(path.read_text())["checkpoint"]["latest"]
            except (ValueError, KeyError, OSError):
                return 0
            return len((deployment or {}).get("resources") or [])
        return 0

    def kill_at(self, count: int) -> bool:
        """Start an ``up``, kill the CLI once the state holds ``count`` resources; False when it ended before."""
        process = self.pulumi.start("up", "--yes", "--skip-preview")
        try:
            while process.poll() is None:
                if self.done() >= count:
                    process.kill()
                    return True
                time.sleep(0.02)
            return False
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def trial(
    make_world: Callable[..., World],
    make_harness: Callable[..., Harness],
    stack_configs: dict[str, dict[str, Any]],
) -> Trial:
    world = make_world(region=REGION)
    return Trial(make_harness(world, {"dev": copy.deepcopy(stack_configs["dev"])}), "dev")


def test_an_up_killed_at_ten_points_ends_where_an_undisturbed_one_ends(trial: Trial) -> None:
    total = len(trial.pulumi.preview()["steps"])
    killed = 0
    for number in range(KILLS):
        killed += trial.kill_at(1 + number * (total - 2) // KILLS)
        trial.pulumi.run("cancel", "--yes", check=False)
    assert killed == KILLS
    trial.pulumi.up()
    trial.pulumi.up("--expect-no-changes")
    ended = trial.state_file()
    kinds = sorted(kind for kind, _ in trial.harness.aws.kept)
    objects = inventory(trial.harness.world.kube)
    trial.pulumi.run("destroy", "--yes", timeout=600)
    trial.pulumi.up()
    assert trial.state_file() == ended
    assert sorted(kind for kind, _ in trial.harness.aws.kept) == kinds
    assert inventory(trial.harness.world.kube) == objects


FAULTS: tuple[tuple[str, Kind], ...] = (
    ("aws:iam/role:Role", "throttled"),
    ("aws:eks/nodeGroup:NodeGroup", "refused"),
    ("aws:ec2/subnet:Subnet", "slow"),
    ("aws:eks/addon:Addon", "after-create"),
)


def test_each_fault_stops_an_up_that_then_goes_on(trial: Trial) -> None:
    provider = trial.harness.aws
    for type_, kind in FAULTS:
        provider.faults.plan(type_, kind)
        ended = trial.pulumi.up(check=False)
        assert (type_, kind) in provider.faults.played
        if kind == "slow":
            continue
        assert ended.code != 0, kind
        assert type_ in ended.text or type_.split("/")[0] in ended.text
    trial.pulumi.up()
    trial.pulumi.up("--expect-no-changes")
    numbers = [number for _, number in provider.kept]
    assert len(numbers) == len({(kind, number) for kind, number in provider.kept})
    made = [(kind, number) for verb, kind, number in provider.journal.entries if verb == "create"]
    deleted = [(kind, number) for verb, kind, number in provider.journal.entries if verb == "delete"]
    assert len(made) - len(deleted) == len(provider.kept)
    wait_until("nothing dies", lambda: trial.harness.world.plane.check() is None, seconds=1)

"""Rows of `make bench` that need the judges: our preview beside Pulumi's, an environment from nothing to serving."""

import copy
import importlib.util
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, shared_folder
from tools.build import binaries

from . import placement
from .closed_network import WORLD, list_prices, shipped, write_mirror
from .engine.harness import Harness
from .life import Life, loads_of, plan_of
from .world.world import World


def missing() -> str | None:
    """Why these rows are left out, or None."""
    if importlib.util.find_spec("moto") is None:
        return "the judges are not set up: `make tools test-judges`"
    try:
        binaries(WORLD)
    except FileNotFoundError as why:
        return str(why)
    return None if shared_folder() else "no reference data: set HEADWATER_SHARED"


@contextmanager
def lives(stack: str) -> Iterator[Life]:
    """A world with nothing in it yet, and the shipped stack to bring up there."""
    shared = shared_folder()
    assert shared is not None
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        folder = Path(name)
        config: dict[str, Any] = copy.deepcopy(shipped(ROOT, write_mirror(folder / "mirror", shared))[stack])
        loads, region = loads_of(plan_of(config, stack)), config["aws:region"]
        world = World(binaries(WORLD), folder, root=ROOT, region=region, prices=list_prices(), loads=loads)
        harness = Harness(world, ROOT, folder / "engine", {stack: config})
        try:
            yield Life(world, harness, stack, config)
        finally:
            harness.close()
            world.close()


def pulumi_previews(life: Life, runs: int) -> list[float]:
    """Wall seconds of `pulumi preview` on an environment that does not exist yet, after one warm-up."""
    life.pulumi.preview()
    return [life.pulumi.run("preview").seconds for _ in range(runs)]


def to_the_last_pod(life: Life) -> tuple[float, float]:
    """Seconds of `pulumi up`, and from its start until every pod of a model runs."""
    begun = time.monotonic()
    life.up()
    up = time.monotonic() - begun
    life.settle(placement.demanded_pods(life.plan))
    return up, time.monotonic() - begun

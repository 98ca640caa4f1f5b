"""The judges' fixtures: their programs, simulated worlds, engines. Without the programs these tests are left out."""

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.build import binaries as find_binaries

from .closed_network import REGION, WORLD, list_prices, shipped, write_mirror
from .engine.harness import Harness
from .world.stages import Loads
from .world.world import World

REQUIRED = os.environ.get("HEADWATER_JUDGES") == "required"
SERVING = ("llm-d", "dynamo")


def _leave_out(why: str) -> None:
    if REQUIRED:
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="session")
def binaries() -> dict[str, Path]:
    """Every judge's executable by name."""
    if importlib.util.find_spec("moto") is None:
        _leave_out("the simulated AWS is not installed; `make test-judges` installs and builds what this tier needs")
    try:
        return find_binaries(WORLD)
    except FileNotFoundError as missing:
        _leave_out(f"{missing}; `make test-judges` builds and runs this tier")
        raise


@pytest.fixture(scope="session")
def logs(root: Path) -> Path:
    """Where a failed test leaves the logs of its world."""
    return root / os.environ.get("HEADWATER_JUDGES_LOGS", "build/judges")


@pytest.fixture(scope="session")
def mirror(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The setting ``headwater:mirror`` of a closed network: stand-in charts, and CRD bundles by file name."""
    return write_mirror(tmp_path_factory.mktemp("mirror"), shared)


@pytest.fixture(scope="session")
def stack_configs(root: Path, mirror: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The shipped stacks' configuration, in a closed network."""
    return shipped(root, mirror)


@pytest.fixture(scope="module")
def make_world(
    request: pytest.FixtureRequest,
    binaries: dict[str, Path],
    root: Path,
    logs: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., World]]:
    """Make worlds; they end with the module, and their logs stay when one of its tests failed."""
    worlds: list[World] = []
    before = request.session.testsfailed

    def make(*, region: str = REGION, loads: Loads | None = None) -> World:
        folder = tmp_path_factory.mktemp("world")
        world = World(binaries, folder, root=root, region=region, prices=list_prices(), loads=loads or {})
        worlds.append(world)
        return world

    yield make
    for number, world in enumerate(worlds):
        world.close()
        if request.session.testsfailed > before:
            worker = os.environ.get("PYTEST_XDIST_WORKER", "")
            target = logs / f"{request.module.__name__.rsplit('.', 1)[1]}-{number}{worker and '-' + worker}"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(world.logs, target)


@pytest.fixture(scope="module")
def make_harness(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Harness]]:
    """Make engines in a world."""
    made: list[Harness] = []

    def make(world: World, configs: dict[str, dict[str, Any]], *, program: Path | None = None) -> Harness:
        harness = Harness(world, program or root, tmp_path_factory.mktemp("engine"), configs)
        made.append(harness)
        return harness

    yield make
    for harness in made:
        harness.close()

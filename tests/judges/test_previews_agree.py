"""`pulumi preview` and `headwater preview` show the same: every URN, parent, dependency, provider, input and secret."""

import copy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.preview.engine import evaluate

from .agreement import differences
from .closed_network import REGION, STACKS
from .conftest import SERVING
from .engine.harness import Harness

pytestmark = pytest.mark.judges


@pytest.fixture(scope="module")
def harness(
    make_harness: Callable[..., Harness],
    binaries: dict[str, Path],
    stack_configs: dict[str, dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Harness:
    """An engine without a world: a preview of what does not exist yet asks neither AWS nor a control plane."""
    configs = {}
    for stack, config in stack_configs.items():
        for serving in SERVING:
            chosen = copy.deepcopy(config)
            chosen["headwater:serving"]["stack"] = serving
            configs[f"{stack}-{serving}"] = chosen
    nothing = SimpleNamespace(region=REGION, client=lambda _: None)
    plane = SimpleNamespace(url="https://127.0.0.1:9", token="none", certificates=SimpleNamespace(authority_base64=""))
    logs = tmp_path_factory.mktemp("logs")
    return make_harness(SimpleNamespace(aws=nothing, plane=plane, binaries=binaries, logs=logs), configs)


@pytest.mark.parametrize("serving", SERVING)
@pytest.mark.parametrize("stack", STACKS)
def test_both_engines_see_the_same_resources(harness: Harness, stack: str, serving: str) -> None:
    name = f"{stack}-{serving}"
    harness.pulumi.init(name)
    steps = harness.pulumi.preview()["steps"]
    graph = evaluate(harness.project / "stacks" / f"Pulumi.{name}.yaml", harness.project)
    assert len(graph.resources) > 50
    assert differences(graph, steps) == []

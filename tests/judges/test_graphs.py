"""The stand-in for Dynamo's operator makes of a graph what the operator itself was seen to make."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from .world.graphs import expand, pods_of, worker_hash

HASH = "nvidia.com/dynamo-worker-hash"


def _without_hash(value: Any, digest: str) -> Any:
    """The operator's own digest is unknown: put ours in its place."""
    return yaml.safe_load(yaml.safe_dump(value).replace(digest, "0badcafe").replace("'0badcafe'", "0badcafe"))


@pytest.fixture(scope="module")
def observed(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((shared / "data/dynamo_operator_expansion.yaml").read_text())
    return found


@pytest.mark.parametrize("name", ["llama-agg", "glm-pd"])
def test_a_graph_becomes_the_cliques_that_were_observed(observed: dict[str, Any], name: str) -> None:
    graph = next(item for item in observed["inputs"] if item["metadata"]["name"] == name)
    outcome = next(
        item for item in observed["outputs"] if item["kind"] == "PodCliqueSet" and item["metadata"]["name"] == name
    )
    seen = outcome["spec"]["template"]["cliques"]
    ours = expand(graph)
    assert [clique.name for clique in ours] == [clique["name"] for clique in seen]
    for mine, theirs in zip(ours, seen, strict=True):
        digest = theirs["labels"].get(HASH, "none")
        assert mine.replicas == theirs["spec"]["replicas"], mine.name
        assert _without_hash(mine.labels, worker_hash(graph)) == _without_hash(theirs["labels"], digest), mine.name
        mine_spec = _without_hash(mine.pod_spec, worker_hash(graph))
        assert mine_spec == _without_hash(theirs["spec"]["podSpec"], digest), mine.name


def test_a_component_of_two_nodes_is_a_leader_and_a_worker_per_replica(observed: dict[str, Any]) -> None:
    graph = next(item for item in observed["inputs"] if item["metadata"]["name"] == "glm-pd")
    names = [pod["metadata"]["name"] for pod in pods_of(graph)]
    assert names == [
        "glm-pd-0-frontend-0",
        "glm-pd-0-prefill-0",
        "glm-pd-0-decode-0-decode-ldr-0",
        "glm-pd-0-decode-0-decode-wkr-0",
    ]

"""No object is created before its namespace: the engine creates in parallel whatever does not say so."""

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from headwater.preview.engine import evaluate
from headwater.preview.graph import Graph, Resource

from .closed_network import STACKS
from .conftest import SERVING

NAMESPACE = "kubernetes:core/v1:Namespace"
ALWAYS_THERE = {"default", "kube-system", "kube-public", "kube-node-lease"}


def _before(graph: Graph, resource: Resource, seen: set[str]) -> Iterator[str]:
    """URNs of all that exists before the resource: what it depends on, and (of components) their children."""
    needs = {*resource.dependencies, *(urn for urns in resource.property_dependencies.values() for urn in urns)}
    for urn in sorted(needs - seen):
        seen.add(urn)
        yield urn
        for child in graph.descendants(urn):
            if child.urn not in seen:
                seen.add(child.urn)
                yield child.urn
        if urn in graph.by_urn:
            yield from _before(graph, graph.by_urn[urn], seen)


def _namespace_of(resource: Resource) -> str | None:
    if not resource.type.startswith("kubernetes:"):
        return None
    inputs = resource.inputs
    found = inputs.get("namespace") or (inputs.get("metadata") or {}).get("namespace")
    return found if isinstance(found, str) else None


def early(graph: Graph) -> list[str]:
    """Objects that may be created before the namespace they are in."""
    homes = {item.inputs["metadata"]["name"]: item.urn for item in graph.of_type(NAMESPACE)}
    found = []
    for resource in graph.resources:
        home = _namespace_of(resource)
        if home is None or home in ALWAYS_THERE or not resource.custom:
            continue
        if homes.get(home) not in set(_before(graph, resource, set())):
            found.append(f"{resource.name} ({resource.type}) does not wait for namespace {home}")
    return found


@pytest.mark.graph
@pytest.mark.parametrize("serving", SERVING)
@pytest.mark.parametrize("stack", STACKS)
def test_every_object_waits_for_its_namespace(root: Path, tmp_path: Path, stack: str, serving: str) -> None:
    content = copy.deepcopy(yaml.safe_load((root / "stacks" / f"Pulumi.{stack}.yaml").read_text()))
    content["config"]["headwater:serving"]["stack"] = serving
    (tmp_path / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump(content))
    graph = evaluate(tmp_path / f"Pulumi.{stack}.yaml", root)
    assert early(graph) == []

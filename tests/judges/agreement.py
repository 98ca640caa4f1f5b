"""Two previews of one program, side by side: Pulumi's engine's steps and the embedded engine's graph."""

from collections.abc import Iterator
from typing import Any

from headwater.preview.graph import Graph, Resource
from headwater.preview.wire import RESOURCE_SIGNATURE, SECRET, SIGNATURE, UNKNOWN, UNKNOWN_SENTINEL

Object = dict[str, Any]
ABSENT = "<absent>"
DEFAULTS = "__defaults"

HELM_RELEASE = "kubernetes:helm.sh/v3:Release"


def shown(value: Any) -> Any:
    """A value of ``pulumi preview --json`` in the graph's words."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == RESOURCE_SIGNATURE:
            return {"$resource": value.get("urn", "")}
        hidden = set(value.get(DEFAULTS, ()))
        return {key: shown(item) for key, item in value.items() if key != DEFAULTS and key not in hidden}
    if isinstance(value, list):
        return [shown(item) for item in value]
    if value == UNKNOWN_SENTINEL:
        return UNKNOWN
    if value == "[secret]":
        return SECRET
    return value


def _unlike(path: str, mine: Any, theirs: Any) -> Iterator[str]:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in sorted(mine.keys() | theirs.keys()):
            yield from _unlike(f"{path}.{key}", mine.get(key, ABSENT), theirs.get(key, ABSENT))
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from _unlike(f"{path}[{index}]", one, other)
    elif mine != theirs:
        yield f"{path}: embedded {mine!r}, Pulumi {theirs!r}"


def _made_up(type_: str, key: str, value: Any) -> bool:
    """What the Kubernetes provider itself adds to a Release's inputs: its own defaults, all of them empty."""
    return type_ == HELM_RELEASE and (not value or key in {"compat", "timeout", "resourceNames", "checksum"})


def _inputs(resource: Resource, theirs: Object) -> Iterator[str]:
    mine = dict(resource.inputs)
    for key in sorted(mine.keys() | theirs.keys()):
        if key not in mine and _made_up(resource.type, key, theirs[key]):
            continue
        yield from _unlike(f"inputs.{key}", mine.get(key, ABSENT), theirs.get(key, ABSENT))


def _provider(reference: str | None) -> str:
    return (reference or "").rpartition("::")[0]


def _resource(resource: Resource, state: Object) -> Iterator[str]:
    pairs = {
        "type": (resource.type, state["type"]),
        "custom": (resource.custom, state.get("custom", False)),
        "parent": (resource.parent, state.get("parent", "")),
        "provider": (resource.provider, _provider(state.get("provider"))),
        "dependencies": (sorted(resource.dependencies), sorted(state.get("dependencies") or [])),
        "protect": (resource.protect, state.get("protect", False)),
        "retainOnDelete": (resource.retain_on_delete, state.get("retainOnDelete", False)),
        "deletedWith": (resource.deleted_with, state.get("deletedWith", "")),
        "ignoreChanges": (list(resource.ignore_changes), state.get("ignoreChanges") or []),
        "additionalSecretOutputs": (
            sorted(resource.additional_secrets),
            sorted(state.get("additionalSecretOutputs") or []),
        ),
        "propertyDependencies": (
            {key: sorted(urns) for key, urns in resource.property_dependencies.items() if urns},
            {key: sorted(urns) for key, urns in (state.get("propertyDependencies") or {}).items() if urns},
        ),
    }
    if resource.remote:  # what a remote component registers of its own arguments is its SDK's business
        del pairs["propertyDependencies"]
    for name, (mine, theirs) in pairs.items():
        yield from _unlike(name, mine, theirs)
    if not resource.is_provider and not resource.remote:
        yield from _inputs(resource, shown(state.get("inputs") or {}))


def _default_provider(resource: Resource) -> bool:
    """Pulumi's engine makes default providers by itself and shows no step for them."""
    return resource.is_provider and resource.name.startswith("default")


def differences(graph: Graph, steps: list[Object]) -> list[str]:
    """Every disagreement, one line each: the URN and what differs."""
    theirs = {step["urn"]: step["newState"] for step in steps}
    mine = {resource.urn: resource for resource in graph.resources if not _default_provider(resource)}
    found = [f"{urn}: only in the embedded engine" for urn in sorted(mine.keys() - theirs.keys())]
    found += [f"{urn}: only in Pulumi's engine" for urn in sorted(theirs.keys() - mine.keys())]
    for urn in sorted(mine.keys() & theirs.keys()):
        found += [f"{urn}: {line}" for line in _resource(mine[urn], theirs[urn])]
    return found

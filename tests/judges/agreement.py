"""Two previews of one program, side by side: Pulumi's engine's steps and the embedded engine's graph."""

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from headwater.preview.graph import Graph, Resource
from headwater.preview.wire import RESOURCE_SIGNATURE, SECRET, SIGNATURE, UNKNOWN, UNKNOWN_SENTINEL

Object = dict[str, Any]
ACCOUNT = "123456789012"
ABSENT = "<absent>"
DEFAULTS = "__defaults"

_made_names: ContextVar[frozenset[str]] = ContextVar("made_names", default=frozenset())

_asked: ContextVar[bool] = ContextVar("asked", default=False)

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


def _only_known_there(mine: Any, theirs: Any) -> bool:
    """The embedded engine leaves open what the provider makes up (names) or only the cloud knows (the account)."""
    if mine != UNKNOWN or not isinstance(theirs, str):
        return False
    return theirs in _made_names.get() or ACCOUNT in theirs or _asked.get()


def _unlike(path: str, mine: Any, theirs: Any) -> Iterator[str]:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in sorted(mine.keys() | theirs.keys()):
            yield from _unlike(f"{path}.{key}", mine.get(key, ABSENT), theirs.get(key, ABSENT))
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from _unlike(f"{path}[{index}]", one, other)
    elif mine != theirs and not _only_known_there(mine, theirs):
        yield f"{path}: embedded {mine!r}, Pulumi {theirs!r}"


def _made_up(type_: str, key: str, value: Any) -> bool:
    """What the Kubernetes provider itself adds to a Release's inputs: its own defaults, all of them empty."""
    return type_ == HELM_RELEASE and (not value or key in {"compat", "timeout", "resourceNames", "checksum"})


def _inputs(resource: Resource, theirs: Object) -> Iterator[str]:
    mine = dict(resource.inputs)
    for key in sorted(mine.keys() | theirs.keys()):
        if key not in mine and _made_up(resource.type, key, theirs[key]):
            continue
        _asked.set(not resource.property_dependencies.get(key))  # then a question to the cloud is all it can hang on
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
        del pairs["propertyDependencies"], pairs["dependencies"]
    for name, (mine, theirs) in pairs.items():
        yield from _unlike(name, mine, theirs)
    if not resource.is_provider and not resource.remote:
        yield from _inputs(resource, shown(state.get("inputs") or {}))


def _default_provider(resource: Resource) -> bool:
    """Pulumi's engine makes default providers by itself and shows no step for them."""
    return resource.is_provider and resource.name.startswith("default")


def _names_made_up(inputs: Any) -> Iterator[str]:
    return (str(inputs[key]) for key in inputs.get(DEFAULTS, ()))


def differences(graph: Graph, steps: list[Object]) -> list[str]:
    """Every disagreement, one line each: the URN and what differs."""
    made = {name for step in steps for name in _names_made_up(step["newState"].get("inputs") or {})}
    token = _made_names.set(frozenset(made))
    try:
        return _differences(graph, steps)
    finally:
        _made_names.reset(token)


def _differences(graph: Graph, steps: list[Object]) -> list[str]:
    theirs = {step["urn"]: step["newState"] for step in steps}
    mine = {resource.urn: resource for resource in graph.resources if not _default_provider(resource)}
    found = [f"{urn}: only in the embedded engine" for urn in sorted(mine.keys() - theirs.keys())]
    found += [f"{urn}: only in Pulumi's engine" for urn in sorted(theirs.keys() - mine.keys())]
    for urn in sorted(mine.keys() & theirs.keys()):
        found += [f"{urn}: {line}" for line in _resource(mine[urn], theirs[urn])]
    return found

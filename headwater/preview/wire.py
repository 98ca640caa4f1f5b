"""Pulumi's wire values: protobuf structs with special objects in them, to plain Python and back.

Numbers on the wire are doubles; a whole one becomes an int here, so that ``8`` compares with ``8``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.protobuf.struct_pb2 import Struct, Value

UNKNOWN_SENTINEL = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What stands on the wire for a value that only the cloud can tell."""

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key that marks a struct as one of the special objects below."""

SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"
OUTPUT_SIGNATURE = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
RESOURCE_SIGNATURE = "5cf8f73096256a8f31e491e813e4eb8e"
ASSET_SIGNATURE = "c44067f5952c0a294b673a41bacd8c17"

UNKNOWN = "<unknown>"
"""In a graph: not known until the cloud answers."""

SECRET = "<secret>"
"""In a graph: a secret; its value is not kept."""


def read_struct(struct: Struct) -> dict[str, Any]:
    """A struct as a dict, special objects left as the dicts they are on the wire."""
    return {key: read_value(value) for key, value in struct.fields.items()}


def read_value(value: Value) -> Any:
    """One wire value as plain Python."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "struct_value":
        return read_struct(value.struct_value)
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [read_value(item) for item in value.list_value.values]
    return None


def write_struct(values: Mapping[str, Any]) -> Struct:
    """A dict as a struct."""
    struct = Struct()
    for key, value in values.items():
        write_value(value, struct.fields[key])
    return struct


def write_value(value: Any, into: Value) -> None:
    """Store plain Python in a wire value.

    Raises:
        TypeError: the value has no wire form.
    """
    if value is None:
        into.null_value = 0
    elif isinstance(value, bool):
        into.bool_value = value
    elif isinstance(value, (int, float)):
        into.number_value = value
    elif isinstance(value, str):
        into.string_value = value
    elif isinstance(value, Mapping):
        into.struct_value.SetInParent()
        for key, item in value.items():
            write_value(item, into.struct_value.fields[key])
    elif isinstance(value, (list, tuple)):
        into.list_value.SetInParent()
        for item in value:
            write_value(item, into.list_value.values.add())
    else:
        raise TypeError(f"{type(value).__name__} has no form on Pulumi's wire")


def signature(value: Any) -> str | None:
    """Which special object this is, None for a plain value."""
    if isinstance(value, dict):
        found = value.get(SIGNATURE)
        return found if isinstance(found, str) else None
    return None


def secret(value: Any) -> dict[str, Any]:
    """``value`` marked secret."""
    return {SIGNATURE: SECRET_SIGNATURE, "value": value}


def resource_reference(urn: str, identifier: str = "", version: str = "") -> dict[str, Any]:
    """A live reference to a resource; an empty id is one that is not known yet."""
    return {SIGNATURE: RESOURCE_SIGNATURE, "urn": urn, "id": identifier, "packageVersion": version}


def walk(value: Any) -> Iterator[Any]:
    """The value and everything inside it."""
    yield value
    if isinstance(value, dict):
        for item in value.values():
            yield from walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk(item)


def has_unknown(value: Any) -> bool:
    """Whether any part is not known yet; an output value without a value counts."""
    return any(
        item == UNKNOWN_SENTINEL or (signature(item) == OUTPUT_SIGNATURE and "value" not in item)
        for item in walk(value)
        if isinstance(item, (str, dict))
    )


def dependencies_of(value: Any) -> set[str]:
    """URNs named by output values inside."""
    return {urn for item in walk(value) if signature(item) == OUTPUT_SIGNATURE for urn in item.get("dependencies", [])}


def with_dependencies(value: Any, urns: Iterable[str]) -> Any:
    """``value`` as an output value that names ``urns`` on top of what it names already."""
    wanted = set(urns)
    if wanted <= dependencies_of(value):
        return value
    if signature(value) == OUTPUT_SIGNATURE:
        return {**value, "dependencies": sorted(wanted | set(value.get("dependencies", [])))}
    inner, is_secret = (value.get("value"), True) if signature(value) == SECRET_SIGNATURE else (value, False)
    output: dict[str, Any] = {SIGNATURE: OUTPUT_SIGNATURE, "secret": is_secret, "dependencies": sorted(wanted)}
    return output if inner == UNKNOWN_SENTINEL else {**output, "value": inner}


def without_dependencies(value: Any) -> Any:
    """``value`` with output values reduced to plain, unknown or secret ones, as providers see them."""
    if isinstance(value, dict):
        if signature(value) == OUTPUT_SIGNATURE:
            inner = without_dependencies(value["value"]) if "value" in value else UNKNOWN_SENTINEL
            return secret(inner) if value.get("secret") else inner
        return {key: without_dependencies(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_dependencies(item) for item in value]
    return value


def shown(value: Any) -> Any:
    """``value`` as a graph keeps it: unknown and secret parts as words, references and assets as small dicts."""
    if isinstance(value, str):
        return UNKNOWN if value == UNKNOWN_SENTINEL else value
    if isinstance(value, list):
        return [shown(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = signature(value)
    if kind is None:
        return {key: shown(value[key]) for key in sorted(value)}
    if kind == SECRET_SIGNATURE:
        return SECRET
    if kind == OUTPUT_SIGNATURE:
        return SECRET if value.get("secret") else shown(value["value"]) if "value" in value else UNKNOWN
    if kind == RESOURCE_SIGNATURE:
        return {"$resource": value.get("urn", "")}
    word = "$asset" if kind == ASSET_SIGNATURE else "$archive"
    return {word: {key: shown(item) for key, item in sorted(value.items()) if key != SIGNATURE}}

"""Structural schemas of CRDs: defaults as the API server fills them in, then types, bounds and unknown fields."""

import copy
import datetime as dt
import ipaddress
import json
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from tests.validators.go_regex import matches
from tests.validators.unknown import is_unknown

Schema = dict[str, Any]
_INTS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def with_defaults(schema: Schema, value: Any) -> Any:
    """A copy with every default of the schema filled in, outermost first."""
    if isinstance(value, dict):
        known, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        filled = dict(value)
        for key, sub in known.items():
            if "default" in sub and filled.get(key) is None and not (key in filled and sub.get("nullable")):
                filled[key] = copy.deepcopy(sub["default"])
        return {
            k: with_defaults(known.get(k) or (extra if isinstance(extra, dict) else {}), v) for k, v in filled.items()
        }
    if isinstance(value, list):
        return [with_defaults(schema.get("items") or {}, v) for v in value]
    return value


def errors(schema: Schema, value: Any, path: str = "", *, strict: bool = True) -> list[str]:
    """What the schema refuses; ``strict`` also refuses fields it does not know (what the API server would drop)."""
    if is_unknown(value):
        return []
    if value is None:
        return (
            []
            if schema.get("nullable") or not schema
            else [f"{path}: null, where a {schema.get('type', 'value')} belongs"]
        )
    found = _type_errors(schema, value, path)
    if found:
        return found
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is none of {', '.join(map(repr, schema['enum']))}")
    if isinstance(value, str):
        found += _text(schema, value, path)
    elif isinstance(value, bool):
        pass
    elif isinstance(value, int | float):
        found += _number(schema, value, path)
    elif isinstance(value, list):
        found += _list(schema, value, path, strict=strict)
    elif isinstance(value, dict):
        found += _object(schema, value, path, strict=strict)
    return found + _junctors(schema, value, path)


def _type_errors(schema: Schema, value: Any, path: str) -> list[str]:
    if schema.get("x-kubernetes-int-or-string"):
        fits = isinstance(value, int | str) and not isinstance(value, bool)
        return [] if fits else [f"{path}: {value!r} is neither an integer nor a text"]
    kind = schema.get("type")
    fits = {
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }.get(kind or "", True)
    return [] if fits else [f"{path}: {_short(value)} is no {kind}"]


def _text(schema: Schema, value: str, path: str) -> list[str]:
    found = []
    if len(value) < schema.get("minLength", 0):
        found.append(f"{path}: {value!r} is shorter than {schema['minLength']}")
    if len(value) > schema.get("maxLength", len(value)):
        found.append(f"{path}: {_short(value)} is longer than {schema['maxLength']}")
    if "pattern" in schema and not matches(schema["pattern"], value):
        found.append(f"{path}: {value!r} does not match {schema['pattern']}")
    check = _FORMATS.get(schema.get("format", ""))
    if check and not schema.get("x-kubernetes-int-or-string"):
        try:
            check(value)
        except ValueError:
            found.append(f"{path}: {value!r} is no {schema['format']}")
    return found


def _number(schema: Schema, value: float, path: str) -> list[str]:
    low, high = schema.get("minimum"), schema.get("maximum")
    found = []
    if low is not None and (value < low or (schema.get("exclusiveMinimum") and value == low)):
        found.append(f"{path}: {value} is below {low}")
    if high is not None and (value > high or (schema.get("exclusiveMaximum") and value == high)):
        found.append(f"{path}: {value} is above {high}")
    if "multipleOf" in schema and value % schema["multipleOf"]:
        found.append(f"{path}: {value} is no multiple of {schema['multipleOf']}")
    if (bounds := _INTS.get(schema.get("format", ""))) and not bounds[0] <= value <= bounds[1]:
        found.append(f"{path}: {value} does not fit {schema['format']}")
    return found


def _list(schema: Schema, value: list[Any], path: str, *, strict: bool) -> list[str]:
    found = []
    if len(value) < schema.get("minItems", 0):
        found.append(f"{path}: {len(value)} items, at least {schema['minItems']} needed")
    if len(value) > schema.get("maxItems", len(value)):
        found.append(f"{path}: {len(value)} items, at most {schema['maxItems']} allowed")
    for index, item in enumerate(value):
        found += errors(schema.get("items") or {}, item, f"{path}[{index}]", strict=strict)
    keys = [identity(schema, item) for item in value]
    for index, key in enumerate(keys):
        if key is not None and key in keys[:index]:
            found.append(f"{path}[{index}]: a second item with {key}")
    return found


def identity(schema: Schema, item: Any) -> str | None:
    """What tells list items apart: the keys of a map list, the whole item of a set; None for atomic lists."""
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map" and isinstance(item, dict):
        values = {key: item.get(key) for key in schema.get("x-kubernetes-list-map-keys", [])}
        return None if any(map(is_unknown, values.values())) else json.dumps(values, sort_keys=True)
    if kind == "set" or schema.get("uniqueItems"):
        return None if is_unknown(item) else json.dumps(item, sort_keys=True)
    return None


def _object(schema: Schema, value: dict[str, Any], path: str, *, strict: bool) -> list[str]:
    known, extra = schema.get("properties") or {}, schema.get("additionalProperties")
    open_ended = schema.get("x-kubernetes-preserve-unknown-fields") or extra is True
    found = [f"{path}.{key}: missing" for key in schema.get("required", []) if key not in value]
    if len(value) < schema.get("minProperties", 0):
        found.append(f"{path}: {len(value)} keys, at least {schema['minProperties']} needed")
    if len(value) > schema.get("maxProperties", len(value)):
        found.append(f"{path}: {len(value)} keys, at most {schema['maxProperties']} allowed")
    embedded = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {}}
    if schema.get("x-kubernetes-embedded-resource"):
        found += [f"{path}.{key}: missing" for key in ("apiVersion", "kind") if not value.get(key)]
        known = embedded | known
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        if not isinstance(key, str):
            found.append(f"{where}: a key must be text")
        elif key in known:
            found += errors(known[key], item, where, strict=strict)
        elif isinstance(extra, dict):
            found += errors(extra, item, where, strict=strict)
        elif strict and not open_ended and schema.get("type") == "object":
            found.append(f"{where}: unknown field")
    return found


def _junctors(schema: Schema, value: Any, path: str) -> list[str]:
    found = []
    if schema.get("x-kubernetes-int-or-string") and "anyOf" in schema:
        schema = {k: v for k, v in schema.items() if k != "anyOf"}
    for sub in schema.get("allOf", []):
        found += errors(sub, value, path, strict=False)
    if "anyOf" in schema and all(errors(sub, value, path, strict=False) for sub in schema["anyOf"]):
        found.append(f"{path}: {_short(value)} fits none of anyOf")
    if "oneOf" in schema and sum(not errors(sub, value, path, strict=False) for sub in schema["oneOf"]) != 1:
        found.append(f"{path}: {_short(value)} fits not exactly one of oneOf")
    if "not" in schema and not errors(schema["not"], value, path, strict=False):
        found.append(f"{path}: {_short(value)} is what `not` forbids")
    return found


def _date_time(text: str) -> None:
    if not matches(r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$", text):
        raise ValueError(text)
    dt.datetime.fromisoformat(text)


def _duration(text: str) -> None:
    if not matches(r"^[+-]?((\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))+$|^0$", text):
        raise ValueError(text)


def _uri(text: str) -> None:
    if not (urlsplit(text).scheme or text.startswith("/")):
        raise ValueError(text)


_FORMATS: dict[str, Any] = {
    "date-time": _date_time,
    "date": dt.date.fromisoformat,
    "duration": _duration,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "cidr": ipaddress.ip_network,
    "uri": _uri,
    "uuid": UUID,
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."

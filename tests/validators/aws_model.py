"""Values against botocore's shapes: types, enums, patterns, lengths, required members, and what names imply."""

import datetime as dt
import ipaddress
import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ServiceModel, Shape

from tests.validators.unknown import is_unknown

TAG = re.compile(r"[\w\s.:/=+\-@]*")
_ARN = re.compile(r"arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:(\d{12}|aws)?:\S+")
_IDS = {
    "vpcid": "vpc",
    "subnetid": "subnet",
    "securitygroupid": "sg",
    "routetableid": "rtb",
    "allocationid": "eipalloc",
    "natgatewayid": "nat",
    "imageid": "ami",
    "vpcendpointid": "vpce",
    "internetgatewayid": "igw",
    "networkinterfaceid": "eni",
    "filesystemid": "fs",
}
# A member that Pulumi names otherwise, by the shape it belongs to.
_RENAMED = {
    ("LaunchTemplateInstanceNetworkInterfaceSpecificationRequest", "securitygroups"): "Groups",
    (
        "LaunchTemplateInstanceNetworkInterfaceSpecificationRequest",
        "ipv4addresscount",
    ): "SecondaryPrivateIpAddressCount",
    ("LaunchTemplateSpecification", "version"): "version",
    ("AddonNamespaceConfigRequest", "namespace"): "namespace",
}


@cache
def service(name: str) -> ServiceModel:
    """botocore's model of a service, read once."""
    model: ServiceModel = botocore.session.get_session().get_service_model(name)
    return model


def resolve(model: ServiceModel, where: str) -> Shape:
    """The shape at ``Operation`` or ``Operation/Member.Member[]``; raises KeyError for a path that does not exist."""
    operation, _, path = where.partition("/")
    shape: Any = model.operation_model(operation).input_shape
    for step in path.split(".") if path else []:
        name, lists = step.rstrip("[]"), step.count("[]")
        if name not in shape.members:
            raise KeyError(f"{where}: {shape.name} has no member {name}")
        shape = shape.members[name]
        for _ in range(lists):
            shape = shape.member
    return shape


def member(shape: Any, key: str) -> str | None:
    """The member of a structure that a Pulumi property names: letter case aside, and a list's plural."""
    low = key.lower()
    renamed = _RENAMED.get((shape.name, low))
    if renamed in shape.members:
        return renamed
    known = {name.lower(): name for name in shape.members}
    if low in known:
        return known[low]
    for spelt in (low + "s", low.removesuffix("s"), low.removesuffix("es"), low.removesuffix("ies") + "y"):
        if spelt in known and shape.members[known[spelt]].type_name == "list":
            return known[spelt]
    return None


def errors(shape: Any, value: Any, path: str) -> list[str]:
    """Findings for a value that Pulumi gives where AWS wants this shape."""
    if value is None or is_unknown(value):
        return []
    return _WALKS[shape.type_name](shape, value, path)


def named_errors(key: str, value: Any, path: str) -> list[str]:
    """Findings that a property's name implies: ids, ARNs, CIDRs, zones, instance types, policies."""
    if isinstance(value, list):
        single = key.removesuffix("s")
        return [e for i, item in enumerate(value) for e in named_errors(single, item, f"{path}[{i}]")]
    if not isinstance(value, str) or is_unknown(value):
        return []
    low = key.lower()
    if low in _IDS and not re.fullmatch(rf"{_IDS[low]}-[0-9a-z]+", value):
        return [f"{path}: {value!r} is no {_IDS[low]}-..."]
    if low.endswith("arn") and not _ARN.fullmatch(value):
        return [f"{path}: {value!r} is no ARN"]
    if re.search(r"cidr(block|ip|ipv4|ipv6)?$", low):
        return cidr(value, path)
    if low == "availabilityzone" and not re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d[a-z]", value):
        return [f"{path}: {value!r} is no zone's name"]
    if low == "instancetype" and value not in service("ec2").shape_for("InstanceType").enum:
        return [f"{path}: EC2 has no instance type {value!r}"]
    if low in ("policy", "assumerolepolicy", "eventpattern", "configurationvalues", "redrivepolicy"):
        return json_text(value, path)
    return []


def cidr(value: Any, path: str) -> list[str]:
    """Findings for a CIDR block: host bits must be 0."""
    try:
        ipaddress.ip_network(value)
    except ValueError as error:
        return [f"{path}: {error}"]
    return []


def json_text(value: Any, path: str) -> list[str]:
    """Findings for a text that must be a JSON object."""
    try:
        parsed = json.loads(value)
    except (ValueError, TypeError) as error:
        return [f"{path}: no JSON: {error}"]
    return [] if isinstance(parsed, dict) else [f"{path}: no JSON object"]


def tags(value: Any, path: str) -> list[str]:
    """Findings for a map of tags, by the limits that all services share."""
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no map"]
    found = [f"{path}: {len(value)} tags, at most 50 allowed"] if len(value) > 50 else []
    for key, item in value.items():
        if not 1 <= len(key) <= 128 or not TAG.fullmatch(key) or key.lower().startswith("aws:"):
            found.append(f"{path}: {key!r} is no tag's key")
        if not isinstance(item, str):
            found.append(f"{path}[{key}]: {item!r} must be text")
        elif not is_unknown(item) and (len(item) > 256 or not TAG.fullmatch(item)):
            found.append(f"{path}[{key}]: {item!r} is no tag's value")
    return found


def _structure(shape: Any, value: Any, path: str) -> list[str]:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no map"]
    found, given = [], set()
    for key, item in value.items():
        name = member(shape, key)
        if name is None:
            found.append(f"{path}.{key}: {shape.name} has no such member")
        elif item is not None:
            given.add(name)
            found += errors(shape.members[name], item, f"{path}.{key}")
            found += named_errors(key, item, f"{path}.{key}")
    return found + [f"{path}.{name}: missing" for name in shape.required_members if name not in given]


def _list(shape: Any, value: Any, path: str) -> list[str]:
    inner = shape.member
    if isinstance(value, dict) and inner.type_name == "structure" and {"Key", "Value"} <= set(inner.members):
        return tags(value, path)
    items = value if isinstance(value, list) else [value]
    return _bounds(shape, len(items), path, "items") + [
        e for i, item in enumerate(items) for e in errors(inner, item, f"{path}[{i}]" if items is value else path)
    ]


def _map(shape: Any, value: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no map"]
    found = _bounds(shape, len(value), path, "keys")
    for key, item in value.items():
        found += errors(shape.key, key, f"{path}[{key}]") + errors(shape.value, item, f"{path}[{key}]")
    return found


def _string(shape: Any, value: Any, path: str) -> list[str]:
    if not isinstance(value, str):
        return [f"{path}: {value!r} is no text"]
    allowed = shape.metadata.get("enum")
    if allowed and value not in allowed:
        return [f"{path}: {value!r} is none of {_listed(allowed)}"]
    found = _bounds(shape, len(value), path, "characters")
    pattern = shape.metadata.get("pattern")
    if pattern and not _pattern(pattern).fullmatch(value):
        found.append(f"{path}: {value[:80]!r} does not match {pattern}")
    return found


def _number(shape: Any, value: Any, path: str) -> list[str]:
    whole = shape.type_name in ("integer", "long")
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return [f"{path}: {value!r} is no {shape.type_name}"]
    return _bounds(shape, value, path, "")


def _boolean(shape: Any, value: Any, path: str) -> list[str]:
    return [] if isinstance(value, bool) or value in ("true", "false") else [f"{path}: {value!r} is no boolean"]


def _timestamp(shape: Any, value: Any, path: str) -> list[str]:
    try:
        dt.datetime.fromisoformat(value)
    except (ValueError, TypeError):
        return [f"{path}: {value!r} is no time"]
    return []


def _bounds(shape: Any, size: float, path: str, unit: str) -> list[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    found = []
    if low is not None and size < low:
        found.append(f"{path}: {size} {unit} is below {low}".replace("  ", " "))
    if high is not None and size > high:
        found.append(f"{path}: {size} {unit} is above {high}".replace("  ", " "))
    return found


@cache
def _pattern(text: str) -> re.Pattern[str]:
    text = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda m: re.escape(chr(int(m.group(1), 16))), text)
    for name, inside in (("L", "a-zA-Z\u00c0-\uffff"), ("Z", " "), ("N", "0-9")):
        text = text.replace(rf"\p{{{name}}}", inside)
    return re.compile(text)


def _listed(allowed: list[str]) -> str:
    return ", ".join(allowed) if len(allowed) <= 12 else f"{', '.join(allowed[:5])}, ... ({len(allowed)} in all)"


_WALKS: dict[str, Callable[[Any, Any, str], list[str]]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "char": _string,
    "blob": lambda shape, value, path: [] if isinstance(value, str) else [f"{path}: {value!r} is no text"],
    "integer": _number,
    "long": _number,
    "float": _number,
    "double": _number,
    "boolean": _boolean,
    "timestamp": _timestamp,
}

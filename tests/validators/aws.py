"""AWS inputs, as a resource graph has them, judged by botocore's models of the calls they end in."""

from typing import Any

from tests.validators import aws_model
from tests.validators.aws_types import TYPES, AwsType
from tests.validators.unknown import is_unknown


def knows(token: str) -> bool:
    """Whether the type is mapped."""
    return token in TYPES


# What Pulumi names itself: the logical name, a dash and seven digits. Limits of AWS on the whole.
AUTONAMED = {
    "aws:iam/role:Role": ("name", 64),
    "aws:iam/policy:Policy": ("name", 128),
    "aws:iam/instanceProfile:InstanceProfile": ("name", 128),
    "aws:sqs/queue:Queue": ("name", 80),
    "aws:cloudwatch/eventRule:EventRule": ("name", 64),
    "aws:eks/nodeGroup:NodeGroup": ("nodeGroupName", 63),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name", 128),
    "aws:s3/bucket:Bucket": ("bucket", 63),
}


def name_findings(token: str, logical: str, inputs: dict[str, Any]) -> list[str]:
    """Findings for the name Pulumi would make up, which AWS refuses only at `up`."""
    key, limit = AUTONAMED.get(token, ("", 0))
    prefixed = inputs.get(f"{key}Prefix") or inputs.get("namePrefix")
    if not key or inputs.get(key) or prefixed or len(logical) + 8 <= limit:
        return []
    return [f"{key}: made up from {logical!r} it has {len(logical) + 8} characters, at most {limit} are allowed"]


def validate(token: str, inputs: dict[str, Any]) -> list[str]:
    """Findings for one resource; a type that is not mapped is a finding, never a pass."""
    if token not in TYPES:
        return [f"{token} is not mapped to a call of AWS: add it to tests/validators/aws_types.py"]
    mapped = TYPES[token]
    found, given = [], set()
    for key, value in inputs.items():
        if key.startswith("__") or value is None:
            continue
        if key in ("tags", "tagsAll", "clusterTags"):
            found += [] if is_unknown(value) else aws_model.tags(value, key)
        elif key == "region":
            found += aws_model.named_errors("availabilityZone", f"{value}a", "region")
        else:
            place = _place(mapped, key)
            given |= {place[0]} if place else set()
            found += _property(mapped, key, value, place)
    for call in mapped.calls:
        shape: Any = aws_model.resolve(aws_model.service(mapped.service), call)
        found += [f"{name}: missing" for name in shape.required_members if name not in given | set(mapped.filled)]
    return found


def _place(mapped: AwsType, key: str) -> tuple[str, Any] | None:
    """The first member on the way to a property's shape, and that shape; None for what only Pulumi knows."""
    model = aws_model.service(mapped.service)
    if key in mapped.moved:
        where = mapped.moved[key]
        steps = where.partition("/")[2].split(".")
        inner = next((c for c in reversed(mapped.calls) if where.startswith(c + ".")), "")
        first = where[len(inner) + 1 :].split(".")[0] if inner else steps[0]
        return first.removesuffix("[]"), aws_model.resolve(model, where)
    for call in mapped.calls:
        shape: Any = aws_model.resolve(model, call)
        if (name := aws_model.member(shape, key)) is not None:
            return name, shape.members[name]
    return None


def _property(mapped: AwsType, key: str, value: Any, place: tuple[str, Any] | None) -> list[str]:
    if is_unknown(value):
        return [] if place or key in mapped.own else [f"{key}: {mapped.calls[0]} knows no such member"]
    if key in mapped.own:
        return mapped.own[key](value, key)
    if place is None:
        return [f"{key}: {mapped.calls[0]} knows no such member, and aws_types.py no such property"]
    shape = place[1]
    if isinstance(value, list) and shape.type_name != "list":
        found = [e for i, item in enumerate(value) for e in aws_model.errors(shape, item, f"{key}[{i}]")]
    else:
        found = aws_model.errors(shape, value, key)
    return found + aws_model.named_errors(key, value, key)

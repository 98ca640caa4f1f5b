"""Where an environment has ended: state, simulated AWS and API server, in a form that two ups have in common."""

import json
import re
from collections.abc import Mapping
from typing import Any

from .engine.aws_provider import AwsProvider
from .engine.harness import Harness
from .stored import inventory

Object = dict[str, Any]
Ending = dict[str, Any]
_OPTIONS = ("parent", "dependencies", "propertyDependencies", "protect", "retainOnDelete", "additionalSecretOutputs")
_RELEASE = re.compile(r"(sh\.helm\.release\.v1\..+)\.v\d+$")
_EC2 = {
    "describe_vpcs": "Vpcs",
    "describe_subnets": "Subnets",
    "describe_security_groups": "SecurityGroups",
    "describe_placement_groups": "PlacementGroups",
}


def in_cloud(item: Object) -> bool:
    """Whether a resource of the state is one of AWS's or Kubernetes' own: no component, no provider."""
    return bool(item.get("custom")) and not item["type"].startswith("pulumi:")


def _names(resources: list[Object]) -> dict[str, str]:
    """What AWS or the provider made up (ids, names), to the URN it was made up for."""
    found = {}
    for item in resources:
        if item["type"].startswith("aws:") and item.get("custom"):
            made_up = item.get("inputs", {}).get("__defaults") or []
            for name in (item["id"], *(item["inputs"][key] for key in made_up)):
                found[str(name)] = item["urn"]
    return found


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The value with every made-up name in it replaced."""
    text = json.dumps(value, sort_keys=True)
    pattern = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "$^")
    return json.loads(pattern.sub(lambda found: names[found.group()], text))


def _held_by_aws(harness: Harness) -> dict[str, int]:
    aws = harness.world.aws
    held = {key: len(getattr(aws.client("ec2"), call)()[key]) for call, key in _EC2.items()}
    held["Roles"] = len(aws.client("iam").list_roles()["Roles"])
    held["Queues"] = len(aws.client("sqs").list_queues().get("QueueUrls", []))
    held["Clusters"] = len(aws.client("eks").list_clusters()["clusters"])
    return held


def unknown_to(resources: list[Object], provider: AwsProvider) -> set[tuple[str, str]]:
    """(type, id) of what AWS holds and the state does not know, or the other way round."""
    known = {(item["type"], item["id"]) for item in resources if item["type"].startswith("aws:") and item.get("custom")}
    return known ^ set(provider.kept)


def ending(harness: Harness) -> Ending:
    """State by URN, what AWS holds by kind, and the API server's objects that no other object owns."""
    resources = harness.pulumi.export(secrets=True)
    names = _names(resources)
    state = {}
    for item in resources:
        about = {key: item[key] for key in _OPTIONS if item.get(key)}
        about["provider"] = item.get("provider", "").rsplit("::", 1)[0]
        about["dependencies"] = sorted(about.get("dependencies", []))
        outputs = item.get("outputs") if item["type"] == "pulumi:pulumi:Stack" else None
        state[item["urn"]] = _renamed([item["type"], item.get("inputs"), outputs, about], names)
    objects = {_RELEASE.sub(r"\1", entry) for entry in inventory(harness.world.kube, owned=False)}
    return {
        "state": state,
        "aws": _held_by_aws(harness),
        "kept": sorted(type_ for type_, _ in harness.aws.kept),
        "objects": sorted(entry for entry in objects if not entry.startswith("Node ")),
    }


def differences(one: Ending, other: Ending) -> list[str]:
    """Where two endings differ, a line for each; none when they are the same."""
    found = []
    for part in one:
        first, second = one[part], other[part]
        if isinstance(first, dict):
            keys = [key for key in sorted({*first, *second}) if first.get(key) != second.get(key)]
            found += [f"{part} {key}: {str(first.get(key))[:600]} | {str(second.get(key))[:600]}" for key in keys]
        elif first != second:
            found.append(f"{part}: {sorted(set(first) ^ set(second)) or 'some of them more than once'}")
    return found

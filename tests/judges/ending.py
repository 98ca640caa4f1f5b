"""Where an environment has ended: state, simulated AWS and API server, in a form that two ups have in common."""

import json
import re
from collections.abc import Mapping
from typing import Any

from .engine.aws_provider import AwsProvider
from .engine.harness import Harness
from .stored import inventory
from .world.daemon import wait_until

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
    """What AWS or the provider made up (ids, names, a cluster's address), to the URN it was made up for."""
    found = {}
    for item in resources:
        if item["type"].startswith("aws:") and item.get("custom"):
            made_up = item.get("inputs", {}).get("__defaults") or []
            for name in (item["id"], *(item["inputs"][key] for key in made_up)):
                found[str(name)] = item["urn"]
        if item["type"] == "aws:eks/cluster:Cluster":
            made = item["outputs"]
            found[made["endpoint"]] = f"endpoint of {item['urn']}"
            found[made["certificateAuthority"]["data"]] = f"authority of {item['urn']}"
            found[made["vpcConfig"]["clusterSecurityGroupId"]] = f"security group of {item['urn']}"
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
        about["propertyDependencies"] = {
            key: sorted(urns) for key, urns in about.get("propertyDependencies", {}).items() if urns
        }
        outputs = item.get("outputs") if item["type"] == "pulumi:pulumi:Stack" else None
        state[item["urn"]] = _renamed([item["type"], item.get("inputs"), outputs, about], names)
    listed = wait_until(
        "every kind can be listed, new ones too", lambda: inventory(harness.world.kube, owned=False), seconds=90
    )
    objects = {_RELEASE.sub(r"\1", entry) for entry in listed}
    return {
        "state": state,
        "aws": _held_by_aws(harness),
        "kept": sorted(type_ for type_, _ in harness.aws.kept),
        "objects": sorted(entry for entry in objects if not entry.startswith("Node ")),
    }


def differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Where two endings differ, a line for each place; none when they are the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted({*one, *other})
        return [line for key in keys for line in differences(one.get(key), other.get(key), f"{path} {key}")]
    if isinstance(one, list) and isinstance(other, list):
        if len(one) == len(other):
            pairs = enumerate(zip(one, other, strict=True))
            return [line for index, pair in pairs for line in differences(*pair, f"{path}[{index}]")]
        known = [json.dumps(item, sort_keys=True) for item in one], [json.dumps(item, sort_keys=True) for item in other]
        return [f"{path}: {sorted(set(known[0]) ^ set(known[1])) or 'some of them more than once'}"[:2000]]
    return [] if one == other else [f"{path}: {str(one)[:600]} | {str(other)[:600]}"]

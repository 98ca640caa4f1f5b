"""A preview of the world after ``up``: ids, ARNs and answers made up, so that texts built from them can be read.

A first preview knows none of these, and so no policy document; under :func:`assumed_outputs` the same program is
evaluated with plausible ones. Nothing here is part of the product: it replaces parts of the engine for a test.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from headwater.preview import monitor as engine_monitor
from headwater.preview import wire
from headwater.preview.goal import Goal
from headwater.preview.registry import Registry, State

ACCOUNT = "123456789012"
ORGANIZATION_OIDC = "oidc.eks.us-east-2.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
_PREFIXES = {
    "aws:ec2/vpc:Vpc": "vpc",
    "aws:ec2/subnet:Subnet": "subnet",
    "aws:ec2/routeTable:RouteTable": "rtb",
    "aws:ec2/natGateway:NatGateway": "nat",
    "aws:ec2/internetGateway:InternetGateway": "igw",
    "aws:ec2/eip:Eip": "eipalloc",
    "aws:ec2/securityGroup:SecurityGroup": "sg",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "vpce",
    "aws:ec2/launchTemplate:LaunchTemplate": "lt",
    "aws:ec2/flowLog:FlowLog": "fl",
    "aws:ec2/placementGroup:PlacementGroup": "pg",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "sgr",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "sgr",
    "aws:efs/fileSystem:FileSystem": "fs",
    "aws:efs/accessPoint:AccessPoint": "fsap",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "fs",
}
_ARNS = {
    "aws:iam/role:Role": "arn:aws:iam::{account}:role/{name}",
    "aws:iam/policy:Policy": "arn:aws:iam::{account}:policy/{name}",
    "aws:iam/instanceProfile:InstanceProfile": "arn:aws:iam::{account}:instance-profile/{name}",
    "aws:s3/bucket:Bucket": "arn:aws:s3:::{name}",
    "aws:sqs/queue:Queue": "arn:aws:sqs:{region}:{account}:{name}",
    "aws:kms/key:Key": "arn:aws:kms:{region}:{account}:key/{id}",
    "aws:eks/cluster:Cluster": "arn:aws:eks:{region}:{account}:cluster/{name}",
    "aws:eks/nodeGroup:NodeGroup": "arn:aws:eks:{region}:{account}:nodegroup/{name}/{id}",
    "aws:cloudwatch/logGroup:LogGroup": "arn:aws:logs:{region}:{account}:log-group:{name}",
    "aws:cloudwatch/eventRule:EventRule": "arn:aws:events:{region}:{account}:rule/{name}",
    "aws:efs/fileSystem:FileSystem": "arn:aws:elasticfilesystem:{region}:{account}:file-system/{id}",
    "aws:efs/accessPoint:AccessPoint": "arn:aws:elasticfilesystem:{region}:{account}:access-point/{id}",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "arn:aws:fsx:{region}:{account}:file-system/{id}",
    "aws:secretsmanager/secret:Secret": "arn:aws:secretsmanager:{region}:{account}:secret:{name}",
}
_NAMED = ("name", "bucket", "nodeGroupName", "clusterName")


def outputs_after_up(type_: str, name: str, inputs: dict[str, Any], region: str) -> tuple[str, dict[str, Any]]:
    """A made-up id and made-up outputs of an AWS resource: the same for the same resource."""
    digest = hashlib.sha256(f"{type_}|{name}".encode()).hexdigest()
    given = next((inputs[k] for k in _NAMED if isinstance(inputs.get(k), str) and not _hidden(inputs[k])), None)
    shown = given or f"{name}-{digest[:7]}"
    uuid = f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
    prefix = _PREFIXES.get(type_)
    identifier = f"{prefix}-{digest[:17]}" if prefix else uuid if type_ == "aws:kms/key:Key" else shown
    form = _ARNS.get(type_, f"arn:aws:{type_.split(':')[1].partition('/')[0]}" + ":{region}:{account}:thing/{id}")
    outputs = {
        "id": identifier,
        "name": shown,
        "arn": form.format(account=ACCOUNT, region=region, name=shown, id=identifier),
        "keyId": identifier,
        "tagsAll": inputs.get("tags", {}),
    }
    if type_ == "aws:sqs/queue:Queue":
        outputs["id"] = outputs["url"] = identifier = f"https://sqs.{region}.amazonaws.com/{ACCOUNT}/{shown}"
    if type_ == "aws:s3/bucket:Bucket":
        outputs |= {"bucket": shown, "bucketRegionalDomainName": f"{shown}.s3.{region}.amazonaws.com"}
    if type_ == "aws:fsx/lustreFileSystem:LustreFileSystem":
        outputs |= {"mountName": digest[:8], "dnsName": f"{identifier}.fsx.{region}.amazonaws.com"}
    if type_ == "aws:eks/cluster:Cluster":
        outputs |= {"endpoint": f"https://{digest[:32].upper()}.gr7.{region}.eks.amazonaws.com"}
        outputs |= {"certificateAuthority": {"data": "Q0E="}, "certificateAuthorities": [{"data": "Q0E="}]}
        outputs["vpcConfig"] = {
            **(inputs.get("vpcConfig") or {}),
            "clusterSecurityGroupId": f"sg-{digest[:17]}",
            "vpcId": f"vpc-{digest[:17]}",
        }
    return identifier, outputs


def _hidden(value: Any) -> bool:
    return wire.UNKNOWN_SENTINEL in str(value)


def _caller(_region: str, _args: dict[str, Any]) -> dict[str, Any]:
    return {"accountId": ACCOUNT, "arn": f"arn:aws:iam::{ACCOUNT}:user/ci", "userId": "AIDA", "id": ACCOUNT}


def _zones(region: str, _args: dict[str, Any]) -> dict[str, Any]:
    short = "".join(part[0] for part in region.split("-")[:-1])
    letters = "abcdef"
    return {
        "names": [f"{region}{letter}" for letter in letters],
        "zoneIds": [f"{region[:2]}{short[1:]}{region[-1]}-az{i + 4}" for i in range(len(letters))],
        "groupNames": [region],
        "id": region,
        "region": region,
    }


def _roles(_region: str, args: dict[str, Any]) -> dict[str, Any]:
    name = str(args.get("nameRegex", "^role$")).strip("^$")
    return {"names": [name], "arns": [f"arn:aws:iam::{ACCOUNT}:role/{name}"], "id": name}


_ANSWERS: dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
    "aws:iam/getRoles:getRoles": _roles,
}


@contextmanager
def assumed_outputs() -> Iterator[None]:
    """Within, ``evaluate`` sees every AWS resource as created and every question as answered."""
    known, construct = Registry._known, engine_monitor.construct

    def after_up(self: Registry, goal: Goal, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        if not goal.custom or not goal.type.startswith("aws:"):
            return known(self, goal, inputs)
        region = self.config.get("aws:region", "us-east-2")
        identifier, outputs = outputs_after_up(goal.type, goal.name, inputs, region)
        return identifier, {**inputs, **outputs}

    def built(component: State, register: Any, partition: str) -> Any:
        made = construct(component, register, partition)
        if made is None:
            return None
        region = "us-east-2"
        _, cluster = outputs_after_up("aws:eks/cluster:Cluster", component.goal.name, component.inputs, region)
        group = cluster["vpcConfig"]["clusterSecurityGroupId"]
        facts = {
            "clusterSecurityGroupId": group,
            "nodeSecurityGroupId": group,
            "oidcProviderUrl": f"https://{ORGANIZATION_OIDC}",
            "oidcIssuer": ORGANIZATION_OIDC,
            "kubeconfig": {"apiVersion": "v1", "kind": "Config"},
            "kubeconfigJson": '{"apiVersion": "v1", "kind": "Config"}',
        }
        made.outputs.update({k: v for k, v in facts.items() if _hidden(made.outputs.get(k))})
        return made

    with (
        mock.patch.object(Registry, "_known", after_up),
        mock.patch.object(engine_monitor, "construct", built),
        mock.patch.object(engine_monitor.Monitor, "_pending", return_value=False),
        mock.patch.dict(engine_monitor.ANSWERS, _ANSWERS),
    ):
        yield

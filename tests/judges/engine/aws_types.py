"""What AWS does with each resource type: which changes replace, which names are made up, which outputs appear."""

import functools
import hashlib
import re
import warnings
from typing import Any

import pulumi_aws

ACCOUNT = "123456789012"

with warnings.catch_warnings():  # the SDK's modules load on first use, and then warn of their own deprecated parts
    warnings.simplefilter("ignore")
    for _package in ("cloudwatch", "ec2", "efs", "eks", "iam", "kms", "lb", "s3", "sqs", "vpc"):
        getattr(getattr(pulumi_aws, _package), "__all__", None)

REPLACES: dict[str, frozenset[str]] = {
    type_: frozenset(fields.split())
    for type_, fields in {
        "aws:ec2/vpc:Vpc": "cidrBlock ipv4IpamPoolId",
        "aws:ec2/subnet:Subnet": "vpcId cidrBlock availabilityZone availabilityZoneId",
        "aws:ec2/securityGroup:SecurityGroup": "name namePrefix description vpcId",
        "aws:ec2/internetGateway:InternetGateway": "",
        "aws:ec2/eip:Eip": "domain networkBorderGroup",
        "aws:ec2/natGateway:NatGateway": "subnetId allocationId connectivityType",
        "aws:ec2/routeTable:RouteTable": "vpcId",
        "aws:ec2/route:Route": "routeTableId destinationCidrBlock destinationIpv6CidrBlock destinationPrefixListId",
        "aws:ec2/routeTableAssociation:RouteTableAssociation": "subnetId gatewayId",
        "aws:ec2/vpcEndpoint:VpcEndpoint": "vpcId serviceName vpcEndpointType",
        "aws:ec2/placementGroup:PlacementGroup": "name strategy partitionCount spreadLevel",
        "aws:ec2/launchTemplate:LaunchTemplate": "name namePrefix",
        "aws:ec2/tag:Tag": "resourceId key",
        "aws:iam/role:Role": "name namePrefix path",
        "aws:iam/policy:Policy": "name namePrefix path description",
        "aws:iam/rolePolicy:RolePolicy": "name namePrefix role",
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "role policyArn",
        "aws:iam/instanceProfile:InstanceProfile": "name namePrefix path",
        "aws:sqs/queue:Queue": "name namePrefix fifoQueue",
        "aws:sqs/queuePolicy:QueuePolicy": "queueUrl",
        "aws:cloudwatch/eventRule:EventRule": "name namePrefix eventBusName",
        "aws:cloudwatch/eventTarget:EventTarget": "rule targetId eventBusName",
        "aws:cloudwatch/logGroup:LogGroup": "name namePrefix logGroupClass",
        "aws:kms/alias:Alias": "name namePrefix",
        "aws:eks/cluster:Cluster": "name roleArn bootstrapSelfManagedAddons kubernetesNetworkConfig outpostConfig",
        "aws:eks/nodeGroup:NodeGroup": (
            "clusterName nodeGroupName nodeGroupNamePrefix nodeRoleArn subnetIds instanceTypes amiType capacityType "
            "diskSize remoteAccess"
        ),
        "aws:eks/addon:Addon": "clusterName addonName",
        "aws:eks/accessEntry:AccessEntry": "clusterName principalArn type",
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": "clusterName principalArn policyArn accessScope",
        "aws:eks/podIdentityAssociation:PodIdentityAssociation": "clusterName namespace serviceAccount",
        "aws:s3/bucket:Bucket": "bucket bucketPrefix",
        "aws:efs/fileSystem:FileSystem": "creationToken encrypted kmsKeyId performanceMode availabilityZoneName",
        "aws:efs/mountTarget:MountTarget": "fileSystemId subnetId ipAddress",
    }.items()
}
"""Input properties whose change makes AWS (and its provider) replace the resource."""

_SOLE = {
    "aws:cloudwatch/logGroup:LogGroup": ("name",),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name",),
    "aws:ec2/route:Route": ("routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": ("subnetId",),
    "aws:eks/accessEntry:AccessEntry": ("clusterName", "principalArn"),
    "aws:eks/addon:Addon": ("clusterName", "addonName"),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": ("clusterName", "namespace", "serviceAccount"),
    "aws:iam/policy:Policy": ("name",),
    "aws:kms/alias:Alias": ("name",),
    "aws:s3/bucket:Bucket": ("bucket",),
}
"""Inputs of which AWS has one resource only (of the types that moto does not keep)."""

_ID_PREFIX = {
    "aws:ec2/internetGateway:InternetGateway": "igw",
    "aws:ec2/eip:Eip": "eipalloc",
    "aws:ec2/natGateway:NatGateway": "nat",
    "aws:ec2/routeTable:RouteTable": "rtb",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "rtbassoc",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "vpce",
    "aws:ec2/launchTemplate:LaunchTemplate": "lt",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "sgr",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "sgr",
    "aws:efs/fileSystem:FileSystem": "fs",
}


@functools.cache
def sdk_class(type_: str) -> Any:
    """The SDK's class of a type token; None when there is none."""
    module, _, name = type_.partition(":")[2].partition(":")
    return getattr(getattr(pulumi_aws, module.partition("/")[0], None), name, None)


@functools.cache
def sure_outputs(type_: str) -> dict[str, str]:
    """Output properties that always have a value, by wire name: ``str``, ``int`` or ``bool``."""
    found = {}
    for attribute in vars(sdk_class(type_) or object).values():
        if isinstance(attribute, property) and attribute.fget is not None:
            hint = str(attribute.fget.__annotations__.get("return", ""))
            kind = re.fullmatch(r"[\w.]*Output\[(?:_builtins\.)?(str|int|bool)\]", hint)
            if kind:
                found[getattr(attribute.fget, "_pulumi_name", attribute.fget.__name__)] = kind.group(1)
    return found


def sole(type_: str, inputs: dict[str, Any]) -> tuple[Any, ...]:
    """What only one resource of the type may have; empty where AWS takes any number of the same."""
    return tuple(inputs.get(key) for key in _SOLE.get(type_, ()))


@functools.cache
def takes_name(type_: str) -> bool:
    """Whether the provider makes up a ``name`` when none is given (a node group has its own word for it)."""
    return "name" in sure_outputs(type_) or type_ == "aws:eks/nodeGroup:NodeGroup"


def identifier(type_: str, urn: str, inputs: dict[str, Any], serial: int) -> str:
    """An id in AWS's form: ``igw-…``, or the name where AWS identifies by name."""
    digest = hashlib.sha256(f"{urn}#{serial}".encode()).hexdigest()[:17]
    if type_ in _ID_PREFIX:
        return f"{_ID_PREFIX[type_]}-{digest}"
    if type_ == "aws:eks/nodeGroup:NodeGroup":
        return f"{inputs['clusterName']}:{inputs.get('nodeGroupName', digest)}"
    if type_ == "aws:eks/addon:Addon":
        return f"{inputs['clusterName']}:{inputs['addonName']}"
    return str(inputs.get("name") or digest)


def outputs_of(type_: str, number: str, inputs: dict[str, Any], region: str) -> dict[str, Any]:
    """Inputs with what AWS adds."""
    service, kind = type_.split(":")[1].split("/")
    outputs: dict[str, Any] = {}
    for name, kind_of in sure_outputs(type_).items():
        if kind_of != "str":
            outputs[name] = 1 if kind_of == "int" else False
        elif name == "arn" or name.endswith("Arn"):
            where = "" if service == "iam" else region
            outputs[name] = f"arn:aws:{service}:{where}:{ACCOUNT}:{kind}/{number}"
        else:
            outputs[name] = number if name in {"id", "name"} else f"{name}-of-{number}"
    outputs["region"] = region
    outputs["tagsAll"] = inputs.get("tags", {})
    return outputs | {key: value for key, value in inputs.items() if key != "__defaults"}

"""Inputs against AWS's own API models (botocore): enumerations, lengths, ranges and patterns of what we send."""

import functools
import re
from typing import Any

OPERATIONS: dict[str, tuple[str, str]] = {
    "aws:ec2/vpc:Vpc": ("ec2", "CreateVpc"),
    "aws:ec2/subnet:Subnet": ("ec2", "CreateSubnet"),
    "aws:ec2/securityGroup:SecurityGroup": ("ec2", "CreateSecurityGroup"),
    "aws:ec2/placementGroup:PlacementGroup": ("ec2", "CreatePlacementGroup"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": ("ec2", "CreateVpcEndpoint"),
    "aws:ec2/natGateway:NatGateway": ("ec2", "CreateNatGateway"),
    "aws:iam/role:Role": ("iam", "CreateRole"),
    "aws:iam/policy:Policy": ("iam", "CreatePolicy"),
    "aws:iam/instanceProfile:InstanceProfile": ("iam", "CreateInstanceProfile"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ("iam", "AttachRolePolicy"),
    "aws:sqs/queue:Queue": ("sqs", "CreateQueue"),
    "aws:cloudwatch/eventRule:EventRule": ("events", "PutRule"),
    "aws:eks/cluster:Cluster": ("eks", "CreateCluster"),
    "aws:eks/nodeGroup:NodeGroup": ("eks", "CreateNodegroup"),
    "aws:eks/addon:Addon": ("eks", "CreateAddon"),
    "aws:eks/accessEntry:AccessEntry": ("eks", "CreateAccessEntry"),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": ("eks", "AssociateAccessPolicy"),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": ("eks", "CreatePodIdentityAssociation"),
    "aws:kms/key:Key": ("kms", "CreateKey"),
}
"""The API call behind each type."""

RENAMED = {
    "assumeRolePolicy": "AssumeRolePolicyDocument",
    "vpcConfig": "resourcesVpcConfig",
    "enabledClusterLogTypes": "",
    "nodeGroupName": "nodegroupName",
    "nodeRoleArn": "nodeRole",
    "name": "",
    "policy": "PolicyDocument",
    "encryptionConfig": "",
    "tags": "",
    "eventPattern": "EventPattern",
    "resolveConflictsOnCreate": "resolveConflicts",
}
"""Properties the provider names otherwise than the API; empty: of another form, not compared."""

_NAMES = {
    "aws:iam/role:Role": "RoleName",
    "aws:iam/policy:Policy": "PolicyName",
    "aws:iam/instanceProfile:InstanceProfile": "InstanceProfileName",
    "aws:ec2/securityGroup:SecurityGroup": "GroupName",
    "aws:sqs/queue:Queue": "QueueName",
    "aws:cloudwatch/eventRule:EventRule": "Name",
    "aws:eks/cluster:Cluster": "name",
}


@functools.cache
def _shape(service: str, operation: str) -> Any:
    import botocore.session

    return botocore.session.get_session().get_service_model(service).operation_model(operation).input_shape


def _member(shape: Any, name: str) -> Any:
    folded = name.casefold()
    return next((item for key, item in shape.members.items() if key.casefold() == folded), None)


def _faults(path: str, shape: Any, value: Any) -> list[str]:
    limits = shape.metadata
    if shape.type_name == "structure" and isinstance(value, dict):
        found = []
        for key, item in value.items():
            member = _member(shape, key)
            if member is not None:
                found += _faults(f"{path}.{key}", member, item)
        return found
    if shape.type_name == "list" and isinstance(value, list):
        return [text for item in value for text in _faults(path, shape.member, item)]
    if shape.type_name == "string" and isinstance(value, str):
        found = []
        if shape.enum and value not in shape.enum:
            found.append(f"{path}: {value!r} is none of {', '.join(shape.enum)}")
        if not limits.get("min", 0) <= len(value) <= limits.get("max", 10**9):
            found.append(f"{path}: {len(value)} characters, allowed {limits.get('min', 0)} to {limits.get('max')}")
        pattern = limits.get("pattern")
        if pattern and "\\p{" not in pattern and not re.fullmatch(pattern, value, re.DOTALL):
            found.append(f"{path}: {value!r} does not match {pattern}")
        return found
    if shape.type_name in {"integer", "long"} and isinstance(value, (int, float)):
        if not limits.get("min", value) <= value <= limits.get("max", value):
            return [f"{path}: {value} is outside {limits.get('min')} to {limits.get('max')}"]
        return []
    if shape.type_name in {"boolean", "integer", "long", "list", "structure"} and isinstance(value, str):
        return [f"{path}: a {shape.type_name} is wanted, not {value!r}"]
    return []


def check_inputs(type_: str, inputs: dict[str, Any]) -> list[tuple[str, str]]:
    """(property, fault) for each input that AWS's API would refuse by its form."""
    if type_ not in OPERATIONS:
        return []
    shape = _shape(*OPERATIONS[type_])
    found = []
    for key, value in inputs.items():
        name = _NAMES.get(type_, "") if key == "name" else RENAMED.get(key, key)
        member = _member(shape, name) if name else None
        if member is not None:
            found += [(key, text) for text in _faults(key, member, value)]
    return found

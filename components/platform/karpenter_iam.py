"""Karpenter's six policies, as small as its 1.14 getting-started template has them. Pure: text in, documents out.

One policy would pass IAM's limit of 6,144 characters. What Karpenter may change, it may change only when the tags of
this cluster are on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.platform.site import Policy

CREATORS = ("RunInstances", "CreateFleet", "CreateLaunchTemplate")
OWNED_KINDS = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
PASSED_TO = ("ec2.amazonaws.com", "ec2.amazonaws.com.cn")
READS = (
    "CapacityReservations",
    "Images",
    "Instances",
    "InstanceStatus",
    "InstanceTypeOfferings",
    "InstanceTypes",
    "LaunchTemplates",
    "PlacementGroups",
    "SecurityGroups",
    "SpotPriceHistory",
    "Subnets",
)


def karpenter_policies(
    partition: str, region: str, account: str, *, cluster: str, node_role: str, queue: str
) -> dict[str, Policy]:
    """The six policies by short name.

    Args:
        partition: of the region.
        region: where the cluster is.
        account: id of the account.
        cluster: the cluster's name, on whose tags every change is conditioned.
        node_role: physical name of the role that nodes get; the only role that may be passed.
        queue: physical name of the interruption queue.
    """
    return {
        "node-lifecycle": _policy(*_node_lifecycle(partition, region, cluster)),
        "iam-integration": _policy(*_iam_integration(partition, region, account, cluster, node_role)),
        "eks-integration": _policy(
            _allow(
                "AllowAPIServerEndpointDiscovery",
                ["eks:DescribeCluster"],
                [f"arn:{partition}:eks:{region}:{account}:cluster/{cluster}"],
            )
        ),
        "interruption": _policy(
            _allow(
                "AllowInterruptionQueueActions",
                ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"],
                [f"arn:{partition}:sqs:{region}:{account}:{queue}"],
            )
        ),
        "zonal-shift": _policy(
            _allow(
                "AllowZonalShiftStatusReadOnly",
                ["arc-zonal-shift:GetManagedResource"],
                ["*"],
                StringEquals={
                    "arc-zonal-shift:ResourceIdentifier": f"arn:{partition}:eks:{region}:{account}:cluster/{cluster}"
                },
            )
        ),
        "resource-discovery": _policy(*_resource_discovery(partition, region, account)),
    }


def _node_lifecycle(partition: str, region: str, cluster: str) -> Sequence[Policy]:
    ec2 = f"arn:{partition}:ec2:{region}"
    owned_kinds = [f"{ec2}:*:{kind}/*" for kind in OWNED_KINDS]
    tag_equals, pool_like = _owned("ResourceTag", cluster), {"aws:ResourceTag/karpenter.sh/nodepool": "*"}
    asked_equals = _owned("RequestTag", cluster) | {"aws:RequestTag/eks:eks-cluster-name": cluster}
    asked_like = {"aws:RequestTag/karpenter.sh/nodepool": "*"}
    launch = ["ec2:RunInstances", "ec2:CreateFleet"]
    used = [f"{ec2}::image/*", f"{ec2}::snapshot/*"] + [
        f"{ec2}:*:{kind}/*" for kind in ("security-group", "subnet", "capacity-reservation", "placement-group")
    ]
    return (
        _allow("AllowScopedEC2InstanceAccessActions", launch, used),
        _allow(
            "AllowScopedEC2LaunchTemplateAccessActions",
            launch,
            [f"{ec2}:*:launch-template/*"],
            StringEquals=tag_equals,
            StringLike=pool_like,
        ),
        _allow(
            "AllowScopedEC2InstanceActionsWithTags",
            [*launch, "ec2:CreateLaunchTemplate"],
            owned_kinds,
            StringEquals=asked_equals,
            StringLike=asked_like,
        ),
        _allow(
            "AllowScopedResourceCreationTagging",
            ["ec2:CreateTags"],
            owned_kinds,
            StringEquals=asked_equals | {"ec2:CreateAction": list(CREATORS)},
            StringLike=asked_like,
        ),
        _allow(
            "AllowScopedResourceTagging",
            ["ec2:CreateTags"],
            [f"{ec2}:*:instance/*"],
            {
                "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": cluster},
                "ForAllValues:StringEquals": {
                    "aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]
                },
            },
            StringEquals=tag_equals,
            StringLike=pool_like,
        ),
        _allow(
            "AllowScopedDeletion",
            ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
            [f"{ec2}:*:instance/*", f"{ec2}:*:launch-template/*"],
            StringEquals=tag_equals,
            StringLike=pool_like,
        ),
    )


def _iam_integration(partition: str, region: str, account: str, cluster: str, node_role: str) -> Sequence[Policy]:
    profiles = [f"arn:{partition}:iam::{account}:instance-profile/*"]
    here = _owned("ResourceTag", cluster) | {"aws:ResourceTag/topology.kubernetes.io/region": region}
    asked = _owned("RequestTag", cluster) | {
        "aws:RequestTag/eks:eks-cluster-name": cluster,
        "aws:RequestTag/topology.kubernetes.io/region": region,
    }
    of_class = {"aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass": "*"}
    for_class = {"aws:RequestTag/karpenter.k8s.aws/ec2nodeclass": "*"}
    return (
        _allow(
            "AllowPassingInstanceRole",
            ["iam:PassRole"],
            [f"arn:{partition}:iam::{account}:role/{node_role}"],
            StringEquals={"iam:PassedToService": list(PASSED_TO)},
        ),
        _allow(
            "AllowScopedInstanceProfileCreationActions",
            ["iam:CreateInstanceProfile"],
            profiles,
            StringEquals=asked,
            StringLike=for_class,
        ),
        _allow(
            "AllowScopedInstanceProfileTagActions",
            ["iam:TagInstanceProfile"],
            profiles,
            StringEquals=here | asked,
            StringLike=of_class | for_class,
        ),
        _allow(
            "AllowScopedInstanceProfileActions",
            ["iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"],
            profiles,
            StringEquals=here,
            StringLike=of_class,
        ),
    )


def _resource_discovery(partition: str, region: str, account: str) -> Sequence[Policy]:
    return (
        _allow(
            "AllowRegionalReadActions",
            [f"ec2:Describe{what}" for what in READS],
            ["*"],
            StringEquals={"aws:RequestedRegion": region},
        ),
        _allow("AllowSSMReadActions", ["ssm:GetParameter"], [f"arn:{partition}:ssm:{region}::parameter/aws/service/*"]),
        _allow("AllowPricingReadActions", ["pricing:GetProducts"], ["*"]),
        _allow("AllowUnscopedInstanceProfileListAction", ["iam:ListInstanceProfiles"], ["*"]),
        _allow(
            "AllowInstanceProfileReadActions",
            ["iam:GetInstanceProfile"],
            [f"arn:{partition}:iam::{account}:instance-profile/*"],
        ),
    )


def _owned(kind: str, cluster: str) -> dict[str, Any]:
    return {f"aws:{kind}/kubernetes.io/cluster/{cluster}": "owned"}


def _policy(*statements: Policy) -> Policy:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _allow(
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    condition: Mapping[str, Any] | None = None,
    **operators: Mapping[str, Any],
) -> Policy:
    conditions = {**operators, **(condition or {})}
    statement: Policy = {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": list(resources)}
    return statement | ({"Condition": conditions} if conditions else {})

"""What the AWS Load Balancer Controller may do. Pure: text in, document out.

After upstream's policy (aws-load-balancer-controller, ``docs/install/iam_policy.json``, read 2026-11-30), and smaller:
what it makes carries a tag with the cluster's name, and only what carries this cluster's name may it change. Left out
is what the chart is told not to use (firewalls, shield) and what EKS in a region does not have (Outposts address pools,
IPAM pools, certificates in IAM, Cognito).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.platform.site import Policy

TAG = "elbv2.k8s.aws/cluster"
_EC2_READS = (
    "DescribeAccountAttributes",
    "DescribeAddresses",
    "DescribeAvailabilityZones",
    "DescribeInstances",
    "DescribeInternetGateways",
    "DescribeNetworkInterfaces",
    "DescribeRouteTables",
    "DescribeSecurityGroups",
    "DescribeSubnets",
    "DescribeTags",
    "DescribeVpcPeeringConnections",
    "DescribeVpcs",
)
_ELB_READS = (
    "DescribeCapacityReservation",
    "DescribeListenerAttributes",
    "DescribeListenerCertificates",
    "DescribeListeners",
    "DescribeLoadBalancerAttributes",
    "DescribeLoadBalancers",
    "DescribeRules",
    "DescribeSSLPolicies",
    "DescribeTags",
    "DescribeTargetGroupAttributes",
    "DescribeTargetGroups",
    "DescribeTargetHealth",
    "DescribeTrustStores",
)
_ELB_CHANGES = (
    "DeleteLoadBalancer",
    "DeleteTargetGroup",
    "ModifyCapacityReservation",
    "ModifyListenerAttributes",
    "ModifyLoadBalancerAttributes",
    "ModifyTargetGroup",
    "ModifyTargetGroupAttributes",
    "SetIpAddressType",
    "SetSecurityGroups",
    "SetSubnets",
)
_LISTENER_CHANGES = (
    "AddListenerCertificates",
    "DeleteListener",
    "DeleteRule",
    "ModifyListener",
    "ModifyRule",
    "RemoveListenerCertificates",
    "SetRulePriorities",
)


def load_balancer_policies(partition: str, region: str, account: str, cluster: str) -> dict[str, Policy]:
    """The controller's policies, for one cluster's load balancers in one region of one account.

    Two, as one would pass IAM's limit of 6,144 characters.
    """
    return {
        "read": _policy(_reads(partition, region, account)),
        "change": _policy(_changes(partition, region, account, cluster)),
    }


def _reads(partition: str, region: str, account: str) -> list[Policy]:
    certificates = f"arn:{partition}:acm:{region}:{account}:certificate/*"
    return [
        _allow("Read", [*_named("ec2", _EC2_READS), *_elb(*_ELB_READS), "acm:ListCertificates"], "*"),
        _allow("ReadGroupsOfVpc", ["ec2:GetSecurityGroupsForVpc"], f"arn:{partition}:ec2:{region}:{account}:vpc/*"),
        _allow("ReadCertificate", ["acm:DescribeCertificate"], certificates),
    ]


def _changes(partition: str, region: str, account: str, cluster: str) -> list[Policy]:
    ec2 = f"arn:{partition}:ec2:{region}:{account}"
    elb = f"arn:{partition}:elasticloadbalancing:{region}:{account}"
    groups, vpcs = f"{ec2}:security-group/*", f"{ec2}:vpc/*"
    targets = f"{elb}:targetgroup/*/*"
    balancers = [f"{elb}:loadbalancer/{kind}/*/*" for kind in ("app", "net")]
    listeners = [f"{elb}:listener/{kind}/*/*/*" for kind in ("app", "net")]
    rules = [f"{elb}:listener-rule/{kind}/*/*/*/*" for kind in ("app", "net")]
    asked = {"StringEquals": {f"aws:RequestTag/{TAG}": cluster}}
    owned = {"StringEquals": {f"aws:ResourceTag/{TAG}": cluster}}
    retagged = owned | {"Null": {f"aws:RequestTag/{TAG}": "true"}}
    return [
        _allow(
            "ServiceLinkedRole",
            ["iam:CreateServiceLinkedRole"],
            "*",
            {"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}},
        ),
        _allow("RulesOfGroups", ["ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"], groups),
        _allow("MakeGroups", ["ec2:CreateSecurityGroup"], [groups, vpcs]),
        _allow("TagNewGroups", ["ec2:CreateTags"], groups, _with(asked, "ec2:CreateAction", "CreateSecurityGroup")),
        _allow("TagOwnGroups", ["ec2:CreateTags", "ec2:DeleteTags"], groups, retagged),
        _allow("DeleteOwnGroups", ["ec2:DeleteSecurityGroup"], groups, owned),
        _allow("Make", _elb("CreateLoadBalancer", "CreateTargetGroup"), "*", asked),
        _allow("MakeListeners", _elb("CreateListener", "CreateRule"), [*balancers, *listeners]),
        _allow("TagOwn", _elb("AddTags", "RemoveTags"), [targets, *balancers], retagged),
        _allow("TagListeners", _elb("AddTags", "RemoveTags"), [*listeners, *rules]),
        _allow("ChangeOwn", _elb(*_ELB_CHANGES), "*", owned),
        _allow(
            "TagNew",
            _elb("AddTags"),
            [targets, *balancers],
            _with(asked, "elasticloadbalancing:CreateAction", ["CreateLoadBalancer", "CreateTargetGroup"]),
        ),
        _allow("Targets", _elb("DeregisterTargets", "RegisterTargets"), targets),
        _allow("ChangeListeners", _elb(*_LISTENER_CHANGES), [*listeners, *rules]),
    ]


def _policy(statements: list[Policy]) -> Policy:
    return {"Version": "2012-10-17", "Statement": statements}


def _with(condition: Mapping[str, Mapping[str, Any]], key: str, value: Any) -> dict[str, Any]:
    return {"StringEquals": {**condition["StringEquals"], key: value}}


def _named(service: str, actions: Sequence[str]) -> list[str]:
    return [f"{service}:{action}" for action in actions]


def _elb(*actions: str) -> list[str]:
    return _named("elasticloadbalancing", actions)


def _allow(
    sid: str, actions: Sequence[str], resource: str | Sequence[str], condition: Mapping[str, Any] | None = None
) -> Policy:
    where = resource if isinstance(resource, str) else list(resource)
    statement: Policy = {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": where}
    return statement | ({"Condition": dict(condition)} if condition else {})

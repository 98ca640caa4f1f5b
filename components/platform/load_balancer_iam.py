"""What the AWS Load Balancer Controller may do. Pure: text in, document out.

Upstream's policy (aws-load-balancer-controller, ``docs/install/iam_policy.json``, read 2026-11-30), statement by
statement: what it makes carries a tag with the cluster's name, and only what carries the tag may it change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.platform.site import Policy

TAG = "elbv2.k8s.aws/cluster"
_ASKED = {"Null": {f"aws:RequestTag/{TAG}": "false"}}
_OWNED = {"Null": {f"aws:ResourceTag/{TAG}": "false"}}
_RETAGGED = {"Null": {f"aws:RequestTag/{TAG}": "true", f"aws:ResourceTag/{TAG}": "false"}}

_EC2_READS = (
    "DescribeAccountAttributes",
    "DescribeAddresses",
    "DescribeAvailabilityZones",
    "DescribeCoipPools",
    "DescribeInstances",
    "DescribeInternetGateways",
    "DescribeIpamPools",
    "DescribeNetworkInterfaces",
    "DescribeRouteTables",
    "DescribeSecurityGroups",
    "DescribeSubnets",
    "DescribeTags",
    "DescribeVpcPeeringConnections",
    "DescribeVpcs",
    "GetCoipPoolUsage",
    "GetSecurityGroupsForVpc",
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
_OTHER_READS = (
    "acm:DescribeCertificate",
    "acm:ListCertificates",
    "cognito-idp:DescribeUserPoolClient",
    "iam:GetServerCertificate",
    "iam:ListServerCertificates",
)
_ELB_CHANGES = (
    "DeleteLoadBalancer",
    "DeleteTargetGroup",
    "ModifyCapacityReservation",
    "ModifyIpPools",
    "ModifyListenerAttributes",
    "ModifyLoadBalancerAttributes",
    "ModifyTargetGroup",
    "ModifyTargetGroupAttributes",
    "SetIpAddressType",
    "SetSecurityGroups",
    "SetSubnets",
)


def load_balancer_policy(partition: str) -> Policy:
    """The controller's policy. Firewall and shield actions are left out: the chart is told not to use them."""
    groups = f"arn:{partition}:ec2:*:*:security-group/*"
    elb = f"arn:{partition}:elasticloadbalancing:*:*"
    balancers = [f"{elb}:targetgroup/*/*", f"{elb}:loadbalancer/net/*/*", f"{elb}:loadbalancer/app/*/*"]
    listeners = [f"{elb}:{kind}/{what}" for kind in ("listener", "listener-rule") for what in _paths(kind)]
    return {
        "Version": "2012-10-17",
        "Statement": [
            _allow(
                "ServiceLinkedRole",
                ["iam:CreateServiceLinkedRole"],
                "*",
                {"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}},
            ),
            _allow("Read", [*_named("ec2", _EC2_READS), *_named("elasticloadbalancing", _ELB_READS), *_OTHER_READS]),
            _allow("RulesOfGroups", ["ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"]),
            _allow("MakeGroups", ["ec2:CreateSecurityGroup"]),
            _allow(
                "TagNewGroups",
                ["ec2:CreateTags"],
                groups,
                _ASKED | {"StringEquals": {"ec2:CreateAction": "CreateSecurityGroup"}},
            ),
            _allow("TagOwnGroups", ["ec2:CreateTags", "ec2:DeleteTags"], groups, _RETAGGED),
            _allow("DeleteOwnGroups", ["ec2:DeleteSecurityGroup"], "*", _OWNED),
            _allow("Make", _elb("CreateLoadBalancer", "CreateTargetGroup"), "*", _ASKED),
            _allow("Listeners", _elb("CreateListener", "CreateRule", "DeleteListener", "DeleteRule")),
            _allow("TagOwn", _elb("AddTags", "RemoveTags"), balancers, _RETAGGED),
            _allow("TagListeners", _elb("AddTags", "RemoveTags"), listeners),
            _allow("ChangeOwn", _elb(*_ELB_CHANGES), "*", _OWNED),
            _allow(
                "TagNew",
                _elb("AddTags"),
                balancers,
                _ASKED
                | {
                    "StringEquals": {
                        "elasticloadbalancing:CreateAction": ["CreateLoadBalancer", "CreateTargetGroup"],
                    }
                },
            ),
            _allow("Targets", _elb("DeregisterTargets", "RegisterTargets"), f"{elb}:targetgroup/*/*"),
            _allow(
                "ChangeListeners",
                _elb(
                    "AddListenerCertificates",
                    "ModifyListener",
                    "ModifyRule",
                    "RemoveListenerCertificates",
                    "SetRulePriorities",
                ),
            ),
        ],
    }


def _paths(kind: str) -> tuple[str, str]:
    tail = "*/*/*" if kind == "listener" else "*/*/*/*"
    return f"net/{tail}", f"app/{tail}"


def _named(service: str, actions: Sequence[str]) -> list[str]:
    return [f"{service}:{action}" for action in actions]


def _elb(*actions: str) -> list[str]:
    return _named("elasticloadbalancing", actions)


def _allow(
    sid: str,
    actions: Sequence[str],
    resource: str | Sequence[str] = "*",
    condition: Mapping[str, Any] | None = None,
) -> Policy:
    where = resource if isinstance(resource, str) else list(resource)
    statement: Policy = {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": where}
    return statement | ({"Condition": dict(condition)} if condition else {})

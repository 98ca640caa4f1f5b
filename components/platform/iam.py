"""Roles: who may take them, and the smallest policies that work."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from components.platform.site import Policy, Site, document

EC2_TRUST: Policy = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


def pod_trust(partition: str, region: str, account: str, cluster: str) -> Policy:
    """Trust of a role that pods of one cluster take through EKS Pod Identity."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "pods.eks.amazonaws.com"},
                "Action": ["sts:AssumeRole", "sts:TagSession"],
                "Condition": {
                    "StringEquals": {"aws:SourceAccount": account},
                    "ArnEquals": {"aws:SourceArn": f"arn:{partition}:eks:{region}:{account}:cluster/{cluster}"},
                },
            }
        ],
    }


class PodRole(pulumi.ComponentResource):
    """An IAM role for one service account, taken through EKS Pod Identity.

    Args:
        name: logical name.
        site: where.
        namespace: of the service account.
        service_account: whose pods get the credentials, injected when a pod is made: this component first, pods after.
        managed: names of AWS-managed policies, such as ``service-role/AmazonEBSCSIDriverPolicy``.
        policies: own policies as JSON, by a short name.
        associate: make the association here. An EKS add-on makes its own from ``arn`` and must not find another.
        after: what the association needs: the cluster and its Pod Identity agent.
    """

    arn: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        site: Site,
        *,
        namespace: str,
        service_account: str,
        managed: Sequence[str] = (),
        policies: Mapping[str, pulumi.Input[str]] | None = None,
        associate: bool = True,
        after: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:PodRole", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = aws.iam.Role(
            f"{name}-role",
            description=f"{namespace}/{service_account} on EKS cluster {site.cluster}",
            assume_role_policy=site.policy(lambda a: pod_trust(site.partition, site.region, a, site.cluster)),
            opts=child,
        )
        attached = attach(name, site, role, managed=managed, policies=policies or {}, child=child)
        if associate:
            aws.eks.PodIdentityAssociation(
                f"{name}-association",
                cluster_name=site.cluster,
                namespace=namespace,
                service_account=service_account,
                role_arn=role.arn,
                opts=pulumi.ResourceOptions(parent=self, depends_on=[*after, *attached]),
            )
        self.arn = role.arn
        self.register_outputs({"arn": self.arn})


def node_role(
    name: str, site: Site, managed: Sequence[str], *, physical_name: str | None, parent: pulumi.Resource
) -> tuple[aws.iam.Role, list[pulumi.Resource]]:
    """A role for EC2 instances and its attachments. Nothing but what a node itself needs; pods have their own roles."""
    child = pulumi.ResourceOptions(parent=parent)
    role = aws.iam.Role(
        f"{name}-role",
        name=physical_name,
        description=f"Nodes of EKS cluster {site.cluster}",
        assume_role_policy=document(EC2_TRUST),
        opts=child,
    )
    return role, attach(name, site, role, managed=managed, policies={}, child=child)


def attach(
    name: str,
    site: Site,
    role: aws.iam.Role,
    *,
    managed: Sequence[str],
    policies: Mapping[str, pulumi.Input[str]],
    child: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Attach AWS-managed policies and own policies to a role, one resource each."""
    attached: list[pulumi.Resource] = [
        aws.iam.RolePolicyAttachment(
            f"{name}-{slug(policy.rsplit('/', 1)[-1])}",
            role=role.name,
            policy_arn=site.aws_managed(policy),
            opts=child,
        )
        for policy in managed
    ]
    for key, text in policies.items():
        policy = aws.iam.Policy(f"{name}-{key}-policy", policy=text, opts=child)
        attached.append(
            aws.iam.RolePolicyAttachment(f"{name}-{key}-attachment", role=role.name, policy_arn=policy.arn, opts=child)
        )
    return attached


def slug(text: str) -> str:
    """Lower-case words with dashes, for logical names: ``AmazonEKSClusterPolicy`` -> ``amazon-eks-cluster-policy``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", text)
    return re.sub(r"[^a-z0-9]+", "-", spaced.lower()).strip("-")

"""Where the platform stands: account, partition, region, cluster name, and the providers' settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from headwater.catalog.regions import partition_of
from headwater.plan import Plan

Policy = dict[str, Any]


@dataclass(frozen=True)
class Site:
    """What every component of the platform needs to name things in AWS.

    Attributes:
        plan: the environment, decided.
        aws: the provider of every AWS resource.
        account: account id; an Output where the stack file does not name the account.
    """

    plan: Plan
    aws: aws.Provider
    account: pulumi.Output[str]

    @property
    def cluster(self) -> str:
        """Physical name of the cluster."""
        return self.plan.cluster_name

    @property
    def region(self) -> str:
        """AWS region."""
        return self.plan.region

    @property
    def partition(self) -> str:
        """AWS partition of the region."""
        return partition_of(self.plan.region)

    @property
    def cluster_arn(self) -> pulumi.Output[str]:
        """ARN of the cluster, known before the cluster is."""
        return self.arn("eks", f"cluster/{self.cluster}")

    def arn(self, service: str, resource: str) -> pulumi.Output[str]:
        """ARN of a regional resource of this account."""
        return self.account.apply(lambda account: f"arn:{self.partition}:{service}:{self.region}:{account}:{resource}")

    def role_arn(self, role: str) -> pulumi.Output[str]:
        """ARN of a role of this account by its physical name."""
        return self.account.apply(lambda account: f"arn:{self.partition}:iam::{account}:role/{role}")

    def aws_managed(self, policy: str) -> str:
        """ARN of a policy that AWS maintains."""
        return f"arn:{self.partition}:iam::aws:policy/{policy}"

    def policy(self, make: Callable[[str], Policy]) -> pulumi.Output[str]:
        """A policy document that depends on the account id, as canonical JSON."""
        return self.account.apply(lambda account: document(make(account)))


def document(policy: Policy) -> str:
    """A policy as JSON with sorted keys, so that the same policy is the same text."""
    return json.dumps(policy, sort_keys=True)


def make_site(name: str, plan: Plan, parent: pulumi.Resource) -> Site:
    """The AWS provider, with default tags and the account guard, and who we are.

    The account comes from the stack file when it names one (and then no other account is touched), else AWS is asked.
    """
    account = plan.settings.cluster.account
    provider = aws.Provider(
        f"{name}-aws",
        region=plan.region,
        allowed_account_ids=None if account is None else [account],
        assume_roles=None
        if plan.settings.cluster.deploy_role is None
        else [aws.ProviderAssumeRoleArgs(role_arn=plan.settings.cluster.deploy_role)],
        default_tags=aws.ProviderDefaultTagsArgs(tags=default_tags(plan)),
        opts=pulumi.ResourceOptions(parent=parent),
    )
    if account is not None:
        return Site(plan, provider, pulumi.Output.from_input(account))
    identity = aws.get_caller_identity_output(opts=pulumi.InvokeOutputOptions(provider=provider, parent=parent))
    return Site(plan, provider, identity.account_id)


def default_tags(plan: Plan) -> dict[str, str]:
    """Tags of every AWS resource: whose it is, and what the stack file adds."""
    return {"headwater:environment": plan.environment, "headwater:cluster": plan.cluster_name} | dict(
        sorted(plan.settings.tags.values.items())
    )

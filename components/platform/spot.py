"""Spot capacity needs a role that AWS makes once an account; Karpenter cannot."""

from __future__ import annotations

import pulumi
import pulumi_aws as aws

from components.platform.site import Site

ROLE = "AWSServiceRoleForEC2Spot"


def require_spot_role(site: Site, parent: pulumi.Resource) -> pulumi.Output[str]:
    """The role's name, once AWS says it is there.

    Making it here would fail in every account that has it, and take it from others on destroy.

    Raises:
        ValueError: from the Output, when the account has no such role; says how to make it.
    """
    found = aws.iam.get_roles_output(
        name_regex=f"^{ROLE}$",
        path_prefix="/aws-service-role/spot.amazonaws.com/",
        opts=pulumi.InvokeOutputOptions(parent=parent, provider=site.aws),
    )
    return found.names.apply(first_or_refuse)


def first_or_refuse(names: list[str]) -> str:
    """The one name, or the sentence that says what to do."""
    if not names:
        raise ValueError(
            f"`buy: [spot]` needs the account's service-linked role {ROLE}, which is not there. "
            "Make it once: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"
        )
    return names[0]

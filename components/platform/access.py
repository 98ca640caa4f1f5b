"""Who administers the cluster: named principals, each with an access entry. Nobody by accident."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from components.platform.iam import slug
from components.platform.site import Site


class Access(pulumi.ComponentResource):
    """An access entry with cluster-admin rights for each administrator of the stack file."""

    def __init__(
        self, name: str, site: Site, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("headwater:platform:Access", name, {}, opts)
        for principal in site.plan.settings.cluster.administrators:
            account, resource = principal.split(":", 5)[4:]
            key = slug(f"{account}-{resource}")
            entry = aws.eks.AccessEntry(
                f"{name}-{key}",
                cluster_name=site.cluster,
                principal_arn=principal,
                type="STANDARD",
                opts=pulumi.ResourceOptions(parent=self, depends_on=after),
            )
            aws.eks.AccessPolicyAssociation(
                f"{name}-{key}-admin",
                cluster_name=site.cluster,
                principal_arn=entry.principal_arn,
                policy_arn=f"arn:{site.partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
                access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
                opts=pulumi.ResourceOptions(parent=self, depends_on=[entry]),
            )
        self.register_outputs({})

"""The EKS control plane: private, encrypted, logged, with administrators named on purpose. Or the one that is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks

from components.platform.control_zones import checked_subnets
from components.platform.network import NetworkRefs
from components.platform.site import Site
from headwater.settings.platform import PublicEndpoint

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
LOG_RETENTION_DAYS = 90


@dataclass(frozen=True)
class ClusterRefs:
    """What the rest of the platform needs of a control plane.

    Attributes:
        endpoint: URL of the API server.
        authority: its certificate authority, base64.
        security_group: EKS's own group: control plane and every node, open among themselves in both directions.
        ready: the control plane itself.
        made: whether it was made here; then its add-ons and system nodes are, too.
    """

    endpoint: pulumi.Output[str]
    authority: pulumi.Output[str]
    security_group: pulumi.Output[str]
    ready: Sequence[pulumi.Resource]
    made: bool


def make_cluster(name: str, site: Site, network: NetworkRefs, opts: pulumi.ResourceOptions) -> ClusterRefs:
    """The stack file's cluster: made here, or an existing one by its name."""
    existing = site.plan.settings.cluster.existing
    if existing is None:
        return Cluster(name, site, network, opts).refs
    found = aws.eks.get_cluster_output(
        name=existing, opts=pulumi.InvokeOutputOptions(parent=opts.parent, provider=site.aws)
    )
    return ClusterRefs(
        endpoint=found.endpoint,
        authority=found.certificate_authorities.apply(lambda authorities: authorities[0].data),
        security_group=found.vpc_config.cluster_security_group_id,
        ready=(),
        made=False,
    )


class Cluster(pulumi.ComponentResource):
    """The control plane through ``pulumi_eks.Cluster``, with everything that component would add switched off.

    What it cannot express (add-ons with Pod Identity, access entries, node groups) is made beside it with
    ``pulumi_aws``. Its inner cluster makes whoever creates it an administrator; when administrators are named, a
    transform takes that away.
    """

    refs: ClusterRefs

    def __init__(self, name: str, site: Site, network: NetworkRefs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("headwater:platform:Cluster", name, {}, opts)
        settings = site.plan.settings.cluster
        protect = settings.protect or None
        kept = pulumi.ResourceOptions(parent=self, protect=protect, retain_on_delete=settings.keep_data or None)
        key = aws.kms.Key(
            f"{name}-key",
            description=f"Kubernetes API data of EKS cluster {site.cluster}",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            opts=kept,
        )
        logs = aws.cloudwatch.LogGroup(
            f"{name}-logs",
            name=f"/aws/eks/{site.cluster}/cluster",
            retention_in_days=LOG_RETENTION_DAYS,
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=settings.keep_data or None),
        )
        public = settings.endpoint if isinstance(settings.endpoint, PublicEndpoint) else None
        control_plane = eks.Cluster(
            f"{name}-eks",
            name=site.cluster,
            version=site.plan.kubernetes,
            vpc_id=network.vpc_id,
            subnet_ids=checked_subnets(f"{name}-eks", site, network.control, self),
            authentication_mode=eks.AuthenticationMode.API,
            skip_default_node_group=True,
            skip_default_security_groups=True,
            create_oidc_provider=False,
            use_default_vpc_cni=True,
            coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
            kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(enabled=False),
            endpoint_private_access=True,
            endpoint_public_access=public is not None,
            public_access_cidrs=list(public.public) if public else None,
            enabled_cluster_log_types=list(LOG_TYPES),
            encryption_config_key_arn=key.arn,
            upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
            deletion_protection=settings.deletion_protection,
            provider_credential_opts=eks.KubeconfigOptionsArgs(role_arn=settings.deploy_role),
            opts=pulumi.ResourceOptions(
                parent=self,
                providers=[site.aws],
                depends_on=[logs],
                protect=protect,
                transforms=[_creator_is_nobody] if settings.administrators else None,
            ),
        )
        pulumi.log.info(settings.reach, resource=self)
        inner = control_plane.eks_cluster
        self.refs = ClusterRefs(
            endpoint=inner.endpoint,
            authority=inner.certificate_authority.apply(lambda authority: authority.data),
            security_group=inner.vpc_config.apply(lambda config: config.cluster_security_group_id),
            # The inner cluster by name, too: who only stands on the component may be deleted after its parts.
            ready=(control_plane, cast("pulumi.Resource", inner)),
            made=True,
        )
        self.register_outputs({"endpoint": self.refs.endpoint})


def _creator_is_nobody(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
    """The identity that creates the cluster gets no rights by creating it."""
    if args.type_ != "aws:eks/cluster:Cluster":
        return None
    access: dict[str, Any] = dict(cast("dict[str, Any]", args.props.get("accessConfig") or {}))
    access["bootstrapClusterCreatorAdminPermissions"] = False
    return pulumi.ResourceTransformResult(props={**args.props, "accessConfig": access}, opts=args.opts)

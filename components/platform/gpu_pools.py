"""GPU nodes: for each pool of the plan one EC2NodeClass and its NodePool, on Karpenter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.platform.gpu_specs import node_class_spec, node_pool_spec, warm_pool_spec
from components.platform.karpenter import Karpenter
from components.platform.network import NetworkRefs
from components.platform.site import Site, default_tags
from components.platform.spot import require_spot_role
from headwater.catalog.releases import pinned_ami
from headwater.plan.model import Pool

CLASS_TIMEOUTS = pulumi.CustomTimeouts(delete="30m")
POOL_TIMEOUTS = pulumi.CustomTimeouts(delete="45m")
"""A pool is gone when its nodes are: drained, terminated, their finalizers served."""

AWAIT_READY = {"pulumi.com/waitFor": "condition=Ready"}


class GpuPools(pulumi.ComponentResource):
    """Every pool of the plan.

    Args:
        name: logical name.
        site: where.
        kubernetes: the provider.
        network: GPU subnets by zone.
        security_group: EKS's own group.
        karpenter: the controller, and what must outlive the pools.
    """

    pools: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        site: Site,
        kubernetes: k8s.Provider,
        *,
        network: NetworkRefs,
        security_group: pulumi.Input[str],
        karpenter: Karpenter,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:GpuPools", name, {}, opts)
        if any("spot" in pool.buy for pool in site.plan.pools):
            require_spot_role(site, self)
        profile: Mapping[str, Any] = (
            {"role": karpenter.role_name}
            if karpenter.instance_profile is None
            else {"instanceProfile": karpenter.instance_profile.name}
        )
        made: list[pulumi.Resource] = []
        for pool in site.plan.pools:
            group = self._placement_group(name, site, pool)
            node_class = self._object(
                f"{name}-{pool.name}-class",
                ("karpenter.k8s.aws/v1", "EC2NodeClass", pool.name),
                node_class_spec(
                    pool,
                    ami=pinned_ami(site.plan.kubernetes),
                    profile=profile,
                    subnets=[network.gpu[zone] for zone in pool.zones],
                    security_group=security_group,
                    tags=default_tags(site.plan) | {"Name": f"{site.cluster}-{pool.name}"},
                    placement_group=None if group is None else f"{site.cluster}-{pool.name}",
                ),
                pulumi.ResourceOptions(
                    provider=kubernetes,
                    depends_on=[*karpenter.alive, *network.ready, *([] if group is None else [group])],
                    custom_timeouts=CLASS_TIMEOUTS,
                ),
            )
            below = [*karpenter.alive, node_class]
            for suffix, spec in (("", node_pool_spec(pool)), ("-warm", warm_pool_spec(pool))):
                if spec is not None:
                    made.append(
                        self._object(
                            f"{name}-{pool.name}{suffix}-pool",
                            ("karpenter.sh/v1", "NodePool", f"{pool.name}{suffix}"),
                            spec,
                            pulumi.ResourceOptions(
                                provider=kubernetes, depends_on=below, custom_timeouts=POOL_TIMEOUTS
                            ),
                        )
                    )
        self.pools = tuple(made)
        self.register_outputs({})

    def _placement_group(self, name: str, site: Site, pool: Pool) -> aws.ec2.PlacementGroup | None:
        if not pool.placement_group:
            return None
        return aws.ec2.PlacementGroup(
            f"{name}-{pool.name}-group",
            name=f"{site.cluster}-{pool.name}",
            strategy="cluster",
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _object(
        self,
        name: str,
        identity: tuple[str, str, str],
        spec: Mapping[str, Any],
        opts: pulumi.ResourceOptions,
    ) -> pulumi.Resource:
        api_version, kind, object_name = identity
        return k8s.apiextensions.CustomResource(
            name,
            api_version=api_version,
            kind=kind,
            metadata=k8s.meta.v1.ObjectMetaArgs(name=object_name, annotations=AWAIT_READY),
            spec=spec,
            opts=pulumi.ResourceOptions.merge(pulumi.ResourceOptions(parent=self), opts),
        )

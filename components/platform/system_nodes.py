"""The managed node group that carries controllers and routers, over two zones or more. No model ever runs on it."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from components.platform.iam import node_role
from components.platform.network import NetworkRefs
from components.platform.site import Site, default_tags
from headwater.catalog.releases import kubernetes_versions

ROOT_GIB = 100
MANAGED = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore")
"""The network plug-in is not among them: it has a Pod Identity role of its own."""


class SystemNodes(pulumi.ComponentResource):
    """System nodes. They carry no taint: six of the charts that live here tolerate none.

    Args:
        name: logical name.
        site: where.
        network: subnets of two zones or more, or the second Karpenter replica stays pending.
        after: the add-ons a node needs to become ready. Never CoreDNS, which needs a node itself.
    """

    group: aws.eks.NodeGroup

    def __init__(
        self,
        name: str,
        site: Site,
        network: NetworkRefs,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:SystemNodes", name, {}, opts)
        group = site.plan.system
        if group is None:
            raise ValueError("an existing cluster brings its own system nodes")
        role, attached = node_role(name, site, MANAGED, physical_name=None, parent=self)
        tags = default_tags(site.plan) | {"Name": f"{site.cluster}-system"}
        template = aws.ec2.LaunchTemplate(
            f"{name}-template",
            block_device_mappings=[
                aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
                    device_name="/dev/xvda",
                    ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                        volume_size=ROOT_GIB, volume_type="gp3", encrypted="true", delete_on_termination="true"
                    ),
                )
            ],
            metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
                http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
            ),
            tag_specifications=[
                aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=tags)
                for kind in ("instance", "volume", "network-interface")
            ],
            update_default_version=True,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.group = aws.eks.NodeGroup(
            f"{name}-group",
            cluster_name=site.cluster,
            node_role_arn=role.arn,
            subnet_ids=network.system,
            ami_type="AL2023_x86_64_STANDARD",
            instance_types=list(group.instances),
            version=site.plan.kubernetes,
            release_version=kubernetes_versions()[site.plan.kubernetes].node_release,
            capacity_type="ON_DEMAND",
            # Desired follows min: AWS refuses a min above it, so a kept older value would end every growth.
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                min_size=group.nodes, desired_size=group.nodes, max_size=group.nodes_max
            ),
            update_config=aws.eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
            node_repair_config=aws.eks.NodeGroupNodeRepairConfigArgs(enabled=True),
            launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
                id=template.id, version=template.latest_version.apply(str)
            ),
            labels={"node-role": "system"},
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[*attached, *after, *network.ready],
            ),
        )
        self.register_outputs({})

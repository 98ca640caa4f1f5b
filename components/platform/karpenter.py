"""Karpenter: identity, node role, interruption queue, CRDs, controller. A destroy goes the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.platform.charts import platform_release
from components.platform.iam import PodRole, node_role
from components.platform.interruption import Interruption
from components.platform.karpenter_iam import karpenter_policies
from components.platform.site import Policy, Site
from components.quantities import requests
from headwater.catalog.system import own_pod
from headwater.plan import Plan

NODE_POLICIES = (
    "AmazonEKS_CNI_Policy",
    "AmazonEKSWorkerNodePolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)
SERVICE_ACCOUNT, NAMESPACE = "karpenter", "kube-system"


def node_role_name(cluster: str) -> str:
    """Physical name of the role of Karpenter's nodes; at most 58 of IAM's 64 characters."""
    return f"KarpenterNodeRole-{cluster}"


def karpenter_values(plan: Plan) -> dict[str, Any]:
    """Chart values of the controller."""
    own = own_pod("karpenter")
    resources = requests(own)
    return {
        "replicas": own.replicas,
        "serviceAccount": {"name": SERVICE_ACCOUNT},
        "settings": {
            "clusterName": plan.cluster_name,
            "interruptionQueue": plan.cluster_name,
            # Pods of one group are made one by one: wait for all of them before deciding on nodes.
            "batchMaxDuration": "30s",
            "batchIdleDuration": "5s",
            "isolatedVPC": plan.settings.network.endpoints == "isolated",
            "featureGates": {"reservedCapacity": True, "staticCapacity": any(pool.warm for pool in plan.pools)},
        },
        # Without a memory limit the controller takes the whole node's memory as its own.
        "controller": {
            "resources": {"requests": resources, "limits": resources},
            # Instance metadata is closed to pods, so the region has to be said.
            "env": [{"name": "AWS_REGION", "value": plan.region}],
        },
    }


class Karpenter(pulumi.ComponentResource):
    """The controller that buys nodes, and everything that must outlive the nodes it bought.

    Args:
        name: logical name.
        site: where.
        kubernetes: the provider.
        after: system nodes, add-ons (DNS, Pod Identity agent), access.
    """

    alive: tuple[pulumi.Resource, ...]
    """What must exist as long as one node class or node pool does, or its finalizer waits for ever."""

    role_name: str
    instance_profile: aws.iam.InstanceProfile | None

    def __init__(
        self,
        name: str,
        site: Site,
        kubernetes: k8s.Provider,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:Karpenter", name, {}, opts)
        plan = site.plan
        self.role_name = node_role_name(site.cluster)
        role, attached = node_role(f"{name}-node", site, NODE_POLICIES, physical_name=self.role_name, parent=self)
        self.instance_profile = None
        if plan.settings.network.endpoints == "isolated":
            # IAM cannot be reached from a closed network, so Karpenter cannot make the profile itself.
            self.instance_profile = aws.iam.InstanceProfile(
                f"{name}-node-profile", role=role.name, opts=pulumi.ResourceOptions(parent=self)
            )
        entry = aws.eks.AccessEntry(
            f"{name}-node-access",
            cluster_name=site.cluster,
            principal_arn=role.arn,
            type="EC2_LINUX",
            opts=pulumi.ResourceOptions(parent=self, depends_on=after),
        )
        interruption = Interruption(f"{name}-interruption", site, pulumi.ResourceOptions(parent=self))
        keys = list(_policies(site, ""))
        identity = PodRole(
            f"{name}-controller",
            site,
            namespace=NAMESPACE,
            service_account=SERVICE_ACCOUNT,
            policies={key: self._policy(site, key) for key in keys},
            after=after,
            opts=pulumi.ResourceOptions(parent=self),
        )
        below: list[pulumi.Resource] = [*after, role, *attached, entry, interruption, identity]
        if self.instance_profile is not None:
            below.append(self.instance_profile)
        crds = platform_release(
            f"{name}-crds",
            "karpenter-crd",
            # An uninstall by accident would delete every node pool, and with it every node.
            {"additionalAnnotations": {"helm.sh/resource-policy": "keep"}},
            site=site,
            kubernetes=kubernetes,
            parent=self,
            after=below,
        )
        controller = platform_release(
            f"{name}-chart",
            "karpenter",
            karpenter_values(plan),
            site=site,
            kubernetes=kubernetes,
            parent=self,
            after=[*below, crds],
            skip_crds=True,
        )
        self.alive = (*below, crds, controller)
        self.register_outputs({})

    def _policy(self, site: Site, key: str) -> pulumi.Output[str]:
        return site.policy(lambda account: _policies(site, account)[key])


def _policies(site: Site, account: str) -> dict[str, Policy]:
    return karpenter_policies(
        site.partition,
        site.region,
        account,
        cluster=site.cluster,
        node_role=node_role_name(site.cluster),
        queue=site.cluster,
    )

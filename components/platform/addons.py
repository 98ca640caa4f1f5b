"""EKS add-ons at pinned versions: those a node needs to come up, and those that need a node."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_aws as aws

from components.platform.iam import PodRole
from components.platform.site import Policy, Site, document
from headwater.catalog.releases import kubernetes_versions
from headwater.settings import Settings


@dataclass(frozen=True)
class Spec:
    """One add-on.

    Attributes:
        service_account: in kube-system, when the add-on calls AWS.
        managed: AWS-managed policies of its role; ``own_policy`` where those give too much.
        configuration: values, as the add-on's own schema has them.
        keep: deleting the add-on leaves its software running, so that a destroy does not cut the network under
            controllers that are still draining nodes.
    """

    name: str
    service_account: str | None = None
    managed: tuple[str, ...] = ()
    own_policy: Policy | None = None
    configuration: dict[str, Any] = field(default_factory=dict)
    keep: bool = False


BEFORE_NODES = (
    Spec(
        "vpc-cni",
        service_account="aws-node",
        managed=("AmazonEKS_CNI_Policy",),
        # Few spare addresses a node: a warm second interface would take fifty. They win over WARM_ENI_TARGET.
        configuration={
            "env": {"MINIMUM_IP_TARGET": "20", "WARM_IP_TARGET": "5"},
            "enableNetworkPolicy": "true",
        },
        keep=True,
    ),
    Spec("kube-proxy", keep=True),
    Spec("eks-pod-identity-agent"),
)
"""A node needs these to become ready, and they need no node to install."""

FSX_POLICY: Policy = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": ["fsx:DescribeFileSystems"], "Resource": "*"}],
}
"""All the FSx driver needs for volumes that exist already; upstream asks for full access, to make them."""

ANY_TAINT = {"node": {"tolerateAllTaints": True}}


def after_nodes(settings: Settings) -> tuple[Spec, ...]:
    """Add-ons whose pods need a node: without one they turn DEGRADED and the create waits twenty minutes to fail."""
    shared = {
        "efs": Spec(
            "aws-efs-csi-driver",
            service_account="efs-csi-controller-sa",
            managed=("service-role/AmazonEFSCSIDriverPolicy",),
        ),
        "fsx": Spec("aws-fsx-csi-driver", service_account="fsx-csi-controller-sa", own_policy=FSX_POLICY),
    }
    specs = [
        Spec("coredns", keep=True),
        Spec(
            "aws-ebs-csi-driver",
            service_account="ebs-csi-controller-sa",
            managed=("service-role/AmazonEBSCSIDriverPolicy",),
            configuration=ANY_TAINT,
        ),
        Spec("eks-node-monitoring-agent"),
        Spec("metrics-server"),
    ]
    if settings.weights.cache in shared:
        specs.append(shared[settings.weights.cache])
    return tuple(specs)


class Addons(pulumi.ComponentResource):
    """A set of add-ons, each with its Pod Identity role.

    Args:
        name: logical name.
        site: where.
        specs: which.
        after: what they need: the control plane, or the nodes.
    """

    def __init__(
        self,
        name: str,
        site: Site,
        specs: Sequence[Spec],
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:Addons", name, {}, opts)
        versions = kubernetes_versions()[site.plan.kubernetes].addons
        for spec in specs:
            aws.eks.Addon(
                f"{name}-{spec.name}",
                cluster_name=site.cluster,
                addon_name=spec.name,
                addon_version=versions[spec.name],
                configuration_values=json.dumps(spec.configuration, sort_keys=True) if spec.configuration else None,
                pod_identity_associations=self._identity(f"{name}-{spec.name}", site, spec),
                preserve=spec.keep,
                resolve_conflicts_on_create="OVERWRITE",
                resolve_conflicts_on_update="OVERWRITE",
                opts=pulumi.ResourceOptions(parent=self, depends_on=after),
            )
        self.register_outputs({})

    def _identity(self, name: str, site: Site, spec: Spec) -> list[aws.eks.AddonPodIdentityAssociationArgs] | None:
        """The add-on owns this association; a second one for the same account would fight it."""
        if spec.service_account is None:
            return None
        role = PodRole(
            f"{name}-identity",
            site,
            namespace="kube-system",
            service_account=spec.service_account,
            managed=spec.managed,
            policies={} if spec.own_policy is None else {"own": document(spec.own_policy)},
            associate=False,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return [aws.eks.AddonPodIdentityAssociationArgs(role_arn=role.arn, service_account=spec.service_account)]

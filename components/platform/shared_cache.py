"""A file system all model pods share, for ``weights.cache: efs`` or ``fsx``, and the claim their pods mount."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.platform.model import WEIGHTS_CLAIM
from components.platform.network import NetworkRefs
from components.platform.site import Site
from headwater.catalog.releases import images

EFS_PORT = 2049
LUSTRE_PORTS = ((988, 988), (1018, 1023))
LUSTRE_GIB, LUSTRE_MBPS_PER_TIB = 4800, 250
WRITER = 2000
"""User and group of model servers that are not root."""

EFS_CLAIM = "1Ti"
"""EFS grows by itself; Kubernetes wants a number all the same."""


class SharedCache(pulumi.ComponentResource):
    """The file system, reachable from nodes only, and its volume and claim in the namespace of the models.

    EFS is in every zone and slow for a cold load of a large model; Lustre is fast and in one zone.

    Args:
        name: logical name.
        site: where.
        kubernetes: the provider.
        network: subnets by zone.
        nodes: security group of the nodes.
        namespace: of the models.
        after: the driver's add-on, the namespace.
    """

    claim: pulumi.Resource

    def __init__(
        self,
        name: str,
        site: Site,
        kubernetes: k8s.Provider,
        *,
        network: NetworkRefs,
        nodes: pulumi.Input[str],
        namespace: pulumi.Output[str],
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:SharedCache", name, {}, opts)
        self._name, self._site, self._network, self._nodes = name, site, network, nodes
        if site.plan.settings.weights.cache == "efs":
            source, made, storage = self._efs()
        else:
            source, made, storage = self._lustre()
        size = {"storage": storage}
        volume = k8s.core.v1.PersistentVolume(
            f"{name}-volume",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=f"{site.cluster}-{WEIGHTS_CLAIM}"),
            spec=k8s.core.v1.PersistentVolumeSpecArgs(
                capacity=size,
                access_modes=["ReadWriteMany"],
                persistent_volume_reclaim_policy="Retain",
                storage_class_name="",
                csi=source,
            ),
            opts=pulumi.ResourceOptions(parent=self, provider=kubernetes, depends_on=[*after, *made]),
        )
        claim = k8s.core.v1.PersistentVolumeClaim(
            f"{name}-claim",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=WEIGHTS_CLAIM, namespace=namespace),
            spec=k8s.core.v1.PersistentVolumeClaimSpecArgs(
                access_modes=["ReadWriteMany"],
                storage_class_name="",
                volume_name=volume.metadata.name,
                resources=k8s.core.v1.VolumeResourceRequirementsArgs(requests=size),
            ),
            opts=pulumi.ResourceOptions(parent=self, provider=kubernetes, depends_on=[volume]),
        )
        lustre = site.plan.settings.weights.cache == "fsx"
        self.claim = self._opened(kubernetes, namespace, claim) if lustre else claim
        self.register_outputs({})

    def _opened(
        self, kubernetes: k8s.Provider, namespace: pulumi.Output[str], claim: pulumi.Resource
    ) -> pulumi.Resource:
        """A new Lustre file system belongs to root, and its driver changes no owner: one Job hands it over, once."""
        container = k8s.core.v1.ContainerArgs(
            name="open",
            image=images()["aws-cli"].reference(self._site.plan.settings.mirror.images),
            command=["/bin/chown", f"{WRITER}:{WRITER}", "/models"],
            security_context=k8s.core.v1.SecurityContextArgs(
                allow_privilege_escalation=False,
                capabilities=k8s.core.v1.CapabilitiesArgs(drop=["ALL"], add=["CHOWN"]),
            ),
            resources=k8s.core.v1.ResourceRequirementsArgs(
                requests={"cpu": "100m", "memory": "64Mi"}, limits={"memory": "64Mi"}
            ),
            volume_mounts=[k8s.core.v1.VolumeMountArgs(name="models", mount_path="/models")],
        )
        volume = k8s.core.v1.VolumeArgs(
            name="models",
            persistent_volume_claim=k8s.core.v1.PersistentVolumeClaimVolumeSourceArgs(claim_name=WEIGHTS_CLAIM),
        )
        pod = k8s.core.v1.PodSpecArgs(
            restart_policy="Never",
            automount_service_account_token=False,
            security_context=k8s.core.v1.PodSecurityContextArgs(
                run_as_user=0, seccomp_profile=k8s.core.v1.SeccompProfileArgs(type="RuntimeDefault")
            ),
            containers=[container],
            volumes=[volume],
        )
        return k8s.batch.v1.Job(
            f"{self._name}-open",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=f"{WEIGHTS_CLAIM}-open", namespace=namespace),
            spec=k8s.batch.v1.JobSpecArgs(backoff_limit=6, template=k8s.core.v1.PodTemplateSpecArgs(spec=pod)),
            opts=pulumi.ResourceOptions(parent=self, provider=kubernetes, depends_on=[claim]),
        )

    def _efs(self) -> tuple[k8s.core.v1.CSIPersistentVolumeSourceArgs, list[pulumi.Resource], str]:
        system = aws.efs.FileSystem(
            f"{self._name}-efs",
            encrypted=True,
            throughput_mode="elastic",
            tags={"Name": f"{self._site.cluster}-models"},
            opts=self._kept(),
        )
        group = self._group(((EFS_PORT, EFS_PORT),))
        targets: list[pulumi.Resource] = [
            aws.efs.MountTarget(
                f"{self._name}-efs-{zone}",
                file_system_id=system.id,
                subnet_id=subnet,
                security_groups=[group.id],
                opts=pulumi.ResourceOptions(parent=self),
            )
            for zone, subnet in self._network.gpu.items()
        ]
        writer = aws.efs.AccessPointPosixUserArgs(uid=WRITER, gid=WRITER)
        entry = aws.efs.AccessPoint(
            f"{self._name}-efs-entry",
            file_system_id=system.id,
            posix_user=writer,
            root_directory=aws.efs.AccessPointRootDirectoryArgs(
                path="/models",
                creation_info=aws.efs.AccessPointRootDirectoryCreationInfoArgs(
                    owner_uid=WRITER, owner_gid=WRITER, permissions="0755"
                ),
            ),
            tags={"Name": f"{self._site.cluster}-models"},
            opts=pulumi.ResourceOptions(parent=self),
        )
        source = k8s.core.v1.CSIPersistentVolumeSourceArgs(
            driver="efs.csi.aws.com",
            volume_handle=pulumi.Output.concat(system.id, "::", entry.id),
            volume_attributes={"encryptInTransit": "true"},
        )
        return source, targets, EFS_CLAIM

    def _lustre(self) -> tuple[k8s.core.v1.CSIPersistentVolumeSourceArgs, list[pulumi.Resource], str]:
        group = self._group(LUSTRE_PORTS)
        subnet = next(iter(self._network.gpu.values()))
        system = aws.fsx.LustreFileSystem(
            f"{self._name}-fsx",
            deployment_type="PERSISTENT_2",
            storage_type="SSD",
            storage_capacity=LUSTRE_GIB,
            per_unit_storage_throughput=LUSTRE_MBPS_PER_TIB,
            data_compression_type="LZ4",
            subnet_ids=subnet,
            security_group_ids=[group.id],
            tags={"Name": f"{self._site.cluster}-models"},
            opts=self._kept(),
        )
        attributes: dict[str, Any] = {"dnsname": system.dns_name, "mountname": system.mount_name}
        source = k8s.core.v1.CSIPersistentVolumeSourceArgs(
            driver="fsx.csi.aws.com", volume_handle=system.id, volume_attributes=attributes
        )
        return source, [system], f"{LUSTRE_GIB}Gi"

    def _kept(self) -> pulumi.ResourceOptions:
        settings = self._site.plan.settings.cluster
        return pulumi.ResourceOptions(
            parent=self, protect=settings.protect or None, retain_on_delete=settings.keep_data or None
        )

    def _group(self, ports: Sequence[tuple[int, int]]) -> aws.ec2.SecurityGroup:
        """A group that only nodes may reach, and that reaches only itself and them."""
        group = aws.ec2.SecurityGroup(
            f"{self._name}-group",
            vpc_id=self._network.vpc_id,
            description="Shared file system of the models, reachable from nodes",
            tags={"Name": f"{self._site.cluster}-models"},
            opts=pulumi.ResourceOptions(parent=self),
        )
        for first, last in ports:
            for who, source in (("nodes", self._nodes), ("itself", group.id)):
                aws.vpc.SecurityGroupIngressRule(
                    f"{self._name}-{first}-from-{who}",
                    security_group_id=group.id,
                    referenced_security_group_id=source,
                    ip_protocol="tcp",
                    from_port=first,
                    to_port=last,
                    description=f"File system traffic from {who}",
                    opts=pulumi.ResourceOptions(parent=self),
                )
                aws.vpc.SecurityGroupEgressRule(
                    f"{self._name}-{first}-to-{who}",
                    security_group_id=group.id,
                    referenced_security_group_id=source,
                    ip_protocol="tcp",
                    from_port=first,
                    to_port=last,
                    description=f"File system traffic to {who}",
                    opts=pulumi.ResourceOptions(parent=self),
                )
        return group

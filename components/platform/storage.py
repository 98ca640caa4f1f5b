"""The default class of volumes: encrypted gp3, bound where the pod runs."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_kubernetes as k8s

EBS_DRIVER = "ebs.csi.aws.com"


def storage_class_name(*, made: bool) -> str:
    """``gp3`` in a cluster of our own; a name that collides with nobody's in an existing one."""
    return "gp3" if made else "headwater-gp3"


class Storage(pulumi.ComponentResource):
    """The gp3 class. Default only in a cluster of our own: an existing one has its own idea of a default.

    Immediate binding would pick a zone before it is known where the pod can run.
    """

    name: str

    def __init__(
        self,
        name: str,
        kubernetes: k8s.Provider,
        *,
        made: bool,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:Storage", name, {}, opts)
        self.name = storage_class_name(made=made)
        default = {"storageclass.kubernetes.io/is-default-class": "true"} if made else None
        k8s.storage.v1.StorageClass(
            f"{name}-gp3",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=self.name, annotations=default),
            provisioner=EBS_DRIVER,
            volume_binding_mode="WaitForFirstConsumer",
            allow_volume_expansion=True,
            reclaim_policy="Delete",
            parameters={"type": "gp3", "encrypted": "true"},
            opts=pulumi.ResourceOptions(parent=self, provider=kubernetes, depends_on=after),
        )
        self.register_outputs({})

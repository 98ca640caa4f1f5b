"""What model pods share: a service account without a token, to which the platform ties their role, and priorities."""

from __future__ import annotations

import pulumi
import pulumi_kubernetes as k8s

from components.platform.model import MODEL_SERVICE_ACCOUNT, PlatformRefs
from components.serving.priority import priority_classes
from headwater.plan import Plan

SERVICE_ACCOUNT = MODEL_SERVICE_ACCOUNT


class ModelIdentity(pulumi.ComponentResource):
    """Service account of every model pod in the namespace, and the classes of their priorities.

    Attributes:
        service_account: its name.
    """

    service_account: str

    def __init__(
        self, name: str, plan: Plan, platform: PlatformRefs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("headwater:serving:ModelIdentity", name, {}, opts)
        k8s.core.v1.ServiceAccount(
            f"{name}-account",
            metadata={"name": SERVICE_ACCOUNT, "namespace": platform.namespace},
            automount_service_account_token=False,
            opts=pulumi.ResourceOptions(parent=self, provider=platform.kubernetes, depends_on=list(platform.ready)),
        )
        for class_name, value in priority_classes(plan.models).items():
            k8s.scheduling.v1.PriorityClass(
                f"{name}-{class_name}",
                metadata={"name": class_name},
                value=value,
                description="Models of this priority in Headwater's stack file",
                opts=pulumi.ResourceOptions(parent=self, provider=platform.kubernetes),
            )
        self.service_account = SERVICE_ACCOUNT
        self.register_outputs({})

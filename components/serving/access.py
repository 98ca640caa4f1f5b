"""What model pods share: a service account without a token, the role that reads the mirror, priority classes."""

from __future__ import annotations

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.platform.model import PlatformRefs
from components.serving.priority import priority_classes
from headwater.plan import Plan

SERVICE_ACCOUNT = "model-server"


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
        account = k8s.core.v1.ServiceAccount(
            f"{name}-account",
            metadata={"name": SERVICE_ACCOUNT, "namespace": platform.namespace},
            automount_service_account_token=False,
            opts=pulumi.ResourceOptions(parent=self, provider=platform.kubernetes),
        )
        if platform.model_service_account_role is not None:
            aws.eks.PodIdentityAssociation(
                f"{name}-pod-identity",
                cluster_name=plan.cluster_name,
                namespace=platform.namespace,
                service_account=SERVICE_ACCOUNT,
                role_arn=platform.model_service_account_role,
                opts=pulumi.ResourceOptions(parent=self, depends_on=[account]),
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

"""The identity of model pods: a service account without a token, and the role that reads the weights mirror."""

from __future__ import annotations

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.platform.model import PlatformRefs
from headwater.plan import Plan

SERVICE_ACCOUNT = "model-server"


class ModelIdentity(pulumi.ComponentResource):
    """Service account of every model pod in the namespace.

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
        self.service_account = SERVICE_ACCOUNT
        self.register_outputs({})

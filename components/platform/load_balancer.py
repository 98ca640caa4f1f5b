"""The AWS Load Balancer Controller, where a Gateway or Service is exposed outside the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.platform.charts import platform_release
from components.platform.iam import PodRole
from components.platform.load_balancer_iam import load_balancer_policies
from components.platform.site import Site, default_tags
from components.quantities import requests
from headwater.catalog.system import own_pod
from headwater.plan import Plan

SERVICE_ACCOUNT = "aws-load-balancer-controller"


def load_balancer_values(plan: Plan, vpc_id: pulumi.Input[str]) -> dict[str, Any]:
    """Chart values. Region and VPC are said aloud: instance metadata is one hop away from pods, and closed to them.

    It takes only the Services that name its class: as the default for all of them, no Service at all could be made
    while it is down.
    """
    own = own_pod("aws-load-balancer-controller")
    return {
        "clusterName": plan.cluster_name,
        "region": plan.region,
        "vpcId": vpc_id,
        "replicaCount": own.replicas,
        "serviceAccount": {"create": True, "name": SERVICE_ACCOUNT},
        "enableServiceMutatorWebhook": False,
        "defaultTargetType": "ip",
        "keepTLSSecret": True,
        "enableShield": False,
        "enableWaf": False,
        "enableWafv2": False,
        "defaultTags": default_tags(plan),
        "resources": {"requests": requests(own), "limits": {"memory": "512Mi"}},
    }


class LoadBalancerController(pulumi.ComponentResource):
    """The controller and its identity. Load balancers are its doing: a destroy first removes what asks for them.

    Args:
        name: logical name.
        site: where.
        kubernetes: the provider.
        vpc_id: where load balancers go.
        after: what it stands on.
    """

    def __init__(
        self,
        name: str,
        site: Site,
        kubernetes: k8s.Provider,
        *,
        vpc_id: pulumi.Input[str],
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:LoadBalancerController", name, {}, opts)
        identity = PodRole(
            f"{name}-controller",
            site,
            namespace="kube-system",
            service_account=SERVICE_ACCOUNT,
            policies={key: self._policy(site, key) for key in ("read", "change")},
            after=after,
            opts=pulumi.ResourceOptions(parent=self),
        )
        platform_release(
            f"{name}-chart",
            "aws-load-balancer-controller",
            load_balancer_values(site.plan, vpc_id),
            site=site,
            kubernetes=kubernetes,
            parent=self,
            after=[*after, identity],
        )
        self.register_outputs({})

    def _policy(self, site: Site, key: str) -> pulumi.Output[str]:
        return site.policy(
            lambda account: load_balancer_policies(site.partition, site.region, account, site.cluster)[key]
        )

"""The namespace of the models, and what their pods may read in AWS."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_kubernetes as k8s

from components.platform.iam import PodRole
from components.platform.model import MODEL_NAMESPACE, MODEL_SERVICE_ACCOUNT
from components.platform.namespaces import Level, namespace
from components.platform.site import Policy, Site, document
from headwater.plan import Plan


def pod_security_level(plan: Plan) -> Level:
    """``baseline``; ``privileged`` where EFA is used, whose pods must lock memory, which baseline does not allow."""
    return "privileged" if plan.efa else "baseline"


def mirror_policy(partition: str, mirror: str) -> Policy:
    """Read the weights mirror: list its prefix, get its objects. Nothing is ever written."""
    bucket, _, prefix = mirror.removeprefix("s3://").rstrip("/").partition("/")
    arn, under = f"arn:{partition}:s3:::{bucket}", f"{prefix}/*" if prefix else "*"
    listing: Policy = {"Sid": "List", "Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": arn}
    if prefix:
        listing["Condition"] = {"StringLike": {"s3:prefix": [prefix, under]}}
    return {
        "Version": "2012-10-17",
        "Statement": [
            listing,
            {"Sid": "Read", "Effect": "Allow", "Action": ["s3:GetObject"], "Resource": f"{arn}/{under}"},
        ],
    }


class ModelNamespace(pulumi.ComponentResource):
    """Namespace ``models``, and with a weights mirror the role of service account ``model-server``.

    Args:
        name: logical name.
        site: where.
        kubernetes: the provider.
        after: everything a workload stands on, so that a destroy empties this namespace first.
    """

    namespace: k8s.core.v1.Namespace
    namespace_name: str
    role: PodRole | None

    def __init__(
        self,
        name: str,
        site: Site,
        kubernetes: k8s.Provider,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:ModelNamespace", name, {}, opts)
        self.namespace_name = MODEL_NAMESPACE
        self.namespace = namespace(
            f"{name}-namespace", MODEL_NAMESPACE, kubernetes, after, parent=self, level=pod_security_level(site.plan)
        )
        mirror = site.plan.settings.weights.mirror
        self.role = None
        if mirror is not None:
            self.role = PodRole(
                f"{name}-weights",
                site,
                namespace=MODEL_NAMESPACE,
                service_account=MODEL_SERVICE_ACCOUNT,
                policies={"mirror": document(mirror_policy(site.partition, mirror))},
                after=after,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({})

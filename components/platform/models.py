"""The namespace of the models, and what their pods may read in AWS."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_kubernetes as k8s

from components.platform.iam import PodRole
from components.platform.model import MIRROR_SERVICE_ACCOUNT, MODEL_NAMESPACE, MODEL_SERVICE_ACCOUNT
from components.platform.namespaces import Level, namespace
from components.platform.site import Policy, Site, document
from headwater.plan import Plan


def pod_security_level(plan: Plan) -> Level:
    """``baseline``; ``privileged`` where EFA is used, whose pods must lock memory, which baseline does not allow."""
    return "privileged" if plan.efa else "baseline"


def mirror_policy(partition: str, mirror: str, *, write: bool = False) -> Policy:
    """The weights mirror and nothing else: list its prefix, and get its objects or put them, never both."""
    bucket, _, prefix = mirror.removeprefix("s3://").rstrip("/").partition("/")
    arn, under = f"arn:{partition}:s3:::{bucket}", f"{prefix}/*" if prefix else "*"
    listing: Policy = {"Sid": "List", "Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": arn}
    if prefix:
        listing["Condition"] = {"StringLike": {"s3:prefix": [prefix, under]}}
    sid, actions = ("Write", ["s3:AbortMultipartUpload", "s3:PutObject"]) if write else ("Read", ["s3:GetObject"])
    objects: Policy = {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": f"{arn}/{under}"}
    return {"Version": "2012-10-17", "Statement": [listing, objects]}


class ModelNamespace(pulumi.ComponentResource):
    """Namespace ``models``; with a weights mirror the role of ``model-server``, and of ``weights-mirror`` to fill it.

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
        weights, self.role = site.plan.settings.weights, None
        if weights.mirror is not None:
            self.role = self._identity(f"{name}-weights", site, MODEL_SERVICE_ACCOUNT, weights.mirror, after)
            if weights.fill:
                self._identity(f"{name}-mirror", site, MIRROR_SERVICE_ACCOUNT, weights.mirror, after, write=True)
        self.register_outputs({})

    def _identity(
        self,
        name: str,
        site: Site,
        account: str,
        mirror: str,
        after: Sequence[pulumi.Resource],
        *,
        write: bool = False,
    ) -> PodRole:
        return PodRole(
            name,
            site,
            namespace=MODEL_NAMESPACE,
            service_account=account,
            policies={"mirror": document(mirror_policy(site.partition, mirror, write=write))},
            after=after,
            opts=pulumi.ResourceOptions(parent=self),
        )

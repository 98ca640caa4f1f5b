"""The hub token, in one Kubernetes Secret and nowhere else: no value, no argument, no output holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.platform.charts import platform_release
from components.platform.iam import PodRole
from components.platform.namespaces import namespace
from components.platform.site import Policy, Site, document
from headwater.catalog.releases import charts
from headwater.catalog.system import upstream_pod
from headwater.settings.weights import HuggingFace

TOKEN_SECRET, TOKEN_KEY = "hugging-face", "HF_TOKEN"
STORE = "aws-secrets-manager"
CHART = "external-secrets"
API = "external-secrets.io/v1"


def read_secret_policy(secret_arn: str) -> Policy:
    """Read one secret. Secrets Manager appends a random suffix to the name in its ARN."""
    tail = secret_arn.rsplit("-", 1)[-1]
    complete = len(tail) == 6 and tail.isalnum()
    resource = secret_arn if complete else f"{secret_arn}-??????"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": ["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"],
                "Resource": resource,
            }
        ],
    }


def external_secrets_values(monitored: bool) -> dict[str, Any]:
    """Two controllers with a leader; the CRDs outlive an uninstall; viewers of a namespace do not see the stores."""
    return {
        "replicaCount": upstream_pod("external-secrets").replicas,
        "leaderElect": True,
        "crds": {"annotations": {"helm.sh/resource-policy": "keep"}},
        "rbac": {"aggregateToView": False, "aggregateToEdit": False},
        "serviceMonitor": {"enabled": monitored},
    }


class TokenSecret(pulumi.ComponentResource):
    """The Secret ``hugging-face`` in the namespace of the models.

    From a secret of the stack it is written directly. From Secrets Manager it is fetched in the cluster by External
    Secrets, so that the token is never in the program, its state or its logs.

    Args:
        name: logical name.
        site: where.
        kubernetes: the provider.
        token: the stack file's reference or secret.
        namespace_name: of the models.
        after: the namespace, system nodes, the Pod Identity agent.
    """

    secret: pulumi.Resource

    def __init__(
        self,
        name: str,
        site: Site,
        kubernetes: k8s.Provider,
        *,
        token: HuggingFace,
        namespace_name: str,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:TokenSecret", name, {}, opts)
        self._name, self._site, self._kubernetes = name, site, kubernetes
        self._home = namespace_name
        if token.token is not None:
            self.secret = k8s.core.v1.Secret(
                f"{name}-secret",
                metadata=k8s.meta.v1.ObjectMetaArgs(name=TOKEN_SECRET, namespace=namespace_name),
                type="Opaque",
                string_data={TOKEN_KEY: pulumi.Output.secret(token.token.get_secret_value())},
                opts=pulumi.ResourceOptions(parent=self, provider=kubernetes, depends_on=after),
            )
        else:
            assert token.secret_arn is not None
            self.secret = self._external(token.secret_arn, after)
        self.register_outputs({})

    def _external(self, secret_arn: str, after: Sequence[pulumi.Resource]) -> pulumi.Resource:
        """The controller with a role that reads this one secret, a store in the models' namespace, and the Secret."""
        name, site, where = self._name, self._site, charts()[CHART].namespace
        identity = PodRole(
            f"{name}-reader",
            site,
            namespace=where,
            service_account="external-secrets",
            policies={"read": document(read_secret_policy(secret_arn))},
            after=after,
            opts=pulumi.ResourceOptions(parent=self),
        )
        controller = platform_release(
            f"{name}-external-secrets",
            CHART,
            external_secrets_values(site.plan.settings.observability.enabled),
            site=site,
            kubernetes=self._kubernetes,
            parent=self,
            after=[
                *after,
                identity,
                namespace(f"{name}-external-secrets-namespace", where, self._kubernetes, after, parent=self),
            ],
        )
        store = self._object(
            "store",
            "SecretStore",
            STORE,
            {"provider": {"aws": {"service": "SecretsManager", "region": secret_arn.split(":")[3]}}},
            [*after, identity, controller],
        )
        reference = {"key": secret_arn}
        return self._object(
            "external",
            "ExternalSecret",
            TOKEN_SECRET,
            {
                "refreshInterval": "1h",
                "secretStoreRef": {"kind": "SecretStore", "name": STORE},
                "target": {"name": TOKEN_SECRET, "creationPolicy": "Owner"},
                "data": [{"secretKey": TOKEN_KEY, "remoteRef": reference}],
            },
            [*after, identity, controller, store],
        )

    def _object(
        self, suffix: str, kind: str, name: str, spec: dict[str, Any], after: Sequence[pulumi.Resource]
    ) -> pulumi.Resource:
        return k8s.apiextensions.CustomResource(
            f"{self._name}-{suffix}",
            api_version=API,
            kind=kind,
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=name, namespace=self._home, annotations={"pulumi.com/waitFor": "condition=Ready"}
            ),
            spec=spec,
            opts=pulumi.ResourceOptions(parent=self, provider=self._kubernetes, depends_on=after),
        )

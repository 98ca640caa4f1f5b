"""What the platform hands to a serving stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s

WEIGHTS_CLAIM = "model-weights"
"""PersistentVolumeClaim of the shared file system, in the namespace of the models, for ``cache: efs | fsx``."""

MODEL_NAMESPACE = "models"
MODEL_SERVICE_ACCOUNT = "model-server"
"""Service account of model pods; the platform gives it its AWS identity, the serving stack makes it."""
MIRROR_SERVICE_ACCOUNT = "weights-mirror"
"""Service account of the Jobs that fill the weights mirror, the only ones that write there."""


@dataclass(frozen=True)
class PlatformRefs:
    """Everything a serving stack may depend on or refer to.

    Attributes:
        kubernetes: the provider of the cluster; pass it on every Kubernetes resource.
        namespace: namespace of the models, already created, with pod security labels.
        token_secret: name of the Kubernetes Secret with key ``HF_TOKEN``; None when no token is configured.
        model_service_account_role: IAM role of model pods (read the weights mirror), None without a mirror. Service
            account ``model-server`` has it already, through Pod Identity.
        prometheus_url: in-cluster address of Prometheus; None when observability is off.
        monitor_labels: labels a ServiceMonitor or PodMonitor needs to be found.
        ready: resources that must exist before any workload (node pools, operators, CRDs, the namespace, the secret).
    """

    kubernetes: k8s.Provider
    namespace: pulumi.Output[str]
    namespace_name: str
    token_secret: str | None
    model_service_account_role: pulumi.Output[str] | None
    prometheus_url: str | None
    monitor_labels: dict[str, str] = field(default_factory=dict)
    ready: Sequence[pulumi.Resource] = ()

"""Fill the weights mirror: ``headwater:weights.fill``.

One Job a repository, on system nodes: from the hub to a volume, from there to S3, and last the object that says all of
it is there. Where that object exists already the Job ends at once. ``up`` waits for the Jobs before it makes servers,
so that no GPU is paid for while weights are on their way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.platform.model import MIRROR_SERVICE_ACCOUNT, PlatformRefs
from components.platform.storage import storage_class_name
from components.quantities import requests
from components.serving.flows import EVERYWHERE_BUT_METADATA, POD_IDENTITY, dns, tcp
from components.serving.images import engine_image, image
from components.serving.security import plain_security, user_security
from components.serving.weights import COMPLETE
from headwater.catalog.system import own_pod
from headwater.plan import Plan
from headwater.plan.mirror import MirrorCopy, mirror_copies

WORK = "/weights"
DONE = f"{WORK}/done"
LABELS = {"app.kubernetes.io/name": "weights-mirror"}
KEPT_SECONDS = 3600
"""A finished Job is looked at for an hour; then it goes, and its volume with it."""

CHECK = f'if aws s3 ls "$TARGET{COMPLETE}"; then touch {DONE}; fi\n'
DOWNLOAD = f"""\
import os
from huggingface_hub import snapshot_download
if not os.path.exists("{DONE}"):
    skipped = ["original/*", "*.pth", "*.gguf", "*.onnx", "*.h5", "*.msgpack"]
    snapshot_download(os.environ["REPOSITORY"], local_dir="{WORK}/files", ignore_patterns=skipped)
"""
"""A container that starts again goes on with the files of the volume; other layouts than the engine's are left out."""
UPLOAD = f"""\
if [ -e {DONE} ]; then exit 0; fi
aws configure set default.s3.preferred_transfer_client crt
aws s3 sync --only-show-errors --exclude ".cache/*" {WORK}/files "$TARGET"
date >{WORK}/marker
aws s3 cp --only-show-errors {WORK}/marker "$TARGET{COMPLETE}"
"""


def _container(name: str, reference: str, command: list[str], env: dict[str, Any], memory: str) -> dict[str, Any]:
    found = [{"name": key, **(value if isinstance(value, dict) else {"value": value})} for key, value in env.items()]
    return {
        "name": name,
        "image": reference,
        "command": command,
        "env": [*found, {"name": "HOME", "value": "/tmp"}],
        "resources": {"requests": requests(own_pod("weights-copy")), "limits": {"memory": memory}},
        "securityContext": plain_security(),
        "volumeMounts": [{"name": "weights", "mountPath": WORK}],
    }


def mirror_job(plan: Plan, copy: MirrorCopy, token_secret: str | None) -> dict[str, Any]:
    """Spec of a repository's Job.

    Args:
        plan: the environment.
        copy: what goes where.
        token_secret: Kubernetes Secret with key ``HF_TOKEN``; None when no token is configured.
    """
    shell, s3 = ["/bin/sh", "-ec"], {"TARGET": copy.target, "AWS_REGION": plan.region}
    hub: dict[str, Any] = {"REPOSITORY": copy.repository, "HF_HUB_DISABLE_XET": "1"}  # Xet buffers gigabytes
    if token_secret is not None:
        hub["HF_TOKEN"] = {"valueFrom": {"secretKeyRef": {"name": token_secret, "key": "HF_TOKEN"}}}
    role = next(model for model in plan.models if model.name == copy.model).roles[0]
    cli, engine = image(plan, "aws-cli"), engine_image(plan, role)  # the hub's client is inside every engine
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class_name(made=plan.settings.cluster.existing is None),
        "resources": {"requests": {"storage": f"{copy.volume_gib}Gi"}},
    }
    pod = {
        "restartPolicy": "OnFailure",
        "serviceAccountName": MIRROR_SERVICE_ACCOUNT,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": user_security(),
        "initContainers": [
            _container("check", cli, [*shell, CHECK], s3, "1Gi"),
            _container("download", engine, ["python3", "-c", DOWNLOAD], hub, "4Gi"),
        ],
        "containers": [_container("upload", cli, [*shell, UPLOAD], s3, "4Gi")],
        "volumes": [{"name": "weights", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}],
    }
    return {
        "backoffLimit": 10,
        "activeDeadlineSeconds": copy.seconds,
        "ttlSecondsAfterFinished": KEPT_SECONDS,
        "template": {"metadata": {"labels": LABELS}, "spec": pod},
    }


def mirror_policy() -> dict[str, Any]:
    """Flows of the Jobs: nothing comes in; the hub, S3 and Pod Identity are reached."""
    egress = [
        dns(),
        {"to": [EVERYWHERE_BUT_METADATA], "ports": tcp(443)},
        {"to": [POD_IDENTITY], "ports": tcp(80)},
    ]
    return {"podSelector": {"matchLabels": LABELS}, "policyTypes": ["Ingress", "Egress"], "egress": egress}


class WeightsMirror(pulumi.ComponentResource):
    """The Jobs with their service account and network policy."""

    def __init__(
        self, name: str, plan: Plan, platform: PlatformRefs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("headwater:serving:WeightsMirror", name, {}, opts)

        def options(*after: pulumi.Resource, seconds: int | None = None) -> pulumi.ResourceOptions:
            return pulumi.ResourceOptions(
                parent=self,
                provider=platform.kubernetes,
                depends_on=[*platform.ready, *after],
                custom_timeouts=None if seconds is None else pulumi.CustomTimeouts(create=f"{seconds}s"),
            )

        def metadata(own: str) -> Any:
            return {"name": own, "namespace": platform.namespace}

        account = k8s.core.v1.ServiceAccount(
            f"{name}-account",
            metadata=metadata(MIRROR_SERVICE_ACCOUNT),
            automount_service_account_token=False,
            opts=options(),
        )
        flows: Any = mirror_policy()
        policy = k8s.networking.v1.NetworkPolicy(
            f"{name}-flows", metadata=metadata(MIRROR_SERVICE_ACCOUNT), spec=flows, opts=options()
        )
        for copy in mirror_copies(plan):
            spec: Any = mirror_job(plan, copy, platform.token_secret)
            k8s.batch.v1.Job(
                f"{name}-{copy.model}",
                metadata=metadata(f"mirror-{copy.model}"),
                spec=spec,
                opts=options(account, policy, seconds=copy.seconds),
            )
        self.register_outputs({})


def with_weights(name: str, plan: Plan, platform: PlatformRefs) -> PlatformRefs:
    """The platform as servers may use it: with ``fill``, not before the mirror holds what they load."""
    if not plan.settings.weights.fill:
        return platform
    return replace(platform, ready=[*platform.ready, WeightsMirror(name, plan, platform)])

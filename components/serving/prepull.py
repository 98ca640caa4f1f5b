"""The engine image on GPU nodes before a model needs it: ``headwater:weights.prepull``.

An engine image is ten gigabytes and more. On a node kept warm, or while an older version still runs, it is there when
the server's pod comes.
"""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.platform.model import PlatformRefs
from components.serving.images import engine_image
from components.serving.names import POOL_LABEL
from components.serving.placement import tolerations
from components.serving.security import USER, plain_security
from headwater.plan import Plan


def pool_images(plan: Plan) -> dict[str, list[str]]:
    """Engine images by pool, sorted; only pools that models run on."""
    found: dict[str, set[str]] = {}
    for model in plan.models:
        for role in model.roles:
            found.setdefault(role.pool, set()).add(engine_image(plan, role))
    return {pool: sorted(found[pool]) for pool in sorted(found)}


def prepull_spec(pool: str, images: list[str]) -> dict[str, Any]:
    """Spec of a pool's DaemonSet: one sleeping container for each image, which also keeps it from being cleaned up."""
    labels = {"app.kubernetes.io/name": "prepull", "headwater/prepull": pool}
    containers = [
        {
            "name": f"image-{number}",
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["/bin/sleep", "infinity"],
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
            "securityContext": plain_security(),
        }
        for number, image in enumerate(images, start=1)
    ]
    return {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "terminationGracePeriodSeconds": 1,
                "nodeSelector": {POOL_LABEL: pool},
                "tolerations": tolerations(),
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": USER,
                    "runAsGroup": USER,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": containers,
            },
        },
    }


class Prepull(pulumi.ComponentResource):
    """One DaemonSet for each pool of the plan."""

    def __init__(
        self, name: str, plan: Plan, platform: PlatformRefs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("headwater:serving:Prepull", name, {}, opts)
        for pool, images in pool_images(plan).items():
            metadata: Any = {
                "name": f"prepull-{pool}",
                "namespace": platform.namespace,
                "annotations": {"pulumi.com/skipAwait": "true"},
            }
            spec: Any = prepull_spec(pool, images)
            k8s.apps.v1.DaemonSet(
                f"{name}-{pool}",
                metadata=metadata,
                spec=spec,
                opts=pulumi.ResourceOptions(parent=self, provider=platform.kubernetes, depends_on=list(platform.ready)),
            )
        self.register_outputs({})

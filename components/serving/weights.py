"""Where a model server finds its weights: volumes, the copy from the mirror, and the path the engine loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from components.platform.model import WEIGHTS_CLAIM
from components.serving.images import image
from components.serving.security import writer_security
from headwater.plan import ModelPlan, Plan
from headwater.plan.mirror import mirror_target

MODELS = "/models"
WEIGHTS_VOLUME = "weights"

COPY = """\
aws configure set default.s3.preferred_transfer_client crt
aws configure set default.s3.target_bandwidth "$BANDWIDTH"
exec aws s3 sync --only-show-errors --no-follow-symlinks "$SOURCE" "$TARGET"
"""
"""Parallel copy with the AWS common runtime; a file that is already there in the same size is not fetched again."""

COMPLETE = ".complete"
"""Suffix of the object that says a repository is in the mirror whole; written last, by whoever fills it."""

WAIT = f"""\
until aws s3 ls "$SOURCE{COMPLETE}" >/dev/null; do echo "the mirror is not complete yet"; sleep 15; done
"""


@dataclass(frozen=True)
class Weights:
    """How a model's pods come by the weights.

    Attributes:
        model: what the engine is told to load: a path when a mirror is used, else the repository.
        volumes: volumes of the pod.
        mounts: mounts of the engine's container.
        init: containers that run before the engine.
        env: environment of the engine.
    """

    model: str
    volumes: list[dict[str, Any]]
    mounts: list[dict[str, Any]]
    init: list[dict[str, Any]]
    env: list[dict[str, Any]]


def shared_cache(plan: Plan) -> bool:
    """Whether weights live on a file system all nodes share."""
    return plan.settings.weights.cache in ("efs", "fsx")


def writes_shared(plan: Plan) -> bool:
    """Whether the engine itself downloads weights to a file system all nodes share."""
    return shared_cache(plan) and plan.settings.weights.mirror is None


def weights(plan: Plan, model: ModelPlan) -> Weights:
    """Volumes, init container and engine path for the stack's ``headwater:weights``.

    With a mirror, an init container copies ``<mirror>/<repository>`` and the engine never talks to the hub; without
    one the engine downloads from the hub into the same place. ``nvme`` is the node's instance store, which holds
    the pod's ephemeral volumes; ``efs`` and ``fsx`` are a claim shared by all pods and keep what was loaded.
    """
    source: dict[str, Any] = (
        {"persistentVolumeClaim": {"claimName": WEIGHTS_CLAIM}} if shared_cache(plan) else {"emptyDir": {}}
    )
    volumes = [{"name": WEIGHTS_VOLUME, **source}]
    mounts = [{"name": WEIGHTS_VOLUME, "mountPath": MODELS}]
    mirror = plan.settings.weights.mirror
    if mirror is None:
        env = [{"name": "HF_HOME", "value": f"{MODELS}/hub"}, {"name": "HF_XET_HIGH_PERFORMANCE", "value": "1"}]
        return Weights(model.repository, volumes, mounts, [], env)
    target = f"{MODELS}/{model.repository}"
    env = [
        {"name": "HF_HOME", "value": f"{MODELS}/hub"},
        {"name": "HF_HUB_OFFLINE", "value": "1"},
        {"name": "TRANSFORMERS_OFFLINE", "value": "1"},
    ]
    copy = {
        "name": "weights",
        "image": image(plan, "aws-cli"),
        "command": ["/bin/sh", "-ec"],
        "args": [WAIT + COPY if plan.settings.weights.fill else COPY],
        "env": [
            {"name": "SOURCE", "value": mirror_target(mirror, model.repository)},
            {"name": "TARGET", "value": target},
            {"name": "BANDWIDTH", "value": "100Gb/s"},
            {"name": "AWS_REGION", "value": plan.region},
            {"name": "HOME", "value": "/tmp"},
        ],
        "resources": {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"memory": "16Gi"}},
        "securityContext": writer_security(),
        "volumeMounts": mounts,
    }
    return Weights(target, volumes, mounts, [copy], env)

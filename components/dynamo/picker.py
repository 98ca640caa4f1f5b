"""Dynamo's endpoint picker behind a Gateway, and the small frontend beside each worker that it sends requests to.

The picker chooses the workers; the frontend in the chosen pod only does what it is told (router mode ``direct``). The
operator makes the InferencePool, ``<graph>-pool``, and the picker's Service.
"""

from __future__ import annotations

from typing import Any

from components.dynamo.frontend import COMMAND, image_user
from components.dynamo.images import dynamo_image
from components.dynamo.model import MAIN, Component
from components.dynamo.names import (
    EXT_PROC_HEALTH_PORT,
    EXT_PROC_PORT,
    HTTP_PORT,
    PICKER,
    SYSTEM_PORT,
    graph_name,
    ports,
)
from components.dynamo.router import policy_mount, policy_volume, router_variables
from components.dynamo.worker import IMAGE_USER
from components.quantities import requests
from components.serving import model_labels, plain_security
from headwater.catalog.system import own_pod
from headwater.plan import ModelPlan, Plan

SIDECAR = "frontend"


def pool_name(model: ModelPlan) -> str:
    """The InferencePool the operator makes."""
    return f"{graph_name(model)}-pool"


def picker(plan: Plan, model: ModelPlan, token_secret: str | None) -> Component:
    """The picker's component: one replica, since its index of caches is its own.

    Args:
        plan: the environment.
        model: the model.
        token_secret: Secret with the hub token, or None; it reads the tokenizer.
    """
    values = {
        "DYN_MODEL_NAME": model.name,
        "DYN_KV_CACHE_BLOCK_SIZE": str(model.roles[0].block_size),
        "RUST_LOG": "info",
        **router_variables(plan.settings.dynamo, model),
    }
    container: dict[str, Any] = {
        "name": MAIN,
        "image": dynamo_image(plan, "dynamo-frontend"),
        "imagePullPolicy": "IfNotPresent",
        "env": [*_token(token_secret), *({"name": name, "value": value} for name, value in sorted(values.items()))],
        "ports": ports(grpc=EXT_PROC_PORT, grpc_health=EXT_PROC_HEALTH_PORT, metrics=SYSTEM_PORT),
        "resources": {"requests": requests(own_pod("dynamo-picker")), "limits": {"memory": "8Gi"}},
        "securityContext": plain_security(),
    }
    spec: dict[str, Any] = {
        "enableServiceLinks": False,
        "securityContext": image_user(),
        "containers": [container],
    }
    if mount := policy_mount(plan.settings.dynamo, model):
        container["volumeMounts"] = [mount]
        spec["volumes"] = [policy_volume(plan.settings.dynamo, model)]
    labels = {**model_labels(model), "app.kubernetes.io/component": PICKER}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return Component(name=PICKER, type="epp", replicas=1, pod_template=template)


def sidecar(plan: Plan, model: ModelPlan, token_secret: str | None) -> dict[str, Any]:
    """The frontend's container beside a worker."""
    code = ["--trust-remote-code"] if model.trust_remote_code else []
    security = {**plain_security(), "runAsNonRoot": True, "runAsUser": IMAGE_USER, "runAsGroup": 0}
    return {
        "name": SIDECAR,
        "image": dynamo_image(plan, "dynamo-frontend"),
        "imagePullPolicy": "IfNotPresent",
        "command": list(COMMAND),
        "args": ["--router-mode", "direct", *code],
        "env": [*_token(token_secret), {"name": "HOME", "value": "/tmp"}],
        "ports": ports(http=HTTP_PORT),
        "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
        "securityContext": security,
    }


def _token(token_secret: str | None) -> list[dict[str, Any]]:
    if token_secret is None:
        return []
    return [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": token_secret, "key": "HF_TOKEN"}}}]

"""The frontend component: the OpenAI-compatible server of a model, with the router inside."""

from __future__ import annotations

from typing import Any

from components.dynamo.images import dynamo_image
from components.dynamo.model import MAIN, Component
from components.dynamo.names import COMPONENT_LABEL, FRONTEND, GRAPH_LABEL, HTTP_PORT, graph_name, ports
from components.dynamo.router import policy_mount, policy_volume, router_arguments
from components.dynamo.worker import IMAGE_USER
from components.platform.model import MODEL_SERVICE_ACCOUNT
from components.serving import model_labels, plain_security
from components.serving.names import HOSTNAME, ZONE
from headwater.plan import ModelPlan, Plan
from headwater.plan.system_pods import rolls_in_place

COMMAND = ("python3", "-m", "dynamo.frontend")
GRACE_SECONDS = 120
IN_PLACE = {
    "nvidia.com/deployment-rolling-update-max-surge": "0",
    "nvidia.com/deployment-rolling-update-max-unavailable": "1",
}
"""A rollout on the room the frontends have: by default one more would have to fit beside them, or it never ends."""


def frontend(plan: Plan, model: ModelPlan, token_secret: str | None) -> Component:
    """The component.

    Args:
        plan: the environment.
        model: the model.
        token_secret: Secret with the hub token, or None; read only when a worker cannot hand over its tokenizer.
    """
    own = plan.settings.dynamo.frontend
    container = {
        "name": MAIN,
        "image": dynamo_image(plan, "dynamo-frontend"),
        "imagePullPolicy": "IfNotPresent",
        "command": list(COMMAND),
        "args": frontend_arguments(plan, model),
        "env": _environment(token_secret),
        "ports": ports(http=HTTP_PORT),
        "resources": {
            "requests": {"cpu": str(own.cpu), "memory": f"{own.memory}Gi"},
            "limits": {"memory": f"{own.memory}Gi"},
        },
        "securityContext": plain_security(),
    }
    spec: dict[str, Any] = {
        "serviceAccountName": MODEL_SERVICE_ACCOUNT,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": image_user(),
        "topologySpreadConstraints": spread(model, FRONTEND),
        "containers": [container],
    }
    if mount := policy_mount(plan.settings.dynamo, model):
        container["volumeMounts"] = [mount]
        spec["volumes"] = [policy_volume(plan.settings.dynamo, model)]
    labels = {**model_labels(model), "app.kubernetes.io/component": FRONTEND}
    metadata: dict[str, Any] = {"labels": labels}
    if rolls_in_place(plan.settings):
        metadata["annotations"] = dict(IN_PLACE)
    template = {"metadata": metadata, "spec": spec}
    return Component(name=FRONTEND, type="frontend", replicas=own.replicas, pod_template=template)


def frontend_arguments(plan: Plan, model: ModelPlan) -> list[str]:
    """Flags of the frontend: an unknown one stops it at once, where a misspelt variable would be ignored."""
    own = plan.settings.dynamo
    words = router_arguments(own, model, own.frontend.replicas)
    if own.frontend.migrations:
        words += ["--migration-limit", str(own.frontend.migrations)]
    if model.trust_remote_code:
        words.append("--trust-remote-code")
    return words


def image_user() -> dict[str, Any]:
    """Security context of pods that run Dynamo's images without GPUs."""
    return {
        "runAsNonRoot": True,
        "runAsUser": IMAGE_USER,
        "runAsGroup": 0,
        "fsGroup": IMAGE_USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def spread(model: ModelPlan, component: str) -> list[dict[str, Any]]:
    """Replicas on different nodes and zones, as far as there are any."""
    labels = {GRAPH_LABEL: graph_name(model), COMPONENT_LABEL: component}
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels},
        }
        for key in (ZONE, HOSTNAME)
    ]


def _environment(token_secret: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": "DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS", "value": str(GRACE_SECONDS - 30)}
    ]
    if token_secret is not None:
        reference = {"secretKeyRef": {"name": token_secret, "key": "HF_TOKEN"}}
        found.insert(0, {"name": "HF_TOKEN", "valueFrom": reference})
    return found

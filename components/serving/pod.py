"""One model pod, put together: the same shape for both serving stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from components.serving.environment import environment
from components.serving.images import engine_image
from components.serving.names import ENGINE_CONTAINER, role_labels
from components.serving.placement import DO_NOT_DISRUPT, affinity, node_selector, tolerations
from components.serving.priority import priority_class
from components.serving.resources import resources
from components.serving.security import container_security, pod_security
from components.serving.volumes import scratch
from components.serving.weights import weights, writes_shared
from headwater.plan import ModelPlan, Plan, Role


def engine_words(role: Role, *, without: Sequence[str] = ()) -> list[str]:
    """The engine's arguments in the plan's order, ``--flag=value`` each.

    Args:
        role: whose arguments.
        without: flags the caller sets itself.
    """
    return [word for argument in role.engine_args if argument.flag not in without for word in argument.words]


def engine_container(
    plan: Plan,
    model: ModelPlan,
    role: Role,
    *,
    token_secret: str | None,
    env: Sequence[dict[str, Any]] = (),
    mounts: Sequence[dict[str, Any]] = (),
    more_disk_gib: int = 0,
    name: str = ENGINE_CONTAINER,
) -> dict[str, Any]:
    """The engine's container without command, arguments, ports and probes, which each stack adds.

    Args:
        plan: the environment.
        model: the model.
        role: the role.
        token_secret: Secret with the hub token, or None.
        env: more variables, after ours.
        mounts: more mounts, after ours.
        more_disk_gib: local disk beyond the plan's, GiB.
        name: of the container.
    """
    source = weights(plan, model)
    return {
        "name": name,
        "image": engine_image(plan, role),
        "imagePullPolicy": "IfNotPresent",
        "env": [*environment(role, token_secret), *source.env, *env],
        "resources": resources(role, more_disk_gib),
        "securityContext": container_security(role, writes_shared=writes_shared(plan)),
        "volumeMounts": [*scratch(role)[1], *source.mounts, *mounts],
    }


def pod_labels(model: ModelPlan, role: Role) -> dict[str, str]:
    """Labels of the pod."""
    return role_labels(model, role)


def pod_annotations() -> dict[str, str]:
    """Annotations of the pod: not to be moved."""
    return dict(DO_NOT_DISRUPT)


def pod_spec(
    plan: Plan,
    model: ModelPlan,
    role: Role,
    *,
    containers: Sequence[dict[str, Any]],
    service_account: str,
    init: Sequence[dict[str, Any]] = (),
    volumes: Sequence[dict[str, Any]] = (),
    group_index: bool = False,
    grace_seconds: int = 60,
) -> dict[str, Any]:
    """The pod's spec around its containers.

    Args:
        plan: the environment.
        model: the model.
        role: the role.
        containers: engine first.
        service_account: name of the account; its token is never mounted.
        init: more init containers, after the copy of the weights.
        volumes: more volumes.
        group_index: hold LeaderWorkerSet groups together (see ``placement.affinity``).
        grace_seconds: time to finish running requests.
    """
    source = weights(plan, model)
    spec: dict[str, Any] = {
        "serviceAccountName": service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": grace_seconds,
        "nodeSelector": node_selector(role),
        "tolerations": tolerations(),
        "securityContext": pod_security(role),
        "containers": list(containers),
        "volumes": [*scratch(role)[0], *source.volumes, *volumes],
    }
    if model.priority:
        spec["priorityClassName"] = priority_class(model.priority)
    if placed := affinity(model, role, group_index=group_index):
        spec["affinity"] = placed
    if starters := [*source.init, *init]:
        spec["initContainers"] = starters
    return spec

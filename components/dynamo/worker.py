"""Worker components: one for each role of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from components.dynamo.arguments import COMMAND, worker_arguments
from components.dynamo.model import MAIN, Component, Multinode, ScalingAdapter
from components.dynamo.names import NIXL_PORT, SYSTEM_PORT, ports
from components.platform.model import MODEL_SERVICE_ACCOUNT
from components.quantities import mebibytes
from components.serving import engine_container, pod_annotations, pod_labels, pod_spec
from components.serving.probes import STARTUP_PERIOD, startup_failures
from components.serving.security import USER
from components.serving.weights import MODELS
from headwater.plan import ModelPlan, Plan, Role
from headwater.plan.dynamo_layout import component_name

GRACE_SECONDS = 180
"""Time to finish the answers under way; the runtime gives up a little earlier by itself."""
IMAGE_USER = 1000
"""User ``dynamo`` of the images; its group is root's, and what the image holds is open to that group."""
COMPILED = f"{MODELS}/.compiled"
"""Compiled kernels on the volume all nodes share; the engine keeps versions and models apart by itself."""

FABRIC = {"FI_EFA_USE_DEVICE_RDMA": "1", "FI_EFA_ENABLE_SHM_TRANSFER": "0", "FI_EFA_ENABLE_SHM": "0"}
"""Libfabric between GPUs of different nodes; its shared-memory path between processes of one node has no GPU memory."""


def worker(
    plan: Plan,
    model: ModelPlan,
    role: Role,
    token_secret: str | None,
    *,
    elastic: bool,
    sidecars: Sequence[dict[str, Any]] = (),
) -> Component:
    """The component of a role.

    Args:
        plan: the environment.
        model: the model.
        role: the role.
        token_secret: Secret with the hub token, or None.
        elastic: something else sets the number of replicas after the start.
        sidecars: containers beside the engine; the first answers requests for it.
    """
    name = component_name(role)
    return Component.model_validate(
        {
            "name": name,
            "type": name,
            "replicas": role.replicas_min,
            "multinode": Multinode(node_count=role.nodes) if role.nodes > 1 else None,
            "scaling_adapter": ScalingAdapter() if elastic else None,
            "shared_memory_size": mebibytes(role.pod.shared_memory_mib),
            "frontend_sidecar": sidecars[0]["name"] if sidecars else None,
            "pod_template": _pod(plan, model, role, token_secret, sidecars),
        }
    )


def _pod(
    plan: Plan, model: ModelPlan, role: Role, token_secret: str | None, sidecars: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    container = engine_container(plan, model, role, token_secret=token_secret, env=_environment(model, role), name=MAIN)
    if plan.settings.dynamo.compilation_cache:
        kept = [v for v in container["env"] if v["name"] != "VLLM_CACHE_ROOT"]
        container["env"] = [*kept, {"name": "VLLM_CACHE_ROOT", "value": COMPILED}]
    container |= {
        "command": list(COMMAND),
        "args": worker_arguments(plan, model, role),
        "ports": ports(system=SYSTEM_PORT, nixl=NIXL_PORT),
        "startupProbe": _startup(role),
        "volumeMounts": [m for m in container["volumeMounts"] if m["mountPath"] != "/dev/shm"],
    }
    if role.pod.efa and plan.settings.dynamo.privileged:
        container["securityContext"] = {"privileged": True}
    spec = pod_spec(
        plan,
        model,
        role,
        containers=[container, *sidecars],
        service_account=MODEL_SERVICE_ACCOUNT,
        grace_seconds=GRACE_SECONDS,
    )
    spec["automountServiceAccountToken"] = True  # discovery is by objects in the API server
    spec["volumes"] = [v for v in spec["volumes"] if v["name"] != "shm"]  # the operator brings /dev/shm
    if not role.pod.efa:
        spec["securityContext"] |= {"runAsUser": USER, "runAsGroup": 0, "fsGroup": USER}
    metadata = {"labels": pod_labels(model, role), "annotations": pod_annotations()}
    return {"metadata": metadata, "spec": spec}


def _environment(model: ModelPlan, role: Role) -> list[dict[str, Any]]:
    values = {
        "PYTHONHASHSEED": "0",  # blocks are named by hashes; workers and router must agree on them
        "DYN_RUNTIME_GRACEFUL_SHUTDOWN_TIMEOUT_SECS": str(GRACE_SECONDS - 30),
        "DYN_SELF_HOST_METADATA": "true",  # the frontend asks the worker for tokenizer and chat template
    }
    if role.pod.efa:
        values |= FABRIC
    if model.disaggregated:
        values["NIXL_TELEMETRY_ENABLE"] = "y"
    found: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in values.items()]
    if model.disaggregated and role.offload_gib and role.nodes == 1:
        # Dynamo fills it in for a plain NIXL connector only, the operator for several nodes.
        address = {"fieldRef": {"fieldPath": "status.podIP"}}
        found.append({"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": address})
    return found


def _startup(role: Role) -> dict[str, Any]:
    """The budget the plan computed, on the operator's own port; it leaves probes off pods that only compute."""
    return {
        "httpGet": {"path": "/live", "port": "system"},
        "periodSeconds": STARTUP_PERIOD,
        "timeoutSeconds": 5,
        "failureThreshold": startup_failures(role),
    }

"""Dynamo's Planner: its configuration as a closed type, and its component.

The planner ignores a key it does not know without a word, and latency targets unless its target is ``sla``; so the
type has no room for either mistake.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from components.dynamo.configmaps import content_name
from components.dynamo.frontend import image_user
from components.dynamo.images import dynamo_image
from components.dynamo.model import MAIN, Component
from components.dynamo.names import PLANNER, PLANNER_METRICS_PORT, SYSTEM_PORT, ports
from components.quantities import requests
from components.serving import model_labels, plain_security
from headwater.catalog.system import own_pod
from headwater.plan import ModelPlan, Plan
from headwater.plan.dynamo_layout import most_gpus
from headwater.settings import ModelSettings
from headwater.settings.dynamo import ConfigValue, Planner

COMMAND = ("python3", "-m", "dynamo.planner")
CONFIG_FOLDER = "/etc/dynamo/planner"
CONFIG_FILE = "planner.json"
CONFIG_VOLUME = "planner-config"


class PlannerConfig(BaseModel):
    """Fields of the planner's configuration that the plan and the stack file decide.

    Attributes:
        ttft_ms: only with target ``sla``; so is ``itl_ms``.
        max_gpu_budget: the planner's own default of 8 is below most graphs' minimum.
        pre_deployment_sweeping_mode: ``none``: no profile was made, it learns from running engines.
        report_interval_hours: None: no reports into a file system that goes with the pod.
        live_dashboard_port: 0: it asks nobody who they are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    environment: Literal["kubernetes"] = "kubernetes"
    backend: Literal["vllm"] = "vllm"
    mode: Literal["agg", "disagg"]
    optimization_target: Literal["sla", "throughput", "latency", "load"]
    enable_throughput_scaling: bool
    enable_load_scaling: Literal[True] = True
    ttft_ms: float | None = None
    itl_ms: float | None = None
    throughput_adjustment_interval_seconds: int
    load_adjustment_interval_seconds: int
    max_throughput_scaling_replicas: int
    load_scaling_down_sensitivity: int
    load_predictor: Literal["constant", "arima", "kalman", "prophet"]
    max_gpu_budget: int
    min_endpoint: int | None = None
    prefill_min_endpoint: int | None = None
    decode_min_endpoint: int | None = None
    prefill_scale_up_queue_tokens: int | None = None
    prefill_scale_down_queue_tokens: int | None = None
    decode_scale_up_kv_rate: float | None = None
    decode_scale_down_kv_rate: float | None = None
    pre_deployment_sweeping_mode: Literal["none"] = "none"
    advisory: bool
    report_interval_hours: None = None
    live_dashboard_port: int = 0

    def fields(self, more: dict[str, ConfigValue]) -> dict[str, Any]:
        """What is written: absent fields left to the planner, the person's additions last."""
        own = {name: value for name, value in self.model_dump().items() if value is not None}
        return {**own, "report_interval_hours": None, **more}


def planner_config(model: ModelPlan, asked: ModelSettings, own: Planner) -> PlannerConfig:
    """Configuration for one model.

    Args:
        model: the model.
        asked: what the stack file says of it; its objectives are the planner's under target ``sla``.
        own: the planner's settings.
    """
    floors: dict[str, Any]
    if model.disaggregated:
        floors = {f"{role.role}_min_endpoint": max(1, role.replicas_min) for role in model.roles}
    else:
        floors = {"min_endpoint": max(1, model.roles[0].replicas_min)}
    targets: dict[str, Any] = {}
    if own.target == "sla" and asked.slo.ttft is not None and asked.slo.tpot is not None:
        targets = {"ttft_ms": asked.slo.ttft * 1000, "itl_ms": asked.slo.tpot * 1000}
    if own.target == "load" and own.decode_kv is not None and own.prefill_queue is not None:
        targets = {"decode_scale_up_kv_rate": own.decode_kv.up, "decode_scale_down_kv_rate": own.decode_kv.down}
        if model.disaggregated:
            targets["prefill_scale_up_queue_tokens"] = round(own.prefill_queue.up)
            targets["prefill_scale_down_queue_tokens"] = round(own.prefill_queue.down)
    return PlannerConfig(
        mode="disagg" if model.disaggregated else "agg",
        optimization_target=own.target,
        enable_throughput_scaling=own.target == "sla",
        throughput_adjustment_interval_seconds=round(own.throughput_interval),
        load_adjustment_interval_seconds=round(own.load_interval),
        max_throughput_scaling_replicas=own.max_step,
        load_scaling_down_sensitivity=own.sensitivity,
        load_predictor=own.predictor,
        max_gpu_budget=own.max_gpus or most_gpus(model),
        advisory=own.advisory,
        **floors,
        **targets,
    )


def planner_text(plan: Plan, model: ModelPlan) -> str:
    """The configuration file of a model's planner, in one form only.

    Raises:
        ValueError: the stack file has no planner.
    """
    own = plan.settings.dynamo.planner
    if own is None:
        raise ValueError(f"{model.name} has no planner")
    asked = next(m for m in plan.settings.serving.models if m.name == model.name)
    fields = planner_config(model, asked, own).fields(own.config)
    return json.dumps(fields, indent=1, sort_keys=True) + "\n"


def planner_config_name(model: ModelPlan, text: str) -> str:
    """Name of its ConfigMap."""
    return content_name(f"{model.name}-planner", text)


def planner(plan: Plan, model: ModelPlan, prometheus: str | None) -> Component:
    """The component. The operator gives it the account that may set the graph's replicas.

    Args:
        plan: the environment.
        model: the model.
        prometheus: in-cluster address; None when observability is off, which target ``sla`` rules out.
    """
    container: dict[str, Any] = {
        "name": MAIN,
        "image": dynamo_image(plan, "dynamo-planner"),
        "imagePullPolicy": "IfNotPresent",
        "command": list(COMMAND),
        "args": ["--config", f"{CONFIG_FOLDER}/{CONFIG_FILE}"],
        "ports": ports(metrics=PLANNER_METRICS_PORT, system=SYSTEM_PORT),
        "resources": {"requests": requests(own_pod("dynamo-planner")), "limits": {"memory": "4Gi"}},
        "securityContext": plain_security(),
        "volumeMounts": [{"name": CONFIG_VOLUME, "mountPath": CONFIG_FOLDER, "readOnly": True}],
    }
    if prometheus is not None:
        container["env"] = [{"name": "PROMETHEUS_ENDPOINT", "value": prometheus}]
    spec = {
        "enableServiceLinks": False,
        "securityContext": image_user(),
        "containers": [container],
        "volumes": [
            {"name": CONFIG_VOLUME, "configMap": {"name": planner_config_name(model, planner_text(plan, model))}}
        ],
    }
    labels = {**model_labels(model), "app.kubernetes.io/component": PLANNER}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return Component(name=PLANNER, type="planner", replicas=1, pod_template=template)

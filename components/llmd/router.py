"""The router of one model: the endpoint picker and its InferencePool, by the released chart."""

from __future__ import annotations

import hashlib
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.llmd.epp import EndpointPickerConfig, picker_config
from components.llmd.labels import pool_labels
from components.llmd.ports import ports
from components.llmd.routing import routing_of
from components.platform.charts import release
from components.platform.model import PlatformRefs
from components.quantities import cpu, requests
from components.serving import image
from headwater.catalog.system import own_pod
from headwater.plan import ModelPlan, Plan
from headwater.plan.llmd_paths import routing_path
from headwater.plan.system_pods import picker_millis

CONFIG_FILE = "epp.yaml"
CONFIG_HASH = "headwater/config-hash"
PROXY_PORT = 8081
METRICS_PORT = 9090
EXT_PROC_PORT = 9002

PREDICTOR_WORKERS = "4"


def router_name(model: ModelPlan) -> str:
    """Release name; the InferencePool carries it, the picker's Service adds ``-epp``."""
    return model.name


def picker_service(model: ModelPlan) -> str:
    """Name of the picker's Service, Deployment and ConfigMap."""
    return f"{router_name(model)}-epp"


def router_values(plan: Plan, model: ModelPlan, platform: PlatformRefs) -> dict[str, Any]:
    """Values of the chart, of both its forms."""
    own = plan.settings.llmd
    path = routing_path(own, model)
    config = picker_config(routing_of(plan, model, path, platform.namespace_name))
    standalone = own.mode == "standalone"
    values: dict[str, Any] = {
        "epp": _picker(plan, model, config),
        "modelServers": {
            "type": "vllm",
            "matchLabels": pool_labels(model),
            "targetPorts": [{"number": port} for port in ports(model.roles[-1], path).pool],
        },
        "inferencePool": {"create": True, "failureMode": "FailClose" if model.disaggregated else "FailOpen"},
        "monitoring": _monitoring(platform),
    }
    if path == "slo":
        values["latencyPredictor"] = _predictor()
    if standalone:
        values |= _proxy(plan, model)
        return {"router": values}
    provider = "istio" if own.gateway == "istio" else "none"
    return {"router": values, "provider": {"name": provider}, "httpRoute": {"create": False}}


def _picker(plan: Plan, model: ModelPlan, config: EndpointPickerConfig) -> dict[str, Any]:
    own = plan.settings.llmd
    text = config.text()
    flags: dict[str, Any] = {"v": own.picker.verbosity}
    if own.alpha_plugins:
        flags["allow-experimental-plugins"] = True
    if own.picker.replicas > 1:
        flags["ha-enable-leader-election"] = False
    registry, _, repository = image(plan, "llm-d-epp").partition(":")[0].rpartition("/")
    memory = own.picker.memory
    return {
        "replicas": own.picker.replicas,
        "image": {
            "registry": registry,
            "repository": repository,
            "tag": image(plan, "llm-d-epp").rpartition(":")[2],
            "pullPolicy": "IfNotPresent",
        },
        "flags": flags,
        "pluginsConfigFile": CONFIG_FILE,
        "pluginsCustomConfig": {CONFIG_FILE: text},
        "podAnnotations": {CONFIG_HASH: hashlib.sha256(text.encode()).hexdigest()[:16]},
        "resources": {
            "requests": {"cpu": cpu(picker_millis(plan.settings, model)), "memory": f"{memory}Gi"},
            "limits": {"memory": f"{memory * 2}Gi"},
        },
    }


def _monitoring(platform: PlatformRefs) -> dict[str, Any]:
    """Scraped without a token: the chart's Secret has one fixed name, and network policies guard the port."""
    prometheus: dict[str, Any] = {"enabled": platform.prometheus_url is not None, "auth": {"enabled": False}}
    if platform.monitor_labels:
        prometheus["extraLabels"] = dict(platform.monitor_labels)
    return {"prometheus": prometheus}


def _predictor() -> dict[str, Any]:
    """Latency predictors beside the picker, for one model's load: one server with few workers."""
    return {
        "enabled": True,
        "predictionServers": {
            "count": 1,
            "resources": {"requests": requests(own_pod("latency-predictor")), "limits": {"cpu": "4", "memory": "8Gi"}},
            "config": {"UVICORN_WORKERS": PREDICTOR_WORKERS},
        },
    }


def _proxy(plan: Plan, model: ModelPlan) -> dict[str, Any]:
    """Envoy beside the picker. Fails closed: open, it would send requests wherever a client's own header says."""
    name = f"{router_name(model)}-envoy"
    return {
        "extraServicePorts": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": PROXY_PORT}],
        "proxy": {
            "enabled": True,
            "proxyType": "envoy",
            "mode": "sidecar",
            "failOpen": False,
            "image": image(plan, "envoy"),
            "configMap": {"name": name},
            "volumes": [
                {"name": "config", "configMap": {"name": name, "items": [{"key": "envoy.yaml", "path": "envoy.yaml"}]}}
            ],
            "resources": {"requests": requests(own_pod("standalone-proxy")), "limits": {"memory": "4Gi"}},
        },
    }


def router(
    name: str,
    plan: Plan,
    model: ModelPlan,
    platform: PlatformRefs,
    opts: pulumi.ResourceOptions,
) -> k8s.helm.v3.Release:
    """Install the router of one model in the models' namespace."""
    return release(
        name,
        f"llm-d-router-{plan.settings.llmd.mode}",
        router_values(plan, model, platform),
        mirror=plan.settings.mirror,
        release_name=router_name(model),
        namespace=platform.namespace,
        opts=opts,
    )

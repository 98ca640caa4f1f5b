"""The Gateway and its controllers as plain values and specs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from components.llmd.exposure import LOAD_BALANCER_CLASS, Exposure
from components.quantities import requests
from headwater.catalog.releases import charts
from headwater.catalog.system import own_pod, upstream_pod

GATEWAY_NAME = "inference-gateway"
ENVOY_CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"
PROXY_RESOURCES = {"requests": requests(own_pod("gateway-proxy")), "limits": {"memory": "4Gi"}}
PROXY_REPLICAS = own_pod("gateway-proxy").replicas


def envoy_gateway_values() -> dict[str, Any]:
    """Values of Envoy Gateway with Envoy AI Gateway as its extension, which knows InferencePools.

    The standard Gateway API definitions and their upgrade guard are the platform's, so the chart's own stay off.
    """
    ai = charts()["ai-gateway-helm"].namespace
    every = {"includeAll": True}
    return {
        "crds": {"gatewayAPI": {"safeUpgradePolicy": {"enabled": False}}},
        "podDisruptionBudget": {"minAvailable": 1},
        "deployment": {"replicas": upstream_pod("envoy-gateway").replicas},
        "config": {
            "envoyGateway": {
                "extensionApis": {"enableBackend": True},
                "extensionManager": {
                    "backendResources": [
                        {"group": "inference.networking.k8s.io", "kind": "InferencePool", "version": "v1"}
                    ],
                    "hooks": {
                        "xdsTranslator": {
                            "translation": {"listener": every, "route": every, "cluster": every, "secret": every},
                            "post": ["Translation", "Cluster", "Route"],
                        }
                    },
                    "service": {"fqdn": {"hostname": f"ai-gateway-controller.{ai}.svc.cluster.local", "port": 1063}},
                },
            }
        },
    }


def agentgateway_values(monitored: bool) -> dict[str, Any]:
    """Values of agentgateway; its proxies are monitored in every namespace."""
    own = own_pod("agentgateway")
    return {
        "inferenceExtension": {"enabled": True},
        "controller": {"replicaCount": own.replicas},
        "resources": {"requests": requests(own), "limits": {"memory": "1Gi"}},
        "monitoring": {"enabled": monitored, "proxy": {"namespaceSelector": {"any": True}}},
    }


def gateway_spec(class_name: str, parameters: Mapping[str, str], access: Exposure) -> dict[str, Any]:
    """Spec of the Gateway; only routes of its own namespace may attach."""
    infrastructure: dict[str, Any] = {"parametersRef": dict(parameters)}
    if access.annotations:
        infrastructure["annotations"] = dict(access.annotations)
    listener: dict[str, Any] = {
        "name": "default",
        "port": access.port,
        "protocol": "HTTP",
        "allowedRoutes": {"namespaces": {"from": "Same"}},
    }
    return {"gatewayClassName": class_name, "infrastructure": infrastructure, "listeners": [listener]}


def envoy_proxy_spec(access: Exposure) -> dict[str, Any]:
    """How Envoy runs: two replicas on different nodes, behind a Service of a known name and a chosen type."""
    service: dict[str, Any] = {"name": GATEWAY_NAME, "type": access.service_type}
    if access.service_type == "LoadBalancer":
        service |= {"externalTrafficPolicy": "Cluster", "loadBalancerClass": LOAD_BALANCER_CLASS}
        if access.annotations:
            service["annotations"] = dict(access.annotations)
        if access.allow:
            service["loadBalancerSourceRanges"] = list(access.allow)
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"gateway.envoyproxy.io/owning-gateway-name": GATEWAY_NAME}},
    }
    return {
        "provider": {
            "type": "Kubernetes",
            "kubernetes": {
                "envoyDeployment": {
                    "replicas": PROXY_REPLICAS,
                    "container": {"resources": PROXY_RESOURCES},
                    "pod": {"topologySpreadConstraints": [spread]},
                },
                "envoyService": service,
            },
        },
        "shutdown": {"drainTimeout": "300s"},
    }


def istiod_values() -> dict[str, Any]:
    """Values of Istio's control plane: InferencePools known, nothing injected anywhere."""
    return {"env": {"ENABLE_GATEWAY_API_INFERENCE_EXTENSION": "true"}, "autoscaleMin": upstream_pod("istiod").replicas}


def istio_overlays(access: Exposure) -> dict[str, str]:
    """Content of the ConfigMap by which Istio changes what it makes for a Gateway: Service and Deployment."""
    service: dict[str, Any] = {"spec": {"type": access.service_type}}
    if access.service_type == "LoadBalancer":
        service["spec"]["loadBalancerClass"] = LOAD_BALANCER_CLASS
        if access.allow:
            service["spec"]["loadBalancerSourceRanges"] = list(access.allow)
        service["metadata"] = {"annotations": dict(access.annotations)}
    container = {"name": "istio-proxy", "resources": PROXY_RESOURCES}
    deployment = {"spec": {"replicas": PROXY_REPLICAS, "template": {"spec": {"containers": [container]}}}}
    return {
        "deployment": yaml.safe_dump(deployment, sort_keys=True),
        "service": yaml.safe_dump(service, sort_keys=True),
    }


def agentgateway_parameters_spec(access: Exposure) -> dict[str, Any]:
    """How agentgateway's proxies run."""
    service: dict[str, Any] = {"type": access.service_type}
    if access.service_type == "LoadBalancer":
        service["loadBalancerClass"] = LOAD_BALANCER_CLASS
        if access.allow:
            service["loadBalancerSourceRanges"] = list(access.allow)
    return {
        "resources": PROXY_RESOURCES,
        "deployment": {"spec": {"replicas": PROXY_REPLICAS}},
        "service": {"metadata": {"annotations": dict(access.annotations)}, "spec": service},
    }

"""One Gateway for the environment: its controller, its class, and how it is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.llmd.exposure import Exposure, exposure
from components.llmd.objects import GATEWAY, GATEWAY_CLASS, Kind, Objects
from components.platform.charts import release
from components.platform.model import PlatformRefs
from components.platform.namespaces import namespace
from headwater.catalog.releases import charts
from headwater.plan import Plan

GATEWAY_NAME = "inference-gateway"
ENVOY_PROXY = Kind("gateway.envoyproxy.io/v1alpha1", "EnvoyProxy")
CLIENT_TRAFFIC_POLICY = Kind("gateway.envoyproxy.io/v1alpha1", "ClientTrafficPolicy")
AGENTGATEWAY_PARAMETERS = Kind("agentgateway.dev/v1alpha1", "AgentgatewayParameters")
ENVOY_CLASS = "envoy-ai-gateway"
ENVOY_CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"
AGENT_CLASS = "agentgateway"
PROXY_RESOURCES = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "4Gi"}}
PROXY_REPLICAS = 2
BUFFER_LIMIT = "50Mi"
"""Envoy's own 32 KiB is less than one long prompt."""


def envoy_gateway_values() -> dict[str, Any]:
    """Values of Envoy Gateway with Envoy AI Gateway as its extension, which knows InferencePools.

    The standard Gateway API definitions and their upgrade guard are the platform's, so the chart's own stay off.
    """
    ai = charts()["ai-gateway-helm"].namespace
    every = {"includeAll": True}
    return {
        "crds": {"gatewayAPI": {"safeUpgradePolicy": {"enabled": False}}},
        "podDisruptionBudget": {"minAvailable": 1},
        "deployment": {"replicas": 2},
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
    return {
        "inferenceExtension": {"enabled": True},
        "controller": {"replicaCount": 2},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
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
    if access.host is not None:
        listener["hostname"] = access.host
    return {"gatewayClassName": class_name, "infrastructure": infrastructure, "listeners": [listener]}


def envoy_proxy_spec(access: Exposure) -> dict[str, Any]:
    """How Envoy runs: two replicas on different nodes, behind a Service of a known name and a chosen type."""
    service: dict[str, Any] = {"name": GATEWAY_NAME, "type": access.service_type}
    if access.service_type == "LoadBalancer":
        service |= {"externalTrafficPolicy": "Cluster", "loadBalancerClass": "service.k8s.aws/nlb"}
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


def agentgateway_parameters_spec(access: Exposure) -> dict[str, Any]:
    """How agentgateway's proxies run."""
    service: dict[str, Any] = {"type": access.service_type}
    if access.service_type == "LoadBalancer":
        service["loadBalancerClass"] = "service.k8s.aws/nlb"
        if access.allow:
            service["loadBalancerSourceRanges"] = list(access.allow)
    return {
        "resources": PROXY_RESOURCES,
        "deployment": {"spec": {"replicas": PROXY_REPLICAS}},
        "service": {"metadata": {"annotations": dict(access.annotations)}, "spec": service},
    }


class InferenceGateway(pulumi.ComponentResource):
    """The controller and the Gateway every model's route attaches to.

    Attributes:
        address: base URL clients use, without ``/v1``.
        gateway: the Gateway; routes depend on it.
        proxies: namespace of the proxies, for network policies.
    """

    address: str
    gateway: k8s.apiextensions.CustomResource
    proxies: str

    def __init__(
        self, name: str, plan: Plan, platform: PlatformRefs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("headwater:llmd:InferenceGateway", name, {}, opts)
        self._name, self._plan, self._platform = name, plan, platform
        self._objects = Objects(name, self, platform, list(platform.ready))
        access = exposure(plan.settings.gateway)
        if plan.settings.llmd.gateway == "envoy":
            self.gateway, self.proxies = self._envoy(access)
        else:
            self.gateway, self.proxies = self._agentgateway(access)
        self.address = access.address(f"{GATEWAY_NAME}.{self.proxies}.svc.cluster.local")
        self.register_outputs({})

    def _envoy(self, access: Exposure) -> tuple[k8s.apiextensions.CustomResource, str]:
        home = self._namespace("gateway-helm")
        ai_home = self._namespace("ai-gateway-helm")
        crds = self._chart("gateway-crds-helm", {"crds": {"envoyGateway": {"enabled": True}}}, [home])
        ai_crds = self._chart("ai-gateway-crds-helm", {}, [ai_home])
        ai = self._chart("ai-gateway-helm", {}, [ai_crds, crds])
        controller = self._chart("gateway-helm", envoy_gateway_values(), [crds, ai], skip_crds=True)
        after = [controller, ai]
        spec = {"controllerName": ENVOY_CONTROLLER}
        class_ = self._objects.custom("class", GATEWAY_CLASS, {"name": ENVOY_CLASS}, spec, after=after)
        named = self._objects.metadata(GATEWAY_NAME)
        proxy = self._objects.custom("proxy", ENVOY_PROXY, named, envoy_proxy_spec(access), after=after)
        reference = {"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": GATEWAY_NAME}
        gateway = self._gateway(ENVOY_CLASS, reference, access, [class_, proxy])
        target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": GATEWAY_NAME}
        policy = {"targetRefs": [target], "connection": {"bufferLimit": BUFFER_LIMIT}}
        self._objects.custom("client-policy", CLIENT_TRAFFIC_POLICY, named, policy, after=[gateway])
        return gateway, charts()["gateway-helm"].namespace

    def _agentgateway(self, access: Exposure) -> tuple[k8s.apiextensions.CustomResource, str]:
        home = self._namespace("agentgateway")
        crds = self._chart("agentgateway-crds", {}, [home])
        values = agentgateway_values(self._platform.prometheus_url is not None)
        controller = self._chart("agentgateway", values, [crds])
        named = self._objects.metadata(GATEWAY_NAME)
        spec = agentgateway_parameters_spec(access)
        proxy = self._objects.custom("proxy", AGENTGATEWAY_PARAMETERS, named, spec, after=[controller])
        reference = {"group": "agentgateway.dev", "kind": AGENTGATEWAY_PARAMETERS.kind, "name": GATEWAY_NAME}
        gateway = self._gateway(AGENT_CLASS, reference, access, [proxy])
        return gateway, self._platform.namespace_name

    def _gateway(
        self, class_name: str, parameters: Mapping[str, str], access: Exposure, after: Sequence[pulumi.Resource]
    ) -> k8s.apiextensions.CustomResource:
        spec = gateway_spec(class_name, parameters, access)
        return self._objects.custom("gateway", GATEWAY, self._objects.metadata(GATEWAY_NAME), spec, after=after)

    def _namespace(self, chart: str) -> k8s.core.v1.Namespace:
        where = charts()[chart].namespace
        return namespace(
            f"{self._name}-{where}", where, self._platform.kubernetes, list(self._platform.ready), self, "baseline"
        )

    def _chart(
        self, key: str, values: Mapping[str, Any], after: Sequence[pulumi.Resource], *, skip_crds: bool = False
    ) -> k8s.helm.v3.Release:
        return release(
            f"{self._name}-{key}",
            key,
            values,
            mirror=self._plan.settings.mirror,
            skip_crds=skip_crds,
            opts=self._objects.options(after),
        )

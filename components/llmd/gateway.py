"""One Gateway for the environment: its controller, its class, and how it is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.llmd.edge import agentgateway_policy, client_policy
from components.llmd.exposure import Exposure, exposure
from components.llmd.flows import GATEWAY_POD_LABEL, Peer, namespace_peer
from components.llmd.gateway_specs import (
    ENVOY_CONTROLLER,
    GATEWAY_NAME,
    agentgateway_parameters_spec,
    agentgateway_values,
    envoy_gateway_values,
    envoy_proxy_spec,
    gateway_spec,
    istio_overlays,
    istiod_values,
)
from components.llmd.monitors import envoy_monitor
from components.llmd.objects import GATEWAY, GATEWAY_CLASS, POD_MONITOR, Kind, Objects
from components.platform.charts import release
from components.platform.model import PlatformRefs
from components.platform.namespaces import namespace
from headwater.catalog.releases import charts
from headwater.plan import Plan

ENVOY_PROXY = Kind("gateway.envoyproxy.io/v1alpha1", "EnvoyProxy")
CLIENT_TRAFFIC_POLICY = Kind("gateway.envoyproxy.io/v1alpha1", "ClientTrafficPolicy")
AGENTGATEWAY_PARAMETERS = Kind("agentgateway.dev/v1alpha1", "AgentgatewayParameters")
AGENTGATEWAY_POLICY = Kind("agentgateway.dev/v1alpha1", "AgentgatewayPolicy")
ENVOY_CLASS = "envoy-ai-gateway"
AGENT_CLASS = "agentgateway"
ISTIO_CLASS = "istio"


class InferenceGateway(pulumi.ComponentResource):
    """The controller and the Gateway every model's route attaches to.

    Attributes:
        address: base URL clients use, without ``/v1``.
        gateway: the Gateway; routes depend on it.
        proxies: who brings requests to the models, for network policies.
    """

    address: str
    gateway: k8s.apiextensions.CustomResource
    proxies: Peer

    def __init__(
        self, name: str, plan: Plan, platform: PlatformRefs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("headwater:serving:InferenceGateway", name, {}, opts)
        self._name, self._plan, self._platform = name, plan, platform
        self._objects = Objects(name, self, platform, list(platform.ready))
        access = exposure(plan.settings.gateway)
        service, where = GATEWAY_NAME, platform.namespace_name
        self.proxies = {"podSelector": {"matchLabels": {GATEWAY_POD_LABEL: GATEWAY_NAME}}}
        if plan.settings.llmd.gateway == "envoy":
            where = charts()["gateway-helm"].namespace
            self.gateway, self.proxies = self._envoy(access), namespace_peer(where)
        elif plan.settings.llmd.gateway == "agentgateway":
            self.gateway = self._agentgateway(access)
        else:
            service = f"{GATEWAY_NAME}-istio"
            self.gateway = self._istio(access)
        self.address = access.address(f"{service}.{where}.svc.cluster.local")
        self.register_outputs({})

    def _envoy(self, access: Exposure) -> k8s.apiextensions.CustomResource:
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
        reference = {"group": "gateway.envoyproxy.io", "kind": ENVOY_PROXY.kind, "name": GATEWAY_NAME}
        gateway = self._gateway(ENVOY_CLASS, reference, access, [class_, proxy])
        policy = client_policy(GATEWAY_NAME, self._plan)
        self._objects.custom("client-policy", CLIENT_TRAFFIC_POLICY, named, policy, after=[gateway])
        if self._platform.prometheus_url is not None:
            found_by = self._platform.monitor_labels
            metadata = {**named, **({"labels": dict(found_by)} if found_by else {})}
            where = charts()["gateway-helm"].namespace
            self._objects.custom("monitor", POD_MONITOR, metadata, envoy_monitor(where, GATEWAY_NAME))
        return gateway

    def _agentgateway(self, access: Exposure) -> k8s.apiextensions.CustomResource:
        home = self._namespace("agentgateway")
        crds = self._chart("agentgateway-crds", {}, [home])
        values = agentgateway_values(self._platform.prometheus_url is not None)
        controller = self._chart("agentgateway", values, [crds])
        named = self._objects.metadata(GATEWAY_NAME)
        spec = agentgateway_parameters_spec(access)
        proxy = self._objects.custom("proxy", AGENTGATEWAY_PARAMETERS, named, spec, after=[controller])
        reference = {"group": "agentgateway.dev", "kind": AGENTGATEWAY_PARAMETERS.kind, "name": GATEWAY_NAME}
        gateway = self._gateway(AGENT_CLASS, reference, access, [proxy])
        policy = agentgateway_policy(GATEWAY_NAME, self._plan)
        self._objects.custom("policy", AGENTGATEWAY_POLICY, named, policy, after=[gateway])
        return gateway

    def _istio(self, access: Exposure) -> k8s.apiextensions.CustomResource:
        home = self._namespace("istiod")
        base = self._chart("istio-base", {}, [home])
        controller = self._chart("istiod", istiod_values(), [base])
        named = self._objects.metadata(GATEWAY_NAME)
        overlays = k8s.core.v1.ConfigMap(
            f"{self._name}-proxy",
            metadata=named,
            data=istio_overlays(access),
            opts=self._objects.options([controller]),
        )
        reference = {"group": "", "kind": "ConfigMap", "name": GATEWAY_NAME}
        labels = {"istio.io/enable-inference-extproc": "true"}
        return self._gateway(ISTIO_CLASS, reference, access, [overlays, controller], labels)

    def _gateway(
        self,
        class_name: str,
        parameters: Mapping[str, str],
        access: Exposure,
        after: Sequence[pulumi.Resource],
        labels: Mapping[str, str] | None = None,
    ) -> k8s.apiextensions.CustomResource:
        spec = gateway_spec(class_name, parameters, access)
        named = self._objects.metadata(GATEWAY_NAME)
        if labels:
            named["labels"] = dict(labels)
        return self._objects.custom("gateway", GATEWAY, named, spec, after=after)

    def _namespace(self, chart: str) -> k8s.core.v1.Namespace:
        where = charts()[chart].namespace
        return namespace(
            f"{self._name}-{where}",
            where,
            self._platform.kubernetes,
            list(self._platform.ready),
            parent=self,
            level="baseline",
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

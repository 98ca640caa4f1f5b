"""llm-d: one Gateway for the environment, a router and servers for each model."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.llmd.alerts import rule_groups
from components.llmd.dashboard import dashboard_text
from components.llmd.edge import model_routes
from components.llmd.flows import default_deny, proxy_policy
from components.llmd.gateway import InferenceGateway
from components.llmd.gateway_specs import GATEWAY_NAME
from components.llmd.model import ModelServing
from components.llmd.objectives import Objectives
from components.llmd.objects import PROMETHEUS_RULE, Kind, Objects
from components.llmd.router import picker_service
from components.llmd.scaling import adapter_values, scaled_roles
from components.platform.charts import release
from components.platform.crds import crd_bundle
from components.platform.model import PlatformRefs
from components.serving import SERVING_STACK, ModelIdentity, Prepull
from headwater.catalog.releases import charts
from headwater.plan import Plan

AI_GATEWAY_ROUTE = Kind("aigateway.envoyproxy.io/v1beta1", "AIGatewayRoute")


class LlmdStack(pulumi.ComponentResource):
    """The llm-d serving stack.

    Attributes:
        endpoint: base URL of the OpenAI-compatible API.
        models: one component for each model, in the plan's order.
    """

    endpoint: pulumi.Output[str]
    models: list[ModelServing]

    def __init__(
        self, name: str, plan: Plan, platform: PlatformRefs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(SERVING_STACK, name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        self._plan, self._platform = plan, platform
        self._objects = Objects(name, self, platform, list(platform.ready))
        identity = ModelIdentity(f"{name}-identity", plan, platform, child)
        if plan.settings.weights.prepull:
            Prepull(f"{name}-prepull", plan, platform, child)
        gateway_mode = plan.settings.llmd.mode == "gateway"
        front = InferenceGateway(f"{name}-gateway", plan, platform, child) if gateway_mode else None
        if plan.settings.llmd.isolate:
            self._isolate()
        after = [identity, *self._metrics_adapter(), *self._definitions()]
        self.models = [
            ModelServing(f"{name}-{model.name}", plan, model, platform, front=front, after=after, opts=child)
            for model in plan.models
        ]
        if front is not None and plan.settings.llmd.gateway == "envoy" and len(plan.models) > 1:
            self._by_body(front)
        if plan.settings.llmd.flow_control.objectives:
            Objectives(f"{name}-objectives", plan, platform, [m.router for m in self.models], child)
        if platform.prometheus_url is not None:
            self._watch()
        address = front.address if front else _standalone_address(plan, platform.namespace_name)
        self.endpoint = pulumi.Output.from_input(f"{address}/v1")
        self.register_outputs({"endpoint": self.endpoint})

    def _definitions(self) -> list[pulumi.Resource]:
        """The router's own kinds; a picker looks for them once, when it starts."""
        if not self._plan.settings.llmd.flow_control.objectives:
            return []
        options = pulumi.ResourceOptions(
            parent=self, providers=[self._platform.kubernetes], depends_on=list(self._platform.ready)
        )
        mirror = self._plan.settings.mirror
        return [crd_bundle(f"{self._objects.prefix}-definitions", "llm-d-router", mirror=mirror, opts=options)]

    def _isolate(self) -> None:
        """Deny by default; each model then allows what it needs."""
        policies: dict[str, Any] = {"default-deny": default_deny()}
        settings = self._plan.settings.llmd
        controls = {"agentgateway": "agentgateway", "istio": "istiod"}
        if settings.mode == "gateway" and settings.gateway in controls:
            control = charts()[controls[settings.gateway]].namespace
            policies[GATEWAY_NAME] = proxy_policy(self._plan.models, GATEWAY_NAME, control)
        for logical, spec in policies.items():
            k8s.networking.v1.NetworkPolicy(
                f"{self._objects.prefix}-{logical}",
                metadata=self._objects.metadata(logical),
                spec=spec,
                opts=self._objects.options(),
            )

    def _by_body(self, front: InferenceGateway) -> None:
        """One address for all models: the gateway reads the model's name from the request."""
        pools = [model.router for model in self.models]
        for number, spec in enumerate(model_routes(GATEWAY_NAME, self._plan.models), start=1):
            named = self._objects.metadata(f"models-{number}")
            self._objects.custom(f"models-{number}", AI_GATEWAY_ROUTE, named, spec, after=[front.gateway, *pools])

    def _metrics_adapter(self) -> list[pulumi.Resource]:
        """What serves pod metrics to Kubernetes' own autoscaler, where that is asked for."""
        plan, prometheus = self._plan, self._platform.prometheus_url
        wanted = plan.settings.llmd.autoscaling.by == "hpa" and any(scaled_roles(model) for model in plan.models)
        if not wanted or prometheus is None:
            return []
        adapter = release(
            f"{self._objects.prefix}-metrics-adapter",
            "prometheus-adapter",
            adapter_values(prometheus),
            mirror=plan.settings.mirror,
            opts=self._objects.options(),
        )
        return [adapter]

    def _watch(self) -> None:
        """Alert rules and the dashboard."""
        named = self._objects.metadata("headwater-llm-d")
        found_by = self._platform.monitor_labels  # an empty map is not stored, and would differ for ever
        rules = {**named, **({"labels": dict(found_by)} if found_by else {})}
        groups = rule_groups(self._plan, self._platform.namespace_name)
        self._objects.custom("alerts", PROMETHEUS_RULE, rules, {"groups": groups})
        shown: Any = {**named, "labels": {"grafana_dashboard": "1"}}
        k8s.core.v1.ConfigMap(
            f"{self._objects.prefix}-dashboard",
            metadata=shown,
            data={"headwater-llm-d.json": dashboard_text(self._platform.namespace_name)},
            opts=self._objects.options(),
        )


def _standalone_address(plan: Plan, namespace: str) -> str:
    """The Service of the only model; with several, the form every model's Service has."""
    name = picker_service(plan.models[0]) if len(plan.models) == 1 else "<model>-epp"
    return f"http://{name}.{namespace}.svc.cluster.local"

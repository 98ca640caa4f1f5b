"""The one Gateway before all models, the same that stands before llm-d, and the routes to Dynamo's frontends or pools.

Which controller runs it is ``headwater:llmd.gateway``: switching the serving stack keeps it.
"""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.dynamo.flows import proxy_policy
from components.dynamo.names import frontend_service
from components.dynamo.routes import ai_backends, ai_routes, backend, http_route
from components.llmd.flows import GATEWAY_POD_LABEL
from components.llmd.gateway import InferenceGateway
from components.llmd.gateway_specs import GATEWAY_NAME
from components.platform.model import PlatformRefs
from components.serving.flows import Peer
from components.serving.objects import Kind, Objects
from headwater.catalog.releases import charts
from headwater.plan import ModelPlan, Plan
from headwater.plan.dynamo_layout import entry

HTTP_ROUTE = Kind("gateway.networking.k8s.io/v1", "HTTPRoute")
AI_GATEWAY_ROUTE = Kind("aigateway.envoyproxy.io/v1beta1", "AIGatewayRoute")
AI_SERVICE_BACKEND = Kind("aigateway.envoyproxy.io/v1beta1", "AIServiceBackend")
ENVOY_BACKEND = Kind("gateway.envoyproxy.io/v1alpha1", "Backend")
CONTROL = {"agentgateway": "agentgateway", "istio": "istiod"}
"""Controllers whose proxies run in the models' namespace, with the chart of their control plane."""


class Front:
    """The Gateway, under the name it has before llm-d, and what is not of one model.

    Attributes:
        address: base URL clients use, without ``/v1``.
        proxies: who brings requests to the models, for network policies.
    """

    address: str
    proxies: Peer

    def __init__(self, name: str, plan: Plan, platform: PlatformRefs, objects: Objects) -> None:
        """Make it.

        Args:
            name: prefix of logical names, the serving stack's.
            plan: the plan.
            platform: what it stands on.
            objects: makes children of the serving stack.
        """
        self._plan, self._platform, self._objects = plan, platform, objects
        self._way = entry(plan.settings, plan.models)
        gateway = InferenceGateway(f"{name}-gateway", plan, platform, pulumi.ResourceOptions(parent=objects.parent))
        self._gateway = gateway.gateway
        self.address, self.proxies = gateway.address, gateway.proxies
        control = CONTROL.get(plan.settings.llmd.gateway)
        if plan.settings.dynamo.isolate and control is not None:
            labels = {GATEWAY_POD_LABEL: GATEWAY_NAME}
            spec: Any = proxy_policy(plan.models, labels, charts()[control].namespace)
            k8s.networking.v1.NetworkPolicy(
                f"{name}-{GATEWAY_NAME}",
                metadata=self._objects.metadata(GATEWAY_NAME),
                spec=spec,
                opts=self._objects.options(),
            )

    def route(self, objects: Objects, model: ModelPlan, graph: pulumi.Resource) -> None:
        """The model's route; with several models behind Envoy also what reads the model from the request's body."""
        namespace = self._platform.namespace_name
        target = backend(model, self._way, namespace)
        alone = len(self._plan.models) == 1
        spec = http_route(model, GATEWAY_NAME, target, alone=alone)
        objects.custom("route", HTTP_ROUTE, objects.metadata(model.name), spec, after=[self._gateway, graph])
        if self._by_body() and self._way != "picker":
            address, service = ai_backends(model, namespace)
            named = objects.metadata(frontend_service(model))
            host = objects.custom("backend", ENVOY_BACKEND, named, address, after=[self._gateway])
            objects.custom("ai-backend", AI_SERVICE_BACKEND, named, service, after=[host])

    def by_body(self, graphs: list[pulumi.Resource]) -> None:
        """Routes that read the model from the request's body, after every model's backend is there."""
        if not self._by_body():
            return
        for number, spec in enumerate(ai_routes(self._plan.models, GATEWAY_NAME, self._way), start=1):
            named = self._objects.metadata(f"models-{number}")
            self._objects.custom(f"models-{number}", AI_GATEWAY_ROUTE, named, spec, after=[self._gateway, *graphs])

    def _by_body(self) -> bool:
        return self._plan.settings.llmd.gateway == "envoy" and len(self._plan.models) > 1

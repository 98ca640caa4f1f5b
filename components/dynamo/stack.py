"""NVIDIA Dynamo: its operator, and a graph for each model."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.dynamo.access import DISCOVERY_ROLE, discovery_rules
from components.dynamo.alerts import rule_groups
from components.dynamo.dashboard import dashboard_text
from components.dynamo.front import Front
from components.dynamo.names import HTTP_PORT, frontend_service
from components.dynamo.operator import DynamoPlatform
from components.dynamo.serving import ModelGraph
from components.platform.model import MODEL_SERVICE_ACCOUNT, PlatformRefs
from components.serving import SERVING_STACK, ModelIdentity, Prepull
from components.serving.exposure import exposure
from components.serving.flows import default_deny
from components.serving.objects import PROMETHEUS_RULE, Objects
from headwater.plan import Plan
from headwater.plan.dynamo_layout import entry


class DynamoStack(pulumi.ComponentResource):
    """The Dynamo serving stack.

    Attributes:
        endpoint: base URL of the OpenAI-compatible API.
        models: one component for each model, in the plan's order.
    """

    endpoint: pulumi.Output[str]
    models: list[ModelGraph]

    def __init__(
        self, name: str, plan: Plan, platform: PlatformRefs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(SERVING_STACK, name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        self._plan, self._platform = plan, platform
        self._objects = Objects(name, self, platform, list(platform.ready))
        operator = DynamoPlatform(f"{name}-platform", plan, platform, child)
        identity = ModelIdentity(f"{name}-identity", plan, platform, child)
        if plan.settings.weights.prepull:
            Prepull(f"{name}-prepull", plan, platform, child)
        own_service = entry(plan.settings, plan.models) == "frontend"
        front = None if own_service else Front(name, plan, platform, self._objects)
        if plan.settings.dynamo.isolate:
            self._deny()
        after = [*operator.ready, identity, self._discovery(identity)]
        self.models = [
            ModelGraph(f"{name}-{model.name}", plan, model, platform, front=front, after=after, opts=child)
            for model in plan.models
        ]
        if front is not None:
            front.by_body([*self.models])
        if platform.prometheus_url is not None:
            self._watch()
        address = front.address if front else _address(plan, platform.namespace_name)
        self.endpoint = pulumi.Output.from_input(f"{address}/v1")
        self.register_outputs({"endpoint": self.endpoint})

    def _watch(self) -> None:
        """Alert rules of every model, and the dashboard."""
        named = {**self._objects.metadata("headwater-dynamo"), "labels": dict(self._platform.monitor_labels)}
        if not named["labels"]:  # the API server drops an empty map, and every refresh would differ
            del named["labels"]
        by_picker = entry(self._plan.settings, self._plan.models) == "picker"
        groups = rule_groups(self._plan, self._platform.namespace_name, by_picker=by_picker)
        self._objects.custom("alerts", PROMETHEUS_RULE, named, {"groups": groups})
        shown: Any = {**self._objects.metadata("headwater-dynamo"), "labels": {"grafana_dashboard": "1"}}
        text = dashboard_text(self._plan, self._platform.namespace_name)
        data, options = {"headwater-dynamo.json": text}, self._objects.options()
        k8s.core.v1.ConfigMap(f"{self._objects.prefix}-dashboard", metadata=shown, data=data, opts=options)

    def _deny(self) -> None:
        """Deny by default; each model then allows what it needs."""
        spec: Any = default_deny()
        k8s.networking.v1.NetworkPolicy(
            f"{self._objects.prefix}-default-deny",
            metadata=self._objects.metadata("default-deny"),
            spec=spec,
            opts=self._objects.options(),
        )

    def _discovery(self, identity: pulumi.Resource) -> pulumi.Resource:
        """The rights behind the models' service account."""
        named = self._objects.metadata(DISCOVERY_ROLE)
        rules: Any = discovery_rules()
        options = self._objects.options()
        role = k8s.rbac.v1.Role(f"{self._objects.prefix}-discovery", metadata=named, rules=rules, opts=options)
        subject: Any = {
            "kind": "ServiceAccount",
            "name": MODEL_SERVICE_ACCOUNT,
            "namespace": self._platform.namespace_name,
        }
        reference: Any = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": DISCOVERY_ROLE}
        binding: pulumi.Resource = k8s.rbac.v1.RoleBinding(
            f"{self._objects.prefix}-discovery-binding",
            metadata=named,
            role_ref=reference,
            subjects=[subject],
            opts=self._objects.options([role, identity]),
        )
        return binding


def _address(plan: Plan, namespace: str) -> str:
    """The only model's Service or load balancer; with several, the form every model's Service has."""
    access = exposure(plan.settings.gateway)
    name = frontend_service(plan.models[0]) if len(plan.models) == 1 else "<model>-frontend"
    if access.service_type == "LoadBalancer":
        return access.address(f"{plan.models[0].name}-access.{namespace}.svc.cluster.local")
    return f"http://{name}.{namespace}.svc.cluster.local:{HTTP_PORT}"

"""NVIDIA Dynamo: its operator, and a graph for each model."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.dynamo.access import DISCOVERY_ROLE, discovery_rules
from components.dynamo.names import HTTP_PORT, frontend_service
from components.dynamo.operator import DynamoPlatform
from components.dynamo.serving import ModelGraph
from components.platform.model import MODEL_SERVICE_ACCOUNT, PlatformRefs
from components.serving import ModelIdentity, Prepull
from components.serving.objects import Objects
from headwater.plan import Plan


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
        super().__init__("headwater:dynamo:DynamoStack", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        self._plan, self._platform = plan, platform
        self._objects = Objects(name, self, platform, list(platform.ready))
        operator = DynamoPlatform(f"{name}-platform", plan, platform, child)
        identity = ModelIdentity(f"{name}-identity", plan, platform, child)
        if plan.settings.weights.prepull:
            Prepull(f"{name}-prepull", plan, platform, child)
        after = [*operator.ready, identity, self._discovery(identity)]
        self.models = [
            ModelGraph(f"{name}-{model.name}", plan, model, platform, after=after, opts=child) for model in plan.models
        ]
        self.endpoint = pulumi.Output.from_input(f"{_address(plan, platform.namespace_name)}/v1")
        self.register_outputs({"endpoint": self.endpoint})

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
    """The Service of the only model; with several, the form every model's Service has."""
    name = frontend_service(plan.models[0]) if len(plan.models) == 1 else "<model>-frontend"
    return f"http://{name}.{namespace}.svc.cluster.local:{HTTP_PORT}"

"""llm-d: one Gateway for the environment, a router and servers for each model."""

from __future__ import annotations

import pulumi

from components.llmd.gateway import InferenceGateway
from components.llmd.model import ModelServing
from components.llmd.router import picker_service
from components.platform.model import PlatformRefs
from components.serving import ModelIdentity
from headwater.plan import Plan


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
        super().__init__("headwater:llmd:LlmdStack", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        identity = ModelIdentity(f"{name}-identity", plan, platform, child)
        front = InferenceGateway(f"{name}-gateway", plan, platform, child) if _gateway_mode(plan) else None
        self.models = [
            ModelServing(
                f"{name}-{model.name}",
                plan,
                model,
                platform,
                gateway=front.gateway if front else None,
                after=[identity],
                opts=child,
            )
            for model in plan.models
        ]
        address = front.address if front else _standalone_address(plan, platform.namespace_name)
        self.endpoint = pulumi.Output.from_input(f"{address}/v1")
        self.register_outputs({"endpoint": self.endpoint})


def _gateway_mode(plan: Plan) -> bool:
    return plan.settings.llmd.mode == "gateway"


def _standalone_address(plan: Plan, namespace: str) -> str:
    """The Service of the only model; with several, the form every model's Service has."""
    name = picker_service(plan.models[0]) if len(plan.models) == 1 else "<model>-epp"
    return f"http://{name}.{namespace}.svc.cluster.local"

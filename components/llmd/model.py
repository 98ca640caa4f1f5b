"""One model behind llm-d: its servers, its router, its route."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.llmd.labels import pool_labels
from components.llmd.objects import DISAGGREGATED_SET, HTTP_ROUTE, LEADER_WORKER_SET, Objects
from components.llmd.ports import POOL_PORT
from components.llmd.router import router
from components.llmd.routes import http_route_spec
from components.llmd.routing import render_service
from components.llmd.workloads import deployment, disaggregated_set, elastic, leader_worker_set
from components.platform.model import PlatformRefs
from components.serving import ROLE_LABEL, model_labels, workload_name
from headwater.plan import ModelPlan, Plan, Role
from headwater.plan.llmd_rules import routing_path

SCALED = ("spec.replicas",)


class ModelServing(pulumi.ComponentResource):
    """Everything of one model.

    Attributes:
        servers: its workloads.
        router: its router.
    """

    servers: list[pulumi.Resource]
    router: k8s.helm.v3.Release

    def __init__(
        self,
        name: str,
        plan: Plan,
        model: ModelPlan,
        platform: PlatformRefs,
        *,
        gateway: pulumi.Resource | None,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:llmd:ModelServing", name, {}, opts)
        self._plan, self._model = plan, model
        self._token = platform.token_secret
        self._path = routing_path(plan.settings.llmd, model)
        self._objects = Objects(name, self, platform, [*platform.ready, *after], model_labels(model))
        self.servers = self._servers()
        self._budget()
        if self._path == "precise":
            self._render()
        self.router = router(f"{name}-router", plan, model, platform, self._objects.options())
        if gateway is not None:
            spec = http_route_spec(model, alone=len(plan.models) == 1)
            where = self._objects.metadata(model.name)
            self._objects.custom("route", HTTP_ROUTE, where, spec, after=[gateway, self.router])
        self.register_outputs({})

    def _servers(self) -> list[pulumi.Resource]:
        if self._model.disaggregated:
            made = disaggregated_set(self._plan, self._model, self._path, self._token)
            metadata = self._objects.metadata(made["metadata"]["name"])
            return [self._objects.custom("servers", DISAGGREGATED_SET, metadata, made["spec"])]
        return [self._server(role) for role in self._model.roles]

    def _server(self, role: Role) -> pulumi.Resource:
        ignore = SCALED if elastic(role) else ()
        if role.nodes > 1:
            made = leader_worker_set(self._plan, self._model, role, self._path, self._token)
            metadata = self._objects.metadata(made["metadata"]["name"])
            return self._objects.custom(role.role, LEADER_WORKER_SET, metadata, made["spec"], ignore=ignore)
        made = deployment(self._plan, self._model, role, self._path, self._token)
        metadata = self._objects.metadata(made["metadata"]["name"], made["metadata"]["annotations"])
        logical = f"{self._objects.prefix}-{role.role}"
        options = self._objects.options(ignore=ignore)
        made_: pulumi.Resource = k8s.apps.v1.Deployment(logical, metadata=metadata, spec=made["spec"], opts=options)
        return made_

    def _budget(self) -> None:
        """One server at a time: drains wait until the last one is back."""
        for role in self._model.roles:
            labels = {**pool_labels(self._model), ROLE_LABEL: role.role}
            spec: Any = {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
            k8s.policy.v1.PodDisruptionBudget(
                f"{self._objects.prefix}-{role.role}-budget",
                metadata=self._objects.metadata(workload_name(self._model, role)),
                spec=spec,
                opts=self._objects.options(),
            )

    def _render(self) -> None:
        """Where the router has prompts turned into tokens: the servers themselves."""
        spec: Any = {
            "selector": pool_labels(self._model),
            "ports": [{"name": "http", "port": POOL_PORT, "targetPort": POOL_PORT, "protocol": "TCP"}],
        }
        k8s.core.v1.Service(
            f"{self._objects.prefix}-render",
            metadata=self._objects.metadata(render_service(self._model)),
            spec=spec,
            opts=self._objects.options(),
        )

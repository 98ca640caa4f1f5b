"""One model behind llm-d: its servers, its router, its route."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.llmd.exposure import exposure, standalone_service
from components.llmd.flows import picker_policy, server_policy
from components.llmd.gateway import InferenceGateway
from components.llmd.gateway_specs import GATEWAY_NAME
from components.llmd.labels import pool_labels
from components.llmd.monitors import engine_monitor
from components.llmd.objects import (
    DISAGGREGATED_SET,
    HTTP_ROUTE,
    LEADER_WORKER_SET,
    POD_MONITOR,
    SCALED_OBJECT,
    Objects,
)
from components.llmd.ports import POOL_PORT
from components.llmd.router import router
from components.llmd.routes import http_route_spec
from components.llmd.routing import render_service
from components.llmd.scaling import horizontal_pod_autoscaler, scaled_object, scaled_roles
from components.llmd.tiers import (
    MOONCAKE_RPC,
    mooncake_config,
    mooncake_labels,
    mooncake_master,
    mooncake_name,
)
from components.llmd.workloads import deployment, disaggregated_set, elastic, leader_worker_set
from components.platform.model import PlatformRefs
from components.serving import ROLE_LABEL, SERVED_MODEL, model_labels, workload_name
from headwater.plan import ModelPlan, Plan, Role
from headwater.plan.llmd_paths import mooncake_wanted, routing_path

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
        front: InferenceGateway | None,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(SERVED_MODEL, name, {}, opts)
        self._plan, self._model = plan, model
        self._token = platform.token_secret
        self._namespace = platform.namespace_name
        self._monitor_labels = dict(platform.monitor_labels)
        self._path = routing_path(plan.settings.llmd, model)
        self._objects = Objects(name, self, platform, [*platform.ready, *after], model_labels(model))
        self._front = front
        if mooncake_wanted(model, plan.settings.llmd.kv_tier):
            self._mooncake()
        self.servers = self._servers()
        self._budget()
        if self._path == "precise":
            self._render()
        self.router = router(f"{name}-router", plan, model, platform, self._objects.options())
        self._reach()
        if plan.settings.llmd.isolate:
            self._isolate()
        if platform.prometheus_url is not None:
            self._watch()
            self._scale(platform.prometheus_url)
        self.register_outputs({})

    def _reach(self) -> None:
        """The model's route, or its own Service where no Gateway stands in front."""
        model, settings = self._model, self._plan.settings
        if self._front is not None:
            spec = http_route_spec(model, GATEWAY_NAME, alone=len(self._plan.models) == 1)
            after = [self._front.gateway, self.router]
            self._objects.custom("route", HTTP_ROUTE, self._objects.metadata(model.name), spec, after=after)
        elif settings.gateway.exposure != "cluster":
            access = exposure(settings.gateway)
            k8s.core.v1.Service(
                f"{self._objects.prefix}-access",
                metadata=self._objects.metadata(f"{model.name}-access", access.annotations),
                spec=standalone_service(model, access),
                opts=self._objects.options([self.router]),
            )

    def _isolate(self) -> None:
        """Only the flows serving needs."""
        peer = self._front.proxies if self._front is not None else None
        for logical, make in (("servers", server_policy), ("picker", picker_policy)):
            spec: Any = make(self._plan, self._model, self._path, peer)
            k8s.networking.v1.NetworkPolicy(
                f"{self._objects.prefix}-{logical}-flows",
                metadata=self._objects.metadata(f"{self._model.name}-{logical}"),
                spec=spec,
                opts=self._objects.options(),
            )

    def _watch(self) -> None:
        """Prometheus finds the engines."""
        found = self._objects.metadata(self._model.name)
        found["labels"] = {**found["labels"], **self._monitor_labels}
        self._objects.custom("monitor", POD_MONITOR, found, engine_monitor(self._model, self._path))

    def _scale(self, prometheus: str) -> None:
        """Replicas follow load, for every role that may change."""
        settings, where = self._plan.settings.llmd.autoscaling, self._namespace
        for role in scaled_roles(self._model):
            named = self._objects.metadata(workload_name(self._model, role))
            if settings.by == "keda":
                spec = scaled_object(self._model, role, settings, self._path, namespace=where, prometheus=prometheus)
                after = [*self.servers, self.router]
                self._objects.custom(f"{role.role}-scaling", SCALED_OBJECT, named, spec, after=after)
            else:
                hpa: Any = horizontal_pod_autoscaler(self._model, role, settings)
                k8s.autoscaling.v2.HorizontalPodAutoscaler(
                    f"{self._objects.prefix}-{role.role}-scaling",
                    metadata=named,
                    spec=hpa,
                    opts=self._objects.options(self.servers),
                )

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

    def _mooncake(self) -> None:
        """The master of the model's shared KV store, and what its servers read to find it."""
        name = mooncake_name(self._model)
        named = self._objects.metadata(name)
        prefix = f"{self._objects.prefix}-mooncake"
        data = {"config.json": mooncake_config(self._model, self._namespace)}
        k8s.core.v1.ConfigMap(f"{prefix}-config", metadata=named, data=data, opts=self._objects.options())
        spec: Any = mooncake_master(self._plan, self._model)
        k8s.apps.v1.Deployment(prefix, metadata=named, spec=spec, opts=self._objects.options())
        ports = [{"name": "rpc", "port": MOONCAKE_RPC, "targetPort": MOONCAKE_RPC, "protocol": "TCP"}]
        service: Any = {"selector": mooncake_labels(self._model), "ports": ports}
        k8s.core.v1.Service(f"{prefix}-service", metadata=named, spec=service, opts=self._objects.options())

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

"""One model behind Dynamo: its graph and what stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.dynamo.flows import clients_policy, graph_policy
from components.dynamo.front import Front
from components.dynamo.graph import REPLACED, graph, replicas_owned_elsewhere
from components.dynamo.model import API_VERSION, KIND
from components.dynamo.monitors import monitors
from components.dynamo.names import COMPONENT_LABEL, FRONTEND, GRAPH_LABEL, HTTP_PORT, TYPE_LABEL, graph_name
from components.dynamo.planner import CONFIG_FILE, planner_config_name, planner_text
from components.dynamo.router import POLICY_FILE, policy, policy_name, policy_text
from components.dynamo.scaling import scaled_object, scaled_roles
from components.platform.model import PlatformRefs
from components.serving import SERVED_MODEL, model_labels, workload_name
from components.serving.exposure import exposure, load_balancer_service
from components.serving.objects import POD_MONITOR, SCALED_OBJECT, Kind, Objects
from headwater.plan import ModelPlan, Plan
from headwater.plan.dynamo_layout import component_name, entry, planned

GRAPH = Kind(API_VERSION, KIND)


class ModelGraph(pulumi.ComponentResource):
    """Everything of one model.

    Attributes:
        graph: its DynamoGraphDeployment.
    """

    graph: pulumi.Resource

    def __init__(
        self,
        name: str,
        plan: Plan,
        model: ModelPlan,
        platform: PlatformRefs,
        *,
        front: Front | None,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(SERVED_MODEL, name, {}, opts)
        self._plan, self._model, self._platform, self._front = plan, model, platform, front
        self._way = entry(plan.settings, plan.models)
        self._objects = Objects(name, self, platform, [*platform.ready, *after], model_labels(model))
        flows = self._isolate() if plan.settings.dynamo.isolate else []
        made = graph(
            plan, model, platform.namespace_name, token_secret=platform.token_secret, prometheus=platform.prometheus_url
        )
        self.graph = self._objects.custom(
            "graph",
            GRAPH,
            self._objects.metadata(made.name, made.annotations),
            made.spec_manifest(),
            after=[*flows, *self._files()],
            ignore=replicas_owned_elsewhere(made),
            replace=REPLACED,
        )
        self._budgets()
        self._reach()
        if platform.prometheus_url is not None:
            self._watch()
            if not planned(plan.settings, model):
                self._scale(platform.prometheus_url)
        self.register_outputs({})

    def _files(self) -> list[pulumi.Resource]:
        """The router's policy and the planner's configuration, where there are any; never changed, only replaced."""
        files: list[tuple[str, str, str, str]] = []
        content = policy(self._plan.settings.dynamo, self._model)
        if content is not None:
            text = policy_text(content)
            files.append(("router-policy", policy_name(self._model, text), POLICY_FILE, text))
        if planned(self._plan.settings, self._model):
            text = planner_text(self._plan, self._model)
            files.append(("planner-config", planner_config_name(self._model, text), CONFIG_FILE, text))
        return [
            k8s.core.v1.ConfigMap(
                f"{self._objects.prefix}-{logical}",
                metadata=self._objects.metadata(name),
                data={file: text},
                immutable=True,
                opts=self._objects.options(),
            )
            for logical, name, file, text in files
        ]

    def _isolate(self) -> list[pulumi.Resource]:
        """Only the flows serving needs."""
        proxies = self._front.proxies if self._front is not None else None
        by_picker = self._way == "picker"
        policies = {"flows": graph_policy(self._plan, self._model, proxies, by_picker=by_picker)}
        if self._front is None:
            policies["clients"] = clients_policy(self._model)
        made: list[pulumi.Resource] = []
        for logical, spec in policies.items():
            body: Any = spec
            made.append(
                k8s.networking.v1.NetworkPolicy(
                    f"{self._objects.prefix}-{logical}",
                    metadata=self._objects.metadata(f"{self._model.name}-{logical}"),
                    spec=body,
                    opts=self._objects.options(),
                )
            )
        return made

    def _budgets(self) -> None:
        """One pod at a time: drains wait until the last one is back.

        A group of several nodes falls as a whole, and Grove and the operator decide how; no budget counts its pods.
        """
        counted: list[tuple[str, str, str]] = [
            (role.role, component_name(role), workload_name(self._model, role))
            for role in self._model.roles
            if role.nodes == 1
        ]
        if self._way != "picker":
            counted.append((FRONTEND, FRONTEND, f"{self._model.name}-{FRONTEND}"))
        for logical, component, name in counted:
            labels = {GRAPH_LABEL: graph_name(self._model), COMPONENT_LABEL: component}
            spec: Any = {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
            k8s.policy.v1.PodDisruptionBudget(
                f"{self._objects.prefix}-{logical}-budget",
                metadata=self._objects.metadata(name),
                spec=spec,
                opts=self._objects.options(),
            )

    def _reach(self) -> None:
        """The model's route, or a load balancer of its own where no Gateway stands in front."""
        access = exposure(self._plan.settings.gateway)
        if self._front is not None:
            self._front.route(self._objects, self._model, self.graph)
        elif access.service_type == "LoadBalancer":
            selector = {GRAPH_LABEL: graph_name(self._model), TYPE_LABEL: FRONTEND}
            k8s.core.v1.Service(
                f"{self._objects.prefix}-access",
                metadata=self._objects.metadata(f"{self._model.name}-access", access.annotations),
                spec=load_balancer_service(access, selector, HTTP_PORT),
                opts=self._objects.options([self.graph]),
            )

    def _watch(self) -> None:
        """Prometheus finds every part of the graph."""
        specs = monitors(
            self._model, by_picker=self._way == "picker", planned=planned(self._plan.settings, self._model)
        )
        for part, spec in specs.items():
            found = self._objects.metadata(f"{self._model.name}-{part}")
            found["labels"] = {**found["labels"], **self._platform.monitor_labels}
            self._objects.custom(f"{part}-monitor", POD_MONITOR, found, spec)

    def _scale(self, prometheus: str) -> None:
        """Replicas follow load, for every role that may change."""
        for role in scaled_roles(self._model):
            named = self._objects.metadata(workload_name(self._model, role))
            spec = scaled_object(self._model, role, self._platform.namespace_name, prometheus)
            self._objects.custom(f"{role.role}-scaling", SCALED_OBJECT, named, spec, after=[self.graph])

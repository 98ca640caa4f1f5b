"""One model behind Dynamo: its graph and what stands around it."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_kubernetes as k8s

from components.dynamo.graph import REPLACED, graph, replicas_owned_elsewhere
from components.dynamo.model import API_VERSION, KIND
from components.dynamo.router import POLICY_FILE, policy, policy_name, policy_text
from components.platform.model import PlatformRefs
from components.serving import model_labels
from components.serving.objects import Kind, Objects
from headwater.plan import ModelPlan, Plan

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
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:dynamo:ModelGraph", name, {}, opts)
        self._plan, self._model, self._platform = plan, model, platform
        self._objects = Objects(name, self, platform, [*platform.ready, *after], model_labels(model))
        made = graph(plan, model, platform.namespace_name, platform.token_secret)
        self.graph = self._objects.custom(
            "graph",
            GRAPH,
            self._objects.metadata(made.name, made.annotations),
            made.spec_manifest(),
            after=self._policy(),
            ignore=replicas_owned_elsewhere(made),
            replace=REPLACED,
        )
        self.register_outputs({})

    def _policy(self) -> list[pulumi.Resource]:
        """The router's policy file, where the stack file says more than the defaults."""
        content = policy(self._plan.settings.dynamo, self._model)
        if content is None:
            return []
        text = policy_text(content)
        return [
            k8s.core.v1.ConfigMap(
                f"{self._objects.prefix}-router-policy",
                metadata=self._objects.metadata(policy_name(self._model, text)),
                data={POLICY_FILE: text},
                immutable=True,
                opts=self._objects.options(),
            )
        ]

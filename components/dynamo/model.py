"""DynamoGraphDeployment ``nvidia.com/v1beta1`` as frozen types: what we write of it, and what its webhook refuses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

API_VERSION = "nvidia.com/v1beta1"
KIND = "DynamoGraphDeployment"
MAIN = "main"
"""The container the operator merges its defaults into."""

ComponentType = Literal["frontend", "worker", "prefill", "decode", "planner", "epp"]


class Part(BaseModel):
    """A frozen part of the object; an unknown field is a mistake of ours."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Multinode(Part):
    """Each replica spans this many pods, one a node."""

    node_count: Annotated[int, Field(ge=2)]


class ScalingAdapter(Part):
    """Present or absent: its presence hands ``replicas`` to an autoscaler."""


class Component(Part):
    """One kind of pod of the graph.

    Attributes:
        pod_template: a whole PodTemplateSpec, with container ``main``.
        shared_memory_size: of ``/dev/shm``, which the operator mounts.
        scaling_adapter: present when something else sets ``replicas``.
        frontend_sidecar: container that answers for this pod behind a gateway.
    """

    name: Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
    type: ComponentType
    replicas: Annotated[int, Field(ge=0)]
    multinode: Multinode | None = None
    scaling_adapter: ScalingAdapter | None = None
    shared_memory_size: str | None = None
    frontend_sidecar: str | None = None
    pod_template: dict[str, Any]

    @model_validator(mode="after")
    def _main(self) -> Component:
        containers = {c["name"]: c for c in self.pod_template["spec"]["containers"]}
        if "image" not in containers.get(MAIN, {}):
            raise ValueError(f"component {self.name} has no container `{MAIN}` with an image")
        if self.frontend_sidecar is not None and self.frontend_sidecar not in containers:
            raise ValueError(f"component {self.name} names a sidecar it does not have: {self.frontend_sidecar}")
        mounted = {m["name"] for c in containers.values() for m in c.get("volumeMounts", [])}
        missing = mounted - {v["name"] for v in self.pod_template["spec"].get("volumes", [])}
        if missing:
            raise ValueError(
                f"component {self.name} mounts {sorted(missing)} without a volume; the operator would look for claims"
            )
        return self


class GraphSpec(Part):
    """What the graph is made of."""

    backend_framework: Literal["vllm"] = "vllm"
    components: Annotated[tuple[Component, ...], Field(min_length=1, max_length=25)]

    @model_validator(mode="after")
    def _unique(self) -> GraphSpec:
        names = [component.name for component in self.components]
        if len(set(names)) != len(names):
            raise ValueError(f"component names are not unique: {names}")
        for kind in ("epp", "prefill", "decode", "planner"):
            if sum(component.type == kind for component in self.components) > 1:
                raise ValueError(f"more than one component of type {kind}")
        return self


class Graph(Part):
    """One model's graph, ready to be written."""

    name: str
    namespace: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: GraphSpec

    def spec_manifest(self) -> dict[str, Any]:
        """``spec`` as the API server wants it."""
        return self.spec.model_dump(by_alias=True, exclude_none=True)

    def manifest(self) -> dict[str, Any]:
        """The whole object."""
        metadata: dict[str, Any] = {"name": self.name, "namespace": self.namespace}
        if self.labels:
            metadata["labels"] = dict(self.labels)
        if self.annotations:
            metadata["annotations"] = dict(self.annotations)
        return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": self.spec_manifest()}

    def component(self, name: str) -> Component:
        """The component of that name.

        Raises:
            KeyError: no such component.
        """
        for component in self.spec.components:
            if component.name == name:
                return component
        raise KeyError(name)

"""Evaluate the llm-d stack alone, on a made-up platform, and look at what it asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
from pulumi.runtime import MockCallArgs, MockResourceArgs, Mocks, set_mocks

from components.llmd import LlmdStack
from components.platform.model import PlatformRefs
from headwater.plan import Plan
from tests.llmd.cases import ALL

NAMESPACE = "models"


@dataclass(frozen=True)
class Made:
    """A resource as it was asked for."""

    type: str
    name: str
    inputs: dict[str, Any]

    @property
    def urn(self) -> str:
        return f"{self.type}::{self.name}"

    @property
    def kind(self) -> str:
        return self.type.rpartition(":")[2]

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.inputs["spec"]
        return spec


class World:
    """Everything a plan makes, in the order asked.

    Attributes:
        options: of each resource, by its ``urn``.
    """

    def __init__(self, resources: list[Made], endpoint: str, options: dict[str, pulumi.ResourceOptions]) -> None:
        self.resources = resources
        self.endpoint = endpoint
        self.options = options

    def all(self, kind: str) -> list[Made]:
        """Every resource of a kind, by logical name."""
        return sorted((r for r in self.resources if r.kind == kind), key=lambda r: r.name)

    def one(self, kind: str, name: str | None = None) -> Made:
        """The only resource of a kind (with that object name)."""
        found = [r for r in self.all(kind) if name is None or r.inputs["metadata"]["name"] == name]
        assert len(found) == 1, f"{len(found)} {kind} {name or ''}"
        return found[0]

    def release(self, name: str) -> dict[str, Any]:
        """Values of a Helm release."""
        found = [r for r in self.all("Release") if r.inputs["name"] == name]
        assert len(found) == 1, f"{len(found)} releases {name}"
        values: dict[str, Any] = found[0].inputs["values"]
        return values

    def pods(self) -> list[dict[str, Any]]:
        """Every pod template of a model server."""
        found: list[dict[str, Any]] = []
        for resource in self.resources:
            if resource.kind == "Deployment":
                found.append(resource.spec["template"])
            if resource.kind == "LeaderWorkerSet":
                found += _group(resource.spec["leaderWorkerTemplate"])
            if resource.kind == "DisaggregatedSet":
                for role in resource.spec["roles"]:
                    found += _group(role["spec"]["leaderWorkerTemplate"])
        return [p for p in found if any(c["name"] == "modelserver" for c in p["spec"]["containers"])]


def _group(template: dict[str, Any]) -> list[dict[str, Any]]:
    return [template[key] for key in ("leaderTemplate", "workerTemplate") if key in template]


class _Recorder(Mocks):
    def __init__(self) -> None:
        self.resources: list[Made] = []

    def new_resource(self, args: MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.resources.append(Made(args.typ, args.name, _whole(args.inputs)))
        return args.name, dict(args.inputs)

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], None]:
        raise AssertionError(f"no invoke is needed, {args.token} was called")


def _whole(value: Any) -> Any:
    """Whole numbers as such: the wire knows only doubles."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


LOOP = asyncio.new_event_loop()
"""Where the SDK runs: an evaluation by the embedded engine before us leaves no loop behind."""


def world(plan: Plan, make: Callable[..., Any] = LlmdStack, **refs: Any) -> World:
    """What the llm-d stack, or another serving stack, makes of a plan."""
    recorder = _Recorder()
    asyncio.set_event_loop(LOOP)
    set_mocks(recorder, preview=False)
    endpoints: list[str] = []
    options: dict[str, pulumi.ResourceOptions] = {}

    def remember(args: pulumi.ResourceTransformationArgs) -> None:
        options[f"{args.type_}::{args.name}"] = args.opts

    @pulumi.runtime.test
    def evaluate() -> Any:
        values: dict[str, Any] = {
            "kubernetes": k8s.Provider("cluster"),
            "namespace": pulumi.Output.from_input(NAMESPACE),
            "namespace_name": NAMESPACE,
            "token_secret": "hugging-face",
            "model_service_account_role": None,
            "prometheus_url": "http://prometheus.monitoring.svc.cluster.local:9090",
        }
        watched = pulumi.ResourceOptions(transformations=[remember])
        stack = make("serving", plan, PlatformRefs(**{**values, **refs}), watched)
        return stack.endpoint.apply(endpoints.append)

    evaluate()
    made = [r for r in recorder.resources if not r.type.startswith(("headwater:", "pulumi:"))]
    return World(made, endpoints[0], options)


@cache
def rendered(case: str, accelerator: str) -> World:
    """The world of a sample plan, evaluated once; nobody changes it."""
    return world(ALL[case](accelerator))

"""Settings of the llm-d serving stack."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from headwater.settings.base import Frozen, Seconds

RoutingPath = Literal["prefix", "precise", "disaggregated", "tiered", "slo", "wide-ep"]


class FlowControl(Frozen):
    """Hold requests in the router while every server is full, instead of queueing them in the engines.

    Attributes:
        enabled: needed by the queue and saturation metrics, by priorities that wait, and by scaling from zero.
        objectives: names clients may send in the header ``x-llm-d-inference-objective``, with their priority; higher
            goes first, below zero may be dropped.
        ttl: how long a request may wait.
        requests: most requests waiting for one model.
        gibibytes: most memory of waiting requests, GiB; must stay below the router's memory.
    """

    enabled: bool = False
    objectives: dict[Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$")], int] = {}
    ttl: Seconds = 60.0
    requests: Annotated[int, Field(ge=1)] = 1000
    gibibytes: Annotated[int, Field(ge=1)] = 4


class Autoscaling(Frozen):
    """How replicas between ``replicas.min`` and ``replicas.max`` are chosen.

    Attributes:
        by: ``keda`` (router metrics) or ``hpa`` (Kubernetes' own object, through KEDA's metrics service).
        metric: ``requests`` running per replica, ``queue`` of the router, or ``saturation`` of the pool (0..1);
            the last two need flow control.
        target: of that metric, per replica for requests and queue; default from the plan.
        settle: how long load must stay before replicas follow it.
    """

    by: Literal["keda", "hpa"] = "keda"
    metric: Literal["requests", "queue", "saturation"] = "requests"
    target: Annotated[float | None, Field(gt=0)] = None
    settle: Seconds = 300.0

    @field_validator("settle")
    @classmethod
    def _window(cls, value: float) -> float:
        if not 1 <= value <= 3600 or value % 1:
            raise ValueError("a HorizontalPodAutoscaler waits whole seconds, from 1s to 1h")
        return value


class Picker(Frozen):
    """The endpoint picker, one release for each model.

    Attributes:
        replicas: more than one only where no plugin keeps state of its own process (path ``precise``).
        cpu: cores requested; default from the size of the fleet.
        memory: GiB requested, the limit is twice that.
        verbosity: of its log, 0 to 5.
        scorers: scorers of the path ``prefix`` with their weights, instead of ours.
    """

    replicas: Annotated[int, Field(ge=1, le=8)] = 1
    cpu: Annotated[float | None, Field(ge=0.1, le=64)] = None
    memory: Annotated[int, Field(ge=1, le=256)] = 8
    verbosity: Annotated[int, Field(ge=0, le=5)] = 2
    scorers: dict[str, Annotated[float, Field(gt=0)]] = {}


class KvTier(Frozen):
    """Where KV blocks go beside GPU memory, on the path ``tiered``.

    Attributes:
        engine: ``native`` (the engine's own offloading), ``lmcache`` or ``mooncake``.
        files: a file tier below host memory: ``nvme`` of the node.
        gibibytes: size of the file tier, GiB.
    """

    engine: Literal["native", "lmcache", "mooncake"] = "native"
    files: Literal["off", "nvme"] = "off"
    gibibytes: Annotated[int, Field(ge=1)] = 1024


class Llmd(Frozen):
    """How llm-d routes.

    Attributes:
        mode: ``gateway`` (Gateway API with the endpoint picker behind it) or ``standalone`` (Envoy beside it).
        gateway: implementation of the Gateway: ``envoy`` (Envoy Gateway with Envoy AI Gateway), ``agentgateway``,
            or ``istio`` (one model only).
        path: how endpoints are chosen, for every model; ``auto`` follows the plan (disaggregated, offloaded and
            data-parallel models get their own path, all others ``prefix``).
        paths: path by model name, where one differs.
        decider: on disaggregated paths, send every prompt through a prefill server (``always``), or only prompts
            with at least so many tokens that no cache holds.
        prefill_throughput: measured prefill tokens/s of one replica, by model name; default is the plan's estimate.
        streaming: every client streams its answers; the ``slo`` path may then learn inter-token times.
        alpha_plugins: allow plugins the router calls alpha.
        flow_control: queue in the router.
        autoscaling: how replicas follow load.
        picker: the endpoint picker itself.
        kv_tier: tiers of the KV cache beside GPU memory.
        isolate: default-deny network policies with the flows serving needs.
    """

    mode: Literal["gateway", "standalone"] = "gateway"
    gateway: Literal["envoy", "agentgateway", "istio"] = "envoy"
    path: Literal["auto"] | RoutingPath = "auto"
    paths: dict[str, RoutingPath] = {}
    decider: Literal["always"] | Annotated[int, Field(ge=1)] = "always"
    prefill_throughput: dict[str, Annotated[float, Field(gt=0)]] = {}
    streaming: bool = False
    alpha_plugins: bool = False
    flow_control: FlowControl = FlowControl()
    autoscaling: Autoscaling = Autoscaling()
    picker: Picker = Picker()
    kv_tier: KvTier = KvTier()
    isolate: bool = True

"""Settings of the NVIDIA Dynamo serving stack."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from headwater.settings.base import Frozen, Seconds, Version

RouterMode = Literal["kv", "round-robin", "random", "power-of-two", "least-loaded"]
KvTier = Literal["gpu", "host", "disk", "remote"]
Share = Annotated[float, Field(ge=0, le=1)]
ConfigValue = bool | int | float | str | None


class RouterCost(Frozen):
    """The cost function of the KV router: prefill work left after cache credit, plus decode load; lowest wins.

    Attributes:
        overlap_credit: blocks of prefill work forgiven per block a worker already holds on its GPUs.
        overlap_credit_decay: how fast that credit shrinks with the worker's load.
        prefill_scale: weight of prefill work against decode load; at 0 the router would not see caches at all.
        decode_request_weight: blocks charged for each request a worker is decoding.
        host_credit: credit for blocks a worker holds in host memory.
        temperature: 0 always takes the cheapest worker; more spreads the choice.
    """

    overlap_credit: Share = 1.0
    overlap_credit_decay: Annotated[float, Field(ge=0)] = 0.0
    prefill_scale: Annotated[float, Field(gt=0)] = 1.0
    decode_request_weight: Annotated[float, Field(ge=0)] = 0.0
    host_credit: Share = 0.75
    temperature: Annotated[float, Field(ge=0)] = 0.0


class RouterQueue(Frozen):
    """Requests wait in the router while every worker is busy, instead of piling up in one of them.

    Attributes:
        order: ``fcfs`` (first come) or ``wspt`` (short prefills first).
        busy_at: a worker is busy above this many batches of prefill tokens.
        max_waiting: requests that may wait per worker; more are answered with 529.
    """

    order: Literal["fcfs", "wspt"] = "fcfs"
    busy_at: Annotated[float, Field(gt=0)] = 16.0
    max_waiting: Annotated[int, Field(ge=1)] = 1024


class RouterAffinity(Frozen):
    """Requests of one session (header ``X-Dynamo-Session-ID``) stay on one worker.

    Attributes:
        ttl: how long an idle session keeps its worker.
        mode: ``hard`` binds, ``soft`` prefers.
    """

    ttl: Seconds
    mode: Literal["hard", "soft"] = "soft"


class RouterOverload(Frozen):
    """When to refuse work with 529 rather than queue it in the engines.

    Attributes:
        decode_share: share of a worker's KV blocks in use above which it takes no more.
        prefill_tokens: prefill tokens under way in a worker above which it takes no more.
    """

    decode_share: Share | None = None
    prefill_tokens: Annotated[int | None, Field(ge=1)] = None

    @model_validator(mode="after")
    def _some(self) -> RouterOverload:
        if self.decode_share is None and self.prefill_tokens is None:
            raise ValueError("give `decodeShare`, `prefillTokens` or both; without either nothing is refused")
        return self


class Router(Frozen):
    """How requests find a worker.

    Attributes:
        mode: ``kv`` follows the KV cache of each worker; the others only count or draw.
        cost: parameters of the KV router's cost function.
        queue: hold requests back while all workers are busy; off when absent.
        affinity: keep sessions together; off when absent.
        overload: refuse work above a load; off when absent.
        predicted_ttl: how long a routed prompt counts as cached before its worker says so; helps bursts of siblings.
        threads: threads of the cache index.
    """

    mode: RouterMode = "kv"
    cost: RouterCost | None = None
    queue: RouterQueue | None = None
    affinity: RouterAffinity | None = None
    overload: RouterOverload | None = None
    predicted_ttl: Seconds | None = None
    threads: Annotated[int, Field(ge=1, le=64)] = 4

    @model_validator(mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return {"mode": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _kv_only(self) -> Router:
        if self.mode != "kv":
            for key, given in (
                ("cost", self.cost), ("queue", self.queue), ("predictedTtl", self.predicted_ttl),
                ("threads", None if self.threads == 4 else self.threads),
            ):  # fmt: skip
                if given is not None:
                    raise ValueError(f"`{key}` belongs to the KV router and would be ignored; use `mode: kv`")
        return self


class Frontend(Frozen):
    """The OpenAI-compatible server in front of each model, which also routes.

    Attributes:
        replicas: of each model's frontend; more than one keep each other's view of the load.
        cpu: cores each may count on; tokenizing long prompts is work.
        memory: GiB of memory of each.
        migrations: times a request may move to another worker when its own dies.
    """

    replicas: Annotated[int, Field(ge=1, le=32)] = 2
    cpu: Annotated[int, Field(ge=1, le=64)] = 4
    memory: Annotated[int, Field(ge=2, le=256)] = 8
    migrations: Annotated[int, Field(ge=0, le=10)] = 3


class Thresholds(Frozen):
    """Where to add and where to remove workers.

    Attributes:
        up: add above this.
        down: remove below this.
    """

    up: Annotated[float, Field(ge=0)]
    down: Annotated[float, Field(ge=0)]

    @model_validator(mode="after")
    def _ordered(self) -> Thresholds:
        if self.up <= self.down:
            raise ValueError(f"up {self.up:g} must be above down {self.down:g}, or the planner would swing")
        return self


class Planner(Frozen):
    """Dynamo's Planner: scales prefill and decode workers of models whose ``replicas.max`` is above ``min``.

    Attributes:
        target: ``sla`` holds the model's ``slo``; ``throughput`` and ``latency`` use fixed thresholds; ``load`` yours.
        advisory: decide and log, change nothing: for the first days of a new service.
        throughput_interval: how often traffic is looked at (target ``sla``).
        load_interval: how often load is looked at; divides the other.
        predictor: of the next interval's traffic.
        max_step: workers added or removed at once.
        sensitivity: of scaling down, 0 (never) to 100 (at once).
        prefill_queue: queued prefill tokens per worker, for target ``load``.
        decode_kv: per cent of a worker's KV cache in use, for target ``load``.
        max_gpus: most GPUs one model may use; default is all replicas at their maximum.
        config: any other field of the planner's own configuration, as it spells it.
    """

    target: Literal["sla", "throughput", "latency", "load"] = "sla"
    advisory: bool = False
    throughput_interval: Annotated[Seconds, Field(ge=10)] = 180.0
    load_interval: Annotated[Seconds, Field(ge=1)] = 5.0
    predictor: Literal["constant", "arima", "kalman", "prophet"] = "arima"
    max_step: Annotated[int, Field(ge=1)] = 8
    sensitivity: Annotated[int, Field(ge=0, le=100)] = 80
    prefill_queue: Thresholds | None = None
    decode_kv: Thresholds | None = None
    max_gpus: Annotated[int | None, Field(ge=1)] = None
    config: dict[str, ConfigValue] = {}

    @model_validator(mode="after")
    def _intervals(self) -> Planner:
        if self.throughput_interval % self.load_interval or self.throughput_interval <= self.load_interval:
            raise ValueError(
                "`loadInterval` must divide `throughputInterval` and be shorter: the planner ticks at their greatest "
                "common divisor"
            )
        if not float(self.throughput_interval).is_integer() or not float(self.load_interval).is_integer():
            raise ValueError("the planner's intervals are whole seconds")
        return self

    @model_validator(mode="after")
    def _thresholds(self) -> Planner:
        if self.target == "load" and (self.prefill_queue is None or self.decode_kv is None):
            raise ValueError("target `load` needs both `prefillQueue` and `decodeKv`")
        if self.target != "load" and (self.prefill_queue is not None or self.decode_kv is not None):
            raise ValueError("`prefillQueue` and `decodeKv` are for target `load` and would be ignored")
        return self


class Queue(Frozen):
    """The KAI queue the models' gangs wait in.

    Attributes:
        gpus: GPUs the queue is entitled to; default is what the plan needs at its largest.
        max_gpus: GPUs it may use at most; no bound when absent.
        priority: against other queues of the cluster; higher goes first.
    """

    gpus: Annotated[int | None, Field(ge=1)] = None
    max_gpus: Annotated[int | None, Field(ge=1)] = None
    priority: int = 100

    @model_validator(mode="after")
    def _bounded(self) -> Queue:
        if self.gpus is not None and self.max_gpus is not None and self.max_gpus < self.gpus:
            raise ValueError(f"maxGpus {self.max_gpus} is below gpus {self.gpus}")
        return self


class Dynamo(Frozen):
    """How Dynamo serves.

    Attributes:
        version: release of the platform and all its images, in quotes; default is the catalogue's.
        upgrade_from: release now running, in quotes, to have the step checked before anything starts.
        router: how requests find a worker; a plain word is its mode.
        frontend: the servers in front of each model.
        gateway: ``frontend`` (a Service for each model), ``gatewayApi`` (one Gateway before the frontends), ``picker``
            (one Gateway, and Dynamo's endpoint picker instead of frontends), or ``auto``: a Gateway when there are
            several models, the only model's Service otherwise. ``headwater:llmd.gateway`` names its controller.
        planner: scale by Dynamo's Planner; without it KEDA scales on the frontend's metrics.
        kv_tiers: where KV cache may live, nearest first; default is the GPU, plus host memory where a model offloads.
        scheduling: ``grove`` (with KAI), ``lws`` (LeaderWorkerSet with Volcano), ``none``, or ``auto``: Grove when a
            replica spans nodes, plain Deployments otherwise.
        queue: the KAI queue, with Grove.
        compilation_cache: keep compiled kernels in a shared volume so that later starts skip the compilation; needs
            ``headwater:weights.cache: efs`` or ``fsx``.
        isolate: default-deny network policies with the flows serving needs.
        privileged: run EFA workers privileged, as upstream asks for GPU memory registration; off gives ``IPC_LOCK``.
    """

    version: Version | None = None
    upgrade_from: Version | None = None
    router: Router = Router()
    frontend: Frontend = Frontend()
    gateway: Literal["auto", "frontend", "gatewayApi", "picker"] = "auto"
    planner: Planner | None = None
    kv_tiers: Annotated[tuple[KvTier, ...] | None, Field(min_length=1)] = None
    scheduling: Literal["auto", "none", "grove", "lws"] = "auto"
    queue: Queue = Queue()
    compilation_cache: bool = False
    isolate: bool = True
    privileged: bool = True

    @field_validator("version", "upgrade_from")
    @classmethod
    def _release(cls, value: str | None) -> str | None:
        parts = ("0.0.0" if value is None else value).split(".")
        if len(parts) != 3 or not all(part.isdigit() for part in parts):
            raise ValueError("a release of Dynamo has three numbers, in quotes")
        return value

    @field_validator("kv_tiers")
    @classmethod
    def _once(cls, value: tuple[KvTier, ...] | None) -> tuple[KvTier, ...] | None:
        if value is not None and len(set(value)) != len(value):
            raise ValueError("a tier is named twice")
        return value

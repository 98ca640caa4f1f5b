"""The plan: every decision both serving stacks are built from, made once."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from headwater.plan.decided import Decided
from headwater.plan.system_model import SystemGroup
from headwater.settings import Settings

GIB = 2**30
StackName = Literal["llm-d", "dynamo"]
RoleName = Literal["serve", "prefill", "decode"]
Origin = Literal["plan", "model", "user"]


class Range(Decided):
    """GiB per GPU: lower bound, expected, upper bound."""

    low: float
    expected: float
    high: float


class Memory(Decided):
    """Where one GPU's memory goes, GiB per GPU of the fullest rank.

    Attributes:
        visible: what CUDA sees; ``budget`` is the share the engine may use.
        work: activations, persistent state, CUDA graphs and non-torch memory together.
        kv: left for the KV cache; ``kv_asked`` is what the asked context x concurrency needs.
        verdict: ``fits`` at the lower bound, ``tight`` only as expected.
    """

    visible: float
    budget: float
    weights: Range
    activation: Range
    state: Range
    non_torch: Range
    cuda_graph: Range
    kv: Range
    kv_asked: float
    verdict: Literal["fits", "tight"]
    calibrated: bool

    @property
    def work(self) -> float:
        """All that is neither weights nor KV cache, expected GiB per GPU."""
        return self.activation.expected + self.state.expected + self.non_torch.expected + self.cuda_graph.expected


class Parallel(Decided):
    """Degrees of parallelism of one replica. ``expert`` shards experts over tensor x data ranks."""

    tensor: int
    pipeline: int = 1
    data: int = 1
    expert: bool = False
    decode_context: int = 1

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tensor * self.pipeline * self.data

    @property
    def text(self) -> str:
        """``TP 8 x PP 2`` for people; ``1 GPU`` when nothing is split."""
        parts = [("TP", self.tensor), ("PP", self.pipeline), ("DP", self.data)]
        words = [f"{name} {degree}" for name, degree in parts if degree > 1]
        if self.expert:
            words.append("EP")
        if self.decode_context > 1:
            words.append(f"DCP {self.decode_context}")
        return " × ".join(words) or "1 GPU"


class EngineArg(Decided):
    """One vLLM argument.

    Attributes:
        flag: with its dashes, ``--max-model-len``.
        value: None for a flag without a value.
        origin: who decided: the plan, the model's own needs, or the user (wins).
        why: one clause.
    """

    flag: str
    value: str | None
    origin: Origin
    why: str

    @property
    def words(self) -> tuple[str, ...]:
        """As the command line has it: ``--flag`` or ``--flag=value``."""
        return (self.flag,) if self.value is None else (f"{self.flag}={self.value}",)


class Pod(Decided):
    """What one pod of a replica asks for. A replica of several nodes has one pod on each.

    Attributes:
        cpu_millis: CPU request, 1/1000 cores.
        memory_mib: memory request and limit, shared memory and host KV cache included.
        shared_memory_mib: size of ``/dev/shm``.
        ephemeral_gib: local disk for weights, images and caches.
        efa: EFA interfaces; 0 where traffic stays inside the node.
        whole_node: the pod takes all GPUs of a node that has several; a pod on a one-GPU type is a part-node pod.
    """

    gpus: int
    cpu_millis: int
    memory_mib: int
    shared_memory_mib: int
    ephemeral_gib: int
    efa: int
    whole_node: bool


class Throughput(Decided):
    """First-order speed of one replica, with an honest band (tokens/s, seconds)."""

    ttft_seconds: Range
    tpot_seconds: Range
    tokens_per_second: Range
    prefill_tokens_per_second: float
    note: str


class Role(Decided):
    """One kind of server of a model: ``serve`` does everything; ``prefill`` and ``decode`` share the work.

    Attributes:
        pool: name of the node pool its pods run on.
        instance: EC2 type the pod is sized for.
        nodes: pods (and nodes, when they are whole) of one replica; more than one makes a LeaderWorkerSet.
        replicas_min: from the start; ``replicas_max`` is the autoscaler's bound.
        kv_tokens: tokens the KV cache of one replica holds (expected).
        concurrency: requests of the asked context one replica holds (expected).
        offload_gib: host memory for KV offload, whole replica; 0 when off.
        startup_seconds: budget of the start-up probe: pull, load, compile, capture.
        dollars_per_hour: share of node price of one replica at list price.
    """

    role: RoleName
    pool: str
    instance: str
    accelerator: str
    parallel: Parallel
    nodes: int
    replicas_min: int
    replicas_max: int
    pod: Pod
    memory: Memory
    engine_args: tuple[EngineArg, ...]
    kv_tokens: int
    kv_blocks: int
    block_size: int
    concurrency: float
    max_num_seqs: int
    max_num_batched_tokens: int
    offload_gib: float
    startup_seconds: int
    dollars_per_hour: float
    throughput: Throughput

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.parallel.gpus

    @property
    def event_block_size(self) -> int:
        """Tokens of a block as the engine hashes it and tells of it: one on each rank that context is split over."""
        return self.block_size * self.parallel.decode_context

    def arg(self, flag: str) -> str | None:
        """Value of an engine argument, None when it is absent or has no value."""
        return next((a.value for a in self.engine_args if a.flag == flag), None)

    def has(self, flag: str) -> bool:
        """Whether an engine argument is set."""
        return any(a.flag == flag for a in self.engine_args)


class Alternative(Decided):
    """Another placement that was considered: cheaper or next best, or why a cheaper one was not taken."""

    text: str
    dollars_per_hour: float
    verdict: Literal["cheaper", "runner-up", "rejected"]
    reason: str


class ModelPlan(Decided):
    """One model, placed.

    Attributes:
        name: what clients ask for.
        key: catalogue key, or ``inline``.
        repository: checkpoint the engine loads.
        weight_format: exact format of the checkpoint, e.g. ``fp8-block``.
        context: longest request, tokens.
        concurrency: requests of that length to hold, over all replicas at the minimum.
        disaggregated: whether prefill and decode are separate roles.
        checkpoint_gib: size on disk.
        warnings: sentences for the reader of the plan.
        why: how the placement was chosen, sentences.
    """

    name: str
    key: str
    repository: str
    architecture: str
    precision: str
    weight_format: str
    parameters: float
    context: int
    concurrency: int
    disaggregated: bool
    roles: tuple[Role, ...]
    checkpoint_gib: float
    mixture_of_experts: bool
    latent_attention: bool
    hybrid: bool
    sliding_window: bool
    tool_parser: str | None
    reasoning_parser: str | None
    trust_remote_code: bool
    kv_cache_dtype: str
    priority: int
    alternatives: tuple[Alternative, ...]
    why: tuple[str, ...]
    warnings: tuple[str, ...]
    dollars_per_hour: float

    def role(self, name: RoleName) -> Role:
        """The role of that name.

        Raises:
            KeyError: the model has no such role.
        """
        for role in self.roles:
            if role.role == name:
                return role
        raise KeyError(name)

    @property
    def gpus(self) -> int:
        """GPUs at the minimum of replicas."""
        return sum(role.gpus * role.replicas_min for role in self.roles)


class ReservationPlan(Decided):
    """Capacity already bought that a pool uses."""

    id: str
    kind: Literal["odcr", "block"]
    ends: dt.datetime | None
    zone: str | None
    instances: int | None


class Pool(Decided):
    """One Karpenter NodePool with its EC2NodeClass.

    Whole-node and part-node pods never share a pool; a pool of multi-node groups or of disaggregated roles names one
    zone.

    Attributes:
        name: ``h100-node`` and the like; NodePool and NodeClass carry it.
        whole_node: its pods take whole nodes.
        instances: exact EC2 types.
        zones: one when traffic between nodes uses EFA.
        buy: capacity types in order, as Karpenter spells them: reserved, on-demand, spot.
        efa: EFA interfaces each node has (static ``efa-only`` list); 0 where none is needed.
        placement_group: nodes of a group close together.
        nodes_now: nodes at the minimum of replicas; ``nodes_max`` at the maximum.
        gpu_limit: the NodePool's limit, GPUs.
        warm: nodes kept though empty.
        dollars_per_hour: of one node at list price; None where the catalogue has no price.
    """

    name: str
    accelerator: str
    whole_node: bool
    instances: tuple[str, ...]
    zones: tuple[str, ...]
    buy: tuple[str, ...]
    reservations: tuple[ReservationPlan, ...]
    efa: int
    cards: int
    placement_group: bool
    nodes_now: int
    nodes_max: int
    gpus_per_node: int
    gpu_limit: int
    warm: int
    roles: tuple[str, ...]
    dollars_per_hour: float | None
    reserved_nodes: int


class Cost(Decided):
    """$/h: now, at the most, and the part that reservations already pay for."""

    now: float
    most: float
    reserved: float
    platform: float
    as_of: dt.date
    region: str
    complete: bool


class Plan(Decided):
    """The whole environment, decided.

    Attributes:
        stack: the serving stack, ``auto`` resolved.
        stack_why: why, when it was resolved.
        vllm: engine version of that stack.
        kubernetes: minor version.
        zones: zones of the network, in order.
        system: the system node group; None on an existing cluster, which brings its own nodes.
        warnings: what the reader must not miss.
        settings: the stack file, for what components pass through unchanged.
    """

    environment: str
    region: str
    kubernetes: str
    stack: StackName
    stack_why: str
    vllm: str
    cluster_name: str
    zones: tuple[str, ...]
    models: tuple[ModelPlan, ...]
    pools: tuple[Pool, ...]
    system: SystemGroup | None
    cost: Cost
    warnings: tuple[str, ...]
    settings: Settings

    def pool(self, name: str) -> Pool:
        """The pool of that name.

        Raises:
            KeyError: no such pool.
        """
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(name)

    @property
    def efa(self) -> bool:
        """Whether any node talks to another over EFA."""
        return any(pool.efa for pool in self.pools)

    @property
    def multi_node(self) -> bool:
        """Whether any replica spans nodes."""
        return any(role.nodes > 1 for model in self.models for role in model.roles)

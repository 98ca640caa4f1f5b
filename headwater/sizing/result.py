"""What is asked of the engine and what it answers: the request, the memory of each pipeline stage, the sizing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from headwater.catalog.architecture import Architecture
from headwater.catalog.gpus import Gpu
from headwater.sizing import defaults
from headwater.sizing.activation import Activation
from headwater.sizing.addends import Addend, describe
from headwater.sizing.kvcache import KvPlan
from headwater.sizing.precision import WeightFormat
from headwater.sizing.units import GIB, Band
from headwater.sizing.version import parse_version, since
from headwater.sizing.weights import StageWeights


@dataclass(frozen=True)
class SizingRequest:
    """One engine (one data-parallel replica group) to size. None means vLLM's own default for that version and GPU.

    Attributes:
        visible_gib: overrides the catalogue's visible memory of the GPU.
        dp, ep: data-parallel size and expert parallelism; without ``ep`` experts are still split over dp ranks.
        dcp: decode context parallel size.
        speculative_tokens: draft tokens per step; ``draft_layers`` multi-token-prediction layers are loaded for them.
        vllm_version: None widens the band over every known way to profile.
        kv_cache_memory_bytes: replaces the whole calculation, as vLLM's flag does.
    """

    architecture: Architecture
    weight_format: WeightFormat
    gpu: Gpu
    visible_gib: float | None = None
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: bool = False
    dcp: int = 1
    gpu_memory_utilization: float | None = None
    max_model_len: int | None = None
    kv_cache_dtype: str = "auto"
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    vllm_version: str | None = None
    enforce_eager: bool = False
    block_size: int | None = None
    prefix_caching: bool | None = None
    speculative_tokens: int = 0
    draft_layers: int = 0
    kv_cache_memory_bytes: int | None = None


@dataclass(frozen=True)
class Stage:
    """One pipeline stage: bytes by class, activation, what is left for the cache (GiB per GPU), bytes of one block."""

    weights: StageWeights
    weights_gib: Band
    activation: Band
    state: Band
    kv: Band
    block_bytes: int

    def blocks(self, gib: float) -> int:
        """Whole blocks in ``gib``."""
        return max(0, math.floor(gib * GIB / self.block_bytes))


@dataclass(frozen=True)
class Sizing:
    """The answer. GiB are per GPU of the limiting pipeline stage; ``stages`` has all of them.

    ``kv`` never goes below zero; ``shortfall_gib`` says how much is missing then, so that
    weights + activation + state + non_torch + cuda_graph + kv = budget + shortfall (expected values).
    """

    request: SizingRequest
    version: str
    visible_gib: float
    utilization: float
    budget_gib: float
    max_model_len: int
    max_num_batched_tokens: int
    max_num_seqs: int
    kv_cache_dtype: str
    stages: tuple[Stage, ...]
    limiting: int
    non_torch: Band
    non_torch_status: str
    cuda_graph: Band
    cuda_graph_capture: Band
    context_reserve_gib: float
    kv: Band
    shortfall_gib: float
    plan: KvPlan
    inflight: int
    num_blocks: int
    num_blocks_low: int
    num_blocks_high: int
    calibrated: bool
    notes: tuple[str, ...]
    activation_parts: Activation

    @property
    def stage(self) -> Stage:
        """The pipeline stage that limits the cache."""
        return self.stages[self.limiting]

    @property
    def weights(self) -> Band:
        """Weights of the limiting stage, GiB."""
        return self.stage.weights_gib

    @property
    def activation(self) -> Band:
        """Transient activation peak of the limiting stage, GiB."""
        return self.stage.activation

    @property
    def state(self) -> Band:
        """Persistent sampler state of the limiting stage, GiB."""
        return self.stage.state

    @property
    def block_size(self) -> int:
        """Tokens per block."""
        return self.plan.block_size

    @property
    def bytes_per_block(self) -> int:
        """Bytes of one block on the limiting stage, per GPU."""
        return self.stage.block_bytes

    @cached_property
    def blocks_per_request(self) -> int:
        """Blocks one request of ``max_model_len`` tokens holds."""
        return self.plan.blocks_per_request(self.max_model_len, self.inflight)

    @property
    def max_concurrency(self) -> float:
        """Requests of ``max_model_len`` held at once, expected; what vLLM prints with two decimals."""
        return self.num_blocks / self.blocks_per_request

    def concurrency_at(self, tokens_per_request: int, bound: str = "expected") -> float:
        """Requests of this length (prompt and answer) held at once, at the ``low``, ``expected`` or ``high`` bound."""
        blocks = {"low": self.num_blocks_low, "expected": self.num_blocks, "high": self.num_blocks_high}[bound]
        return blocks / self.plan.blocks_per_request(tokens_per_request, self.inflight)

    def tokens_of(self, blocks: int) -> int:
        """The printed token count for so many blocks, in this version's definition."""
        if since(parse_version(self.version), defaults.table()["printed_tokens_follow_context_from"]):
            return int(blocks / self.blocks_per_request * self.max_model_len)
        return blocks // self.plan.group_count * self.plan.block_size * self.plan.dcp

    @property
    def kv_tokens_printed(self) -> int:
        """What this vLLM version prints as "GPU KV cache size"."""
        return self.tokens_of(self.num_blocks)

    @property
    def kv_tokens(self) -> int:
        """Tokens of context held at once by requests of ``max_model_len``.

        Equals the printed number for one kind of layer.
        """
        if self.plan.group_count == 1:
            return self.num_blocks * self.plan.block_size * self.plan.dcp
        return int(self.max_concurrency * self.max_model_len)

    def _starts(self, blocks: int, kv_gib: float) -> bool:
        return kv_gib > 0 and blocks - 1 >= self.blocks_per_request and not self.refusals

    @cached_property
    def refusals(self) -> tuple[str, ...]:
        """Reasons vLLM would not start whatever the cache size.

        Memory held by others at start, states for every sequence.
        """
        found = []
        free = self.visible_gib - self.context_reserve_gib
        if free < self.budget_gib:
            found.append(
                f"free memory at start ({free:.2f} GiB) is below the budget ({self.budget_gib:.2f} GiB): "
                "lower gpu_memory_utilization to "
                f"{math.floor(free / self.visible_gib * 100) / 100:.2f}"
            )
        if self.plan.recurrent and not self.request.enforce_eager and self.max_num_seqs > self.num_blocks_low:
            found.append(
                f"max_num_seqs {self.max_num_seqs} is above the {self.num_blocks_low} cache blocks: vLLM "
                "needs a recurrent state for every "
                f"sequence it captures; set max_num_seqs to at most {max(1, self.num_blocks_low * 9 // 10)}"
            )
        return tuple(found)

    @cached_property
    def fits(self) -> bool:
        """Starts with one request of ``max_model_len`` even at the lower bound."""
        return self._starts(self.num_blocks_low, self.kv.low)

    @cached_property
    def tight(self) -> bool:
        """Starts at the expected value, but not at the lower bound."""
        return not self.fits and self._starts(self.num_blocks, self.kv.expected)

    def fits_at(self, context: int, concurrency: float, bound: str = "low") -> bool:
        """Whether vLLM starts and holds ``concurrency`` requests of ``context`` tokens at once, at the given bound."""
        if self.refusals or not (self.fits if bound == "low" else self.fits or self.tight):
            return False
        return self.concurrency_at(context, bound) >= concurrency

    @property
    def headroom_gib(self) -> float:
        """Free memory outside the budget after start-up, GiB.

        Context, NCCL and graphs beyond their estimate taken out.
        """
        beyond = max(0.0, self.cuda_graph_capture.expected - self.cuda_graph.expected)
        return self.visible_gib - self.budget_gib - self.context_reserve_gib - beyond

    @cached_property
    def addends(self) -> tuple[Addend, ...]:
        """Every term with its formula in words, the numbers put in, its band and its source."""
        return describe(self)

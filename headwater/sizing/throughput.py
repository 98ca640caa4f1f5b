"""First-order speed of one replica: time to first token, time per output token, tokens per second.

Closed form from bytes and FLOPs, with the overheads measured on vLLM (docs/sizing.md, "Throughput"). Times in seconds,
bandwidth in bytes/s. An estimate with a wide band, not a benchmark: a measured point of the same engine and layout
rescales it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from headwater.catalog.architecture import Architecture, Attention, Compressed, GatedDelta, Kda, Mamba2, Mixer, Mla
from headwater.catalog.defaults import speed_constants
from headwater.catalog.gpus import Gpu
from headwater.sizing.precision import WeightFormat
from headwater.sizing.shards import Split
from headwater.sizing.weights import count_parameters, stage_weights

K = speed_constants()


@dataclass(frozen=True)
class Workload:
    """One kind of request: mean prompt and answer, tokens."""

    input: int
    output: int

    @property
    def mean_context(self) -> float:
        """Tokens in the cache of a request, on average over its answer."""
        return self.input + self.output / 2


@dataclass(frozen=True)
class SpeedShape:
    """What speed depends on.

    Attributes:
        dense_bytes: weights every step reads, all experts left out, whole model.
        expert_bytes: one routed expert of one layer.
        active_parameters: parameters one token passes through.
        weight_peak: ``fp8`` when matrix products run on FP8 tensor cores, else ``bf16``.
        kv_bytes: bytes of one cached element.
    """

    architecture: Architecture
    dense_bytes: float
    expert_bytes: float
    active_parameters: float
    total_parameters: float
    weight_peak: str
    kv_bytes: float

    @cached_property
    def layers(self) -> int:
        """Decoder layers."""
        return max(1, len(self.architecture.layers))

    @property
    def is_moe(self) -> bool:
        """Whether some layers choose among experts."""
        return self.architecture.moe is not None

    @property
    def overhead(self) -> float:
        """Seconds of one pass that depend on nothing but the number of layers."""
        moe = self.architecture.moe_layers
        return (self.layers - moe) * K["layer_overhead_dense_s"] + moe * K["layer_overhead_moe_s"]

    def touched_expert_bytes(self, batch: float) -> float:
        """Bytes of routed experts one step reads when ``batch`` tokens choose independently."""
        moe = self.architecture.moe
        if moe is None:
            return 0.0
        touched = moe.experts * (1 - (1 - moe.active / moe.experts) ** max(batch, 1.0))
        layers: int = self.architecture.moe_layers
        return float(touched * self.expert_bytes * layers)

    def kv_read(self, context: float, tensor: int) -> float:
        """Bytes of cache one token's attention reads on one GPU, all layers, at ``context`` tokens."""
        return sum(n * _kv_read(layer.mixer, context, tensor, self.kv_bytes) for layer, n in self.architecture.runs)

    def attention_flops(self, tokens: float) -> float:
        """FLOPs of attention scores and values over a prompt of ``tokens``, whole model."""
        return sum(n * _attention_flops(layer.mixer, tokens) for layer, n in self.architecture.runs)


@lru_cache(maxsize=1024)
def speed_shape(architecture: Architecture, weights: WeightFormat, kv_bytes: float) -> SpeedShape:
    """Shape of a model as loaded in one format; ``kv_bytes`` is 2 for a bf16 cache, 1 for fp8."""
    stage = stage_weights(architecture, weights, Split())[0]
    moe = architecture.moe
    counted = all(not isinstance(layer.mixer, Compressed) for layer, _ in architecture.runs)
    parameters = float(count_parameters(architecture) if counted else architecture.published_parameters or 0)
    table = architecture.vocabulary * architecture.hidden
    unread = 0 if architecture.tied else table  # a lookup reads one row; a tied table is also the output matrix
    one_expert = (3 if moe.gated else 2) * float(moe.latent or architecture.hidden) * moe.intermediate if moe else 0.0
    idle = one_expert * (moe.experts - moe.active) * architecture.moe_layers if moe else 0.0
    never_read = (
        stage.experts + stage.rotary + stage.tower + stage.absorbed + (0.0 if architecture.tied else stage.embedding)
    )
    math_packing = weights.experts if moe else weights.mlp
    return SpeedShape(
        architecture=architecture,
        dense_bytes=stage.total - never_read,
        expert_bytes=stage.experts / (moe.experts * architecture.moe_layers) if moe else 0.0,
        active_parameters=max(1.0, parameters - idle - unread),
        total_parameters=parameters,
        weight_peak="fp8" if math_packing.name.startswith(("fp8", "int8", "mxfp8")) else "bf16",
        kv_bytes=kv_bytes,
    )


@dataclass(frozen=True)
class Layout:
    """The GPUs of one replica and how the model lies on them."""

    gpu: Gpu
    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: bool = False

    @property
    def expert_ranks(self) -> int:
        """GPUs of a pipeline stage that share the experts."""
        return self.tensor * self.data

    @property
    def bandwidth(self) -> float:
        """Bytes/s one GPU reads, as far as kernels reach it."""
        return (self.gpu.hbm_tb_s or 0.0) * 1e12 * K["bandwidth_share"]


@dataclass(frozen=True)
class Speed:
    """Speed of one shape on one layout. ``step_factor`` and ``prefill_factor`` come from a measured point."""

    shape: SpeedShape
    layout: Layout
    step_factor: float = 1.0
    prefill_factor: float = 1.0

    def _peak(self, kind: str) -> float:
        gpu = self.layout.gpu
        flops = gpu.fp8_tflops if kind == "fp8" and gpu.fp8_tflops else gpu.bf16_tflops
        if not flops or not gpu.hbm_tb_s:
            raise ValueError(f"the catalogue has no speeds for {gpu.name}")
        return flops * 1e12

    def _reduce(self, batch: float) -> float:
        """Seconds of the all-reduces (two a layer) of one pass over ``batch`` tokens."""
        layout, arch = self.layout, self.shape.architecture
        seconds = 0.0
        if layout.tensor > 1:
            seconds += (
                self.shape.layers * 2 * (K["all_reduce_s"] + 2 * batch * arch.hidden * 2 / K["all_reduce_bytes_s"])
            )
        if layout.data > 1 and arch.moe_layers:
            seconds += arch.moe_layers * 2 * (K["all_reduce_s"] + 2 * batch * arch.hidden * 2 / K["all_reduce_bytes_s"])
        return seconds

    def step(self, batch: float, context: float) -> float:
        """Seconds until every one of ``batch`` running requests has its next token.

        A pipeline runs as many groups as it has stages; each group walks all stages, so a token waits for the whole
        model to be read at the bandwidth of one stage's GPUs.
        """
        shape, layout = self.shape, self.layout
        group = max(1.0, batch / layout.pipeline)
        per_rank = max(1.0, group / layout.data)
        read = shape.dense_bytes / layout.tensor + shape.touched_expert_bytes(group) / layout.expert_ranks
        product = (
            2 * shape.active_parameters * group / (layout.expert_ranks * self._peak(shape.weight_peak) * K["step_mfu"])
        )
        weights = max(read / layout.bandwidth, product)
        slope = K["fp8_kv_time_share"] * 2 if shape.kv_bytes == 1 else 1.0
        cache = per_rank * shape.kv_read(context, layout.tensor) * slope / layout.bandwidth
        return self.step_factor * (weights + cache + shape.overhead + self._reduce(per_rank))

    def prefill(self, tokens: float) -> float:
        """Seconds to read a prompt of ``tokens`` on an idle replica: time to first token without a queue."""
        shape, layout = self.shape, self.layout
        gpus = layout.tensor  # one prompt runs on one data-parallel rank, stage after stage
        mfu = K["prefill_mfu_moe"] if shape.is_moe else K["prefill_mfu_dense"]
        products = 2 * shape.active_parameters * tokens / (gpus * self._peak(shape.weight_peak) * mfu)
        attention = shape.attention_flops(tokens) / (gpus * self._peak("bf16") * K["prefill_mfa"])
        reduce = (
            shape.layers * 2 * 2 * tokens * shape.architecture.hidden * 2 / K["all_reduce_bytes_s"]
            if layout.tensor > 1
            else 0.0
        )
        return self.prefill_factor * (products + attention + K["prefill_fixed_s"] + reduce)

    def prefill_cost(self, tokens: float) -> float:
        """Seconds of the whole replica one prompt takes: its stages and ranks read other prompts meanwhile."""
        return self.prefill(tokens) / (self.layout.pipeline * self.layout.data)

    def tokens_per_second(self, work: Workload, batch: float) -> float:
        """Generated tokens/s of the replica with ``batch`` requests always running."""
        per_token = self.step(batch, work.mean_context) / batch
        return work.output / (self.prefill_cost(work.input) + work.output * per_token)

    def tpot(self, work: Workload, batch: float) -> float:
        """Seconds per output token with ``batch`` requests always running: other requests' prefills interleave."""
        return self.step(batch, work.mean_context) + self.prefill_cost(work.input) * max(0.0, batch - 1) / work.output

    def ttft(self, work: Workload, batch: float, rate: float = 0.0) -> float:
        """Seconds to the first token at ``rate`` requests/s; infinite when the replica cannot keep up."""
        if rate <= 0:
            return self.prefill(work.input)
        busy = rate * (self.prefill_cost(work.input) + work.output * self.step(batch, work.mean_context) / batch)
        return self.prefill(work.input) / (1 - busy) if busy < 1 else math.inf

    def rescaled(self, measured: MeasuredPoint) -> Speed:
        """This model through one measured point: steps and prefills times measured over predicted."""
        step, prefill = self.step_factor, self.prefill_factor
        if measured.ttft is not None:
            prefill *= measured.ttft / self.prefill(measured.work.input)
        shifted = replace(self, prefill_factor=prefill)
        if measured.tpot is not None:
            interleaved = shifted.tpot(measured.work, measured.batch) - shifted.step(
                measured.batch, measured.work.mean_context
            )
            step *= max(1e-9, measured.tpot - interleaved) / shifted.step(measured.batch, measured.work.mean_context)
        elif measured.tokens_per_second is not None:
            wanted = measured.work.output / measured.tokens_per_second
            factor = wanted / (measured.work.output / shifted.tokens_per_second(measured.work, measured.batch))
            step *= factor
            prefill *= factor
        return replace(self, step_factor=step, prefill_factor=prefill)

    @property
    def measured(self) -> bool:
        """Whether a measured point stands behind it."""
        return self.step_factor != 1.0 or self.prefill_factor != 1.0

    @property
    def band(self) -> tuple[float, float]:
        """Share below and above the expected tokens/s that must be allowed for."""
        if not self.shape.is_moe or self.measured:
            return K["band_dense"], K["band_dense"]
        if self.shape.total_parameters < K["large_moe_parameters"]:
            return K["band_small_moe"], K["band_small_moe"]
        return K["band_large_moe_below"], K["band_large_moe_above"]


@dataclass(frozen=True)
class MeasuredPoint:
    """One benchmark of the same engine and layout with ``batch`` requests of ``work`` running; seconds and tokens/s."""

    work: Workload
    batch: float
    ttft: float | None = None
    tpot: float | None = None
    tokens_per_second: float | None = None


@lru_cache(maxsize=4096)
def _kv_read(mixer: Mixer | None, context: float, tensor: int, kv_bytes: float) -> float:
    match mixer:
        case Attention():
            seen = min(context, mixer.window or mixer.chunk or context)
            return seen * max(1, mixer.kv_heads // tensor) * (mixer.head_dim + mixer.value_dim) * kv_bytes
        case Mla():
            seen = min(context, mixer.indexer.topk) if mixer.sparse and mixer.indexer else context
            if mixer.sparse and not mixer.indexer:
                seen = min(context, K["sparse_topk"])
            scored = context * K["indexer_bytes_per_token"] if mixer.indexer else 0.0
            return seen * (mixer.kv_lora + mixer.rope) * kv_bytes + scored
        case Compressed():
            stored = context / mixer.ratio if mixer.ratio else 0.0
            return stored * (mixer.state_bytes + mixer.index_bytes) + min(context, mixer.window) * mixer.state_bytes
        case GatedDelta():
            return (
                2 * 4.0 * mixer.value_heads * mixer.value_dim * mixer.key_dim / tensor
            )  # state read and written, fp32
        case Mamba2():
            return 2 * 4.0 * mixer.heads * mixer.head_dim * mixer.state / tensor
        case Kda():
            return 2 * 4.0 * mixer.heads * mixer.head_dim**2 / tensor
        case _:
            return 0.0


@lru_cache(maxsize=4096)
def _attention_flops(mixer: Mixer | None, tokens: float) -> float:
    """Scores and values are a multiply and an add each; a causal prompt has half the pairs; a window bounds them."""

    def pairs(seen: float | None) -> float:
        if seen is None or seen >= tokens:
            return tokens * tokens / 2
        return tokens * seen - seen * seen / 2

    match mixer:
        case Attention():
            return 2 * mixer.heads * (mixer.head_dim + mixer.value_dim) * pairs(mixer.window or mixer.chunk)
        case Mla():
            width = mixer.nope + mixer.rope + mixer.value_dim
            scores = 2 * mixer.heads * width * pairs(float(K["sparse_topk"]) if mixer.sparse else None)
            index = 2 * mixer.indexer.heads * mixer.indexer.dim * tokens * tokens / 2 if mixer.indexer else 0.0
            return scores + index
        case Compressed():
            stored = tokens / mixer.ratio if mixer.ratio else 0.0
            return 4 * mixer.heads * K["compressed_head_dim"] * (pairs(mixer.window) + tokens * stored / 2)
        case _:
            return 0.0

"""Weights on each GPU, counted from shapes: bytes of every tensor in the checkpoint's packing, per pipeline stage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from headwater.catalog.architecture import Architecture, Compressed, Layer
from headwater.sizing.precision import Packing, WeightFormat
from headwater.sizing.shards import Split, expert_elements, layer_tensors
from headwater.sizing.units import SizingError, pad

__all__ = [
    "Split",
    "StageWeights",
    "allocated",
    "count_parameters",
    "draft_layer",
    "require_shapes",
    "stage_layers",
    "stage_slices",
    "stage_weights",
]

VOCABULARY_PADDING = 64
"""vLLM's ``DEFAULT_VOCAB_PADDING_SIZE``: embedding rows are padded up to a multiple of it, then divided."""
LARGE_TENSOR, ROUNDING, SPLIT_REMAINDER = 10 << 20, 2 << 20, 1 << 20
"""PyTorch ``CUDACachingAllocator``: kMinLargeAlloc, kRoundLarge, kSmallSize, bytes."""
KINDS = ("attention", "mlp", "shared", "experts", "plain", "absorbed")


@lru_cache(maxsize=512)
def count_parameters(arch: Architecture) -> int:
    """Parameters of the text model: no vision tower, no draft layers, no second copies."""
    require_shapes(arch)
    total = arch.vocabulary * arch.hidden * (1 if arch.tied else 2) + arch.hidden
    total += arch.vocabulary if arch.head_bias else 0
    for layer, n in arch.runs:
        total += n * round(sum(t.elements for t in layer_tensors(layer, arch.hidden, Split()) if t.kind != "absorbed"))
    return total


def require_shapes(arch: Architecture) -> None:
    """Refuse an architecture whose shapes are not known.

    Raises:
        SizingError: with the reason.
    """
    if not arch.layers:
        raise SizingError(f"{arch.name} cannot be sized: {arch.uncountable}")


def stage_layers(n_layers: int, pp: int, partition: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Layers of each pipeline stage as vLLM deals them.

    Leftovers go one each to the stages before the last, backwards; ``partition`` is ``VLLM_PP_LAYER_PARTITION``.
    """
    if partition is not None:
        if len(partition) != pp or sum(partition) != n_layers:
            raise SizingError(f"layer partition {partition} does not give {n_layers} layers to {pp} stages")
        return partition
    sizes = [n_layers // pp] * pp
    for i in range(2, n_layers % pp + 2):
        sizes[-i] += 1
    return tuple(sizes)


def stage_slices(
    arch: Architecture, pp: int, partition: tuple[int, ...] | None = None
) -> tuple[tuple[Layer, ...], ...]:
    """The layers of each pipeline stage."""
    slices, start = [], 0
    for size in stage_layers(len(arch.layers), pp, partition):
        slices.append(arch.layers[start : start + size])
        start += size
    return tuple(slices)


@dataclass(frozen=True, slots=True)
class StageWeights:
    """Bytes on one GPU of one pipeline stage, by class. ``elements`` counts stored elements without second copies."""

    attention: float
    mlp: float
    shared: float
    experts: float
    plain: float
    absorbed: float
    embedding: float
    head: float
    rotary: float
    tower: float
    draft: float

    @property
    def total(self) -> float:
        """All bytes of the stage."""
        return (
            self.attention
            + self.mlp
            + self.shared
            + self.experts
            + self.plain
            + self.absorbed
            + self.embedding
            + self.head
            + self.rotary
            + self.tower
            + self.draft
        )


def _expert_padding(kind: str, layer: Layer, h: int, s: Split, kernel: str) -> float:
    """How much wider mxfp4 kernels store expert matrices: factor on the expert bytes.

    Triton's swizzled scales add a fitted 1.6 % (whole experts) or 2.2 % (slices), measured on gpt-oss.
    """
    if kind != "mxfp4" or layer.moe is None:
        return 1.0
    inner = layer.moe.latent or h
    width = layer.moe.intermediate if s.ep else max(1, layer.moe.intermediate // s.expert_ranks)
    scales = 1.016 if s.expert_ranks == 1 or s.ep else 1.022
    wide, deep, factor = {
        "triton-old": (1, 256, 1.0),
        "triton": (64, 256, scales),
        "marlin": (128, 256, 1.0),
        "native": (128, 128, 1.0),
        "files": (1, 1, 1.0),
    }[kernel]
    return pad(width, wide) / width * pad(inner, deep) / inner * factor


def allocated(size: float) -> float:
    """Bytes PyTorch's caching allocator counts for one tensor of ``size`` bytes.

    Tensors of 10 MiB and more get their own segment, rounded up to 2 MiB; a remainder of at most 1 MiB
    is not split off.
    """
    if size < LARGE_TENSOR:
        return size
    segment = pad(math.ceil(size), ROUNDING)
    return float(segment) if segment - size <= SPLIT_REMAINDER else size


def _bytes(layer: Layer, arch: Architecture, fmt: WeightFormat, s: Split, kernel: str) -> dict[str, float]:
    sums = dict.fromkeys(KINDS, 0.0)
    plain = fmt.plain.bytes
    for t in layer_tensors(layer, arch.hidden, s):
        if t.kind in {"plain", "absorbed"}:
            sums[t.kind] += allocated(t.elements * plain)
            continue
        packing: Packing = getattr(fmt, t.kind)
        factor = _expert_padding(packing.name, layer, arch.hidden, s, kernel) if t.kind == "experts" else 1.0
        scales = t.elements * (packing.bytes - packing.weight_bytes) * factor + t.rows * packing.row_bytes
        sums[t.kind] += allocated(t.elements * packing.weight_bytes * factor) + scales
    return sums


def draft_layer(arch: Architecture) -> Layer:
    """The decoder layer a multi-token-prediction module repeats: the last one that attends."""
    return next(layer for layer in reversed(arch.layers) if layer.mixer is not None)


@lru_cache(maxsize=8192)
def stage_weights(
    arch: Architecture,
    fmt: WeightFormat,
    split: Split,
    kernel: str = "triton",
    *,
    tower_copied: bool = False,
    draft_layers: int = 0,
) -> tuple[StageWeights, ...]:
    """Bytes per GPU for every pipeline stage.

    Args:
        arch: the model's shapes.
        fmt: how the checkpoint stores them.
        split: parallel sizes.
        kernel: mxfp4 kernel, which decides padding: ``triton-old``, ``triton``, ``marlin``, ``native``;
            ``files`` for none, as on disk.
        tower_copied: the vision tower is replicated over tensor-parallel ranks (older vLLM).
        draft_layers: multi-token-prediction layers loaded for speculative decoding, on the last stage.
    """
    if arch.published_parameters is not None and any(isinstance(x.mixer, Compressed) for x, _ in arch.runs):
        return _published(arch, fmt, split, kernel)
    require_shapes(arch)
    per_layer = {layer: _bytes(layer, arch, fmt, split, kernel) for layer, _ in arch.runs}
    stages = stage_slices(arch, split.pp)
    result = []
    for i, layers in enumerate(stages):
        sums = dict.fromkeys(KINDS, 0.0)
        for layer in layers:
            for kind, value in per_layer[layer].items():
                sums[kind] += value
        last = i == len(stages) - 1
        sums["plain"] += arch.hidden * fmt.plain.bytes if last else 0.0
        draft = 0.0
        if last and draft_layers:
            layer = draft_layer(arch)
            projection = (2 * arch.hidden * arch.hidden + 3 * arch.hidden) * fmt.plain.bytes
            draft = draft_layers * (sum(_bytes(layer, arch, fmt, split, kernel).values()) + projection)
        result.append(
            StageWeights(
                **sums, **_ends(arch, fmt, split, first=i == 0, last=last, tower_copied=tower_copied), draft=draft
            )
        )
    return tuple(result)


def _ends(
    arch: Architecture, fmt: WeightFormat, s: Split, *, first: bool, last: bool, tower_copied: bool
) -> dict[str, float]:
    """Embedding, output head, rotary tables and vision tower of a stage, bytes."""
    plain = fmt.plain.bytes
    rows = pad(arch.vocabulary, VOCABULARY_PADDING) / s.tp
    head = 0.0
    if last and not (arch.tied and first):
        head = allocated(rows * arch.hidden * (plain if arch.tied else fmt.head.bytes))
        head += rows * plain if arch.head_bias else 0.0
    tower = 0.0
    if first and arch.tower:
        shard = arch.tower.parameters / (1 if tower_copied else s.tp)
        tower = (shard + arch.tower.projector) * fmt.tower.bytes
    return {
        "embedding": allocated(rows * arch.hidden * plain) if first else 0.0,
        "head": head,
        "rotary": float(arch.rope_length * arch.rotary[0] * arch.rotary[1] * plain),
        "tower": tower,
    }


def _published(arch: Architecture, fmt: WeightFormat, s: Split, kernel: str) -> tuple[StageWeights, ...]:
    """A model whose attention cannot be counted: routed experts from shapes, the rest from the published total."""
    h, moe = arch.hidden, arch.moe
    if moe is None or arch.published_parameters is None:
        raise SizingError(f"{arch.name} cannot be sized: neither shapes nor a published total are known")
    whole = expert_elements(moe, h, Split())
    rest = max(0.0, (arch.published_parameters - 2 * arch.vocabulary * h - whole * arch.moe_layers) / len(arch.layers))
    rows = pad(arch.vocabulary, VOCABULARY_PADDING) / s.tp
    shard = expert_elements(moe, h, s)
    factor = _expert_padding(fmt.experts.name, arch.layers[-1], h, s, kernel)
    sizes = stage_layers(len(arch.layers), s.pp)
    return tuple(
        StageWeights(
            attention=n * rest / s.tp * fmt.attention.bytes,
            mlp=0.0,
            shared=0.0,
            experts=n * shard * fmt.experts.bytes * factor,
            plain=0.0,
            absorbed=0.0,
            embedding=rows * h * 2 if i == 0 else 0.0,
            head=rows * h * 2 if i == s.pp - 1 else 0.0,
            rotary=float(arch.rope_length * arch.rotary[0] * arch.rotary[1] * 2),
            tower=0.0,
            draft=0.0,
        )
        for i, n in enumerate(sizes)
    )

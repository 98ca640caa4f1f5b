"""Weights on each GPU, counted from shapes: what is split over tensor, pipeline and expert ranks, and what is copied.

Sources: vLLM's model definitions and layer classes (`model_executor/models`, `model_executor/layers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from headwater.catalog.architecture import (
    Architecture,
    Attention,
    Compressed,
    GatedDelta,
    Kda,
    Layer,
    Mamba2,
    Mixer,
    Mla,
    Mlp,
    Moe,
)
from headwater.sizing.precision import WeightFormat
from headwater.sizing.units import SizingError, cdiv, pad

VOCABULARY_PADDING = 64
"""vLLM's ``DEFAULT_VOCAB_PADDING_SIZE``: embedding rows are padded up to a multiple of it, then divided."""


@dataclass(frozen=True, slots=True)
class Split:
    """Parallel sizes that decide a shard. ``ep``: whole experts on ranks instead of slices of each expert."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: bool = False

    @property
    def expert_ranks(self) -> int:
        """Ranks the routed experts are spread over, with or without expert parallelism."""
        return self.tp * self.dp

    @property
    def shared_copied(self) -> bool:
        """Shared experts are copied to every rank under sequence-parallel expert parallelism."""
        return self.ep and self.tp > 1 and self.dp > 1


@dataclass(frozen=True, slots=True)
class Part:
    """Elements of one tensor class on one rank, with output rows (for per-row scales)."""

    kind: str
    elements: float
    rows: float = 0.0


def _attention(a: Attention, h: int, tp: int) -> list[Part]:
    q_heads, kv = a.heads / tp, max(1.0, a.kv_heads / tp)
    q = q_heads * a.head_dim * (2 if a.gated else 1)
    k, v = kv * a.head_dim, kv * a.value_dim
    parts = [Part("attention", h * (q + k + v) + q_heads * a.value_dim * h, q + k + v + h)]
    if a.bias:
        parts.append(Part("plain", q_heads * a.head_dim + k + v))
    if a.output_bias:
        parts.append(Part("plain", h))
    if a.qk_norm:
        parts.append(Part("plain", 2 * a.head_dim))
    return parts


def _mla(m: Mla, h: int, tp: int) -> list[Part]:
    heads = m.heads / tp
    q_out, kv_a = heads * (m.nope + m.rope), m.kv_lora + m.rope
    query = [Part("attention", h * m.q_lora, m.q_lora), Part("attention", m.q_lora * q_out, q_out)] if m.q_lora else [
        Part("attention", h * q_out, q_out)
    ]  # fmt: skip
    absorbed = m.kv_lora * heads * (m.nope + m.value_dim)
    parts = [
        *query,
        Part("attention", h * kv_a, kv_a),
        Part("attention", absorbed, heads * (m.nope + m.value_dim)),
        Part("attention", heads * m.value_dim * h, h),
        Part("plain", (m.q_lora or 0) + m.kv_lora),
        Part("absorbed", absorbed),
    ]
    if m.gated:
        parts.append(Part("attention", h * heads * m.value_dim, heads * m.value_dim))
    if m.indexer:
        ix = m.indexer
        parts += [
            Part("attention", (m.q_lora or h) * ix.heads * ix.dim, ix.heads * ix.dim),
            Part("plain", h * ix.dim + h * ix.heads + 2 * ix.dim),
        ]
    return parts


def _recurrent(m: GatedDelta | Mamba2 | Kda, h: int, tp: int) -> list[Part]:
    if isinstance(m, GatedDelta):
        kd, vd = m.key_heads * m.key_dim / tp, m.value_heads * m.value_dim / tp
        nv = m.value_heads / tp
        return [
            Part("attention", h * (2 * kd + 2 * vd) + vd * h, 2 * kd + 2 * vd + h),
            Part("plain", h * 2 * nv + (2 * kd + vd) * m.conv + 2 * nv + m.value_dim),
        ]
    if isinstance(m, Mamba2):
        groups = m.groups if m.groups % tp == 0 else pad(m.groups, tp)
        inner, state, heads = m.heads * m.head_dim / tp, groups * m.state / tp, m.heads / tp
        out = 2 * inner + 2 * state + heads
        return [
            Part("attention", h * out + inner * h, out + h),
            Part("plain", (inner + 2 * state) * (m.conv + 1) + 3 * heads + inner),
        ]
    inner, heads = m.heads * m.head_dim / tp, m.heads / tp
    gate = h * inner if m.full_rank_gate else h * m.head_dim + m.head_dim * inner
    return [
        Part("attention", 3 * h * inner + inner * h + gate + h * m.head_dim + m.head_dim * inner, 5 * inner + h),
        Part("plain", 3 * inner * m.conv + h * heads + heads + inner + m.head_dim),
    ]


def mixer_parts(mixer: Mixer | None, h: int, tp: int) -> list[Part]:
    """Tensors of a layer's token mixer on one tensor-parallel rank."""
    if mixer is None:
        return []
    if isinstance(mixer, Attention):
        return _attention(mixer, h, tp)
    if isinstance(mixer, Mla):
        return _mla(mixer, h, tp)
    if isinstance(mixer, Compressed):
        raise SizingError("DeepSeek-V4 attention weights cannot be counted from its listed shapes")
    return _recurrent(mixer, h, tp)


def _dense(m: Mlp, h: int, tp: int, kind: str = "mlp") -> list[Part]:
    width = m.intermediate / tp
    parts = [Part(kind, (3 if m.gated else 2) * h * width, (2 if m.gated else 1) * width + h)]
    if m.bias:
        parts.append(Part("plain", width + h))
    return parts


def _moe(m: Moe, h: int, s: Split) -> list[Part]:
    inner, matrices = m.latent or h, 3 if m.gated else 2
    count, width = (cdiv(m.experts, s.expert_ranks), m.intermediate) if s.ep else (m.experts, m.intermediate / s.expert_ranks)
    rows = count * ((matrices - 1) * width + inner)
    parts = [Part("experts", count * matrices * inner * width, rows), Part("plain", h * m.experts)]
    if m.bias:
        parts.append(Part("plain", count * ((matrices - 1) * width + inner)))
    if m.shared:
        parts += _dense(Mlp(m.shared, m.gated), h, 1 if s.shared_copied else s.tp, "shared")
    if m.shared_gate:
        parts.append(Part("plain", h))
    if m.latent:
        parts.append(Part("shared", 2 * h * m.latent, h + m.latent))
    return parts


def layer_parts(layer: Layer, h: int, s: Split) -> list[Part]:
    """Every tensor of one decoder layer on one rank."""
    parts = mixer_parts(layer.mixer, h, s.tp)
    if layer.mlp:
        parts += _dense(layer.mlp, h, s.tp)
    if layer.moe:
        parts += _moe(layer.moe, h, s)
    parts.append(Part("plain", layer.norms * h))
    return parts


@lru_cache(maxsize=512)
def count_parameters(arch: Architecture) -> int:
    """Parameters of the text model: no vision tower, no draft layers, no second copies."""
    require_shapes(arch)
    total = arch.vocabulary * arch.hidden * (1 if arch.tied else 2) + arch.hidden
    total += arch.vocabulary if arch.head_bias else 0
    for layer, n in arch.runs:
        total += n * round(sum(p.elements for p in layer_parts(layer, arch.hidden, Split()) if p.kind != "absorbed"))
    return total


def require_shapes(arch: Architecture) -> None:
    """Refuse an architecture whose shapes are not known.

    Raises:
        SizingError: with the reason.
    """
    if not arch.layers:
        raise SizingError(f"{arch.name} cannot be sized: {arch.uncountable}")


def stage_layers(n_layers: int, pp: int, partition: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Layers of each pipeline stage as vLLM deals them: leftovers go one each to the stages before the last, backwards."""
    if partition is not None:
        if len(partition) != pp or sum(partition) != n_layers:
            raise SizingError(f"layer partition {partition} does not give {n_layers} layers to {pp} stages")
        return partition
    sizes = [n_layers // pp] * pp
    for i in range(2, n_layers % pp + 2):
        sizes[-i] += 1
    return tuple(sizes)


def stage_slices(arch: Architecture, pp: int, partition: tuple[int, ...] | None = None) -> tuple[tuple[Layer, ...], ...]:
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
            self.attention + self.mlp + self.shared + self.experts + self.plain + self.absorbed
            + self.embedding + self.head + self.rotary + self.tower + self.draft
        )  # fmt: skip


def _expert_padding(kind: str, layer: Layer, h: int, s: Split, kernel: str) -> float:
    """How much wider mxfp4 kernels store expert matrices: factor on the expert bytes.

    Triton's swizzled scales add a fitted 1.7 % (whole experts) or 3 % (slices), measured on gpt-oss.
    """
    if kind != "mxfp4" or layer.moe is None:
        return 1.0
    inner = layer.moe.latent or h
    width = layer.moe.intermediate if s.ep else max(1, layer.moe.intermediate // s.expert_ranks)
    scales = 1.017 if s.expert_ranks == 1 or s.ep else 1.03
    wide, deep, factor = {"triton-old": (1, 256, 1.0), "triton": (64, 256, scales), "marlin": (128, 256, 1.0), "native": (128, 128, 1.0)}[kernel]
    return pad(width, wide) / width * pad(inner, deep) / inner * factor


def _bytes(layer: Layer, arch: Architecture, fmt: WeightFormat, s: Split, kernel: str) -> dict[str, float]:
    sums = dict.fromkeys(("attention", "mlp", "shared", "experts", "plain", "absorbed"), 0.0)
    plain = fmt.plain.bytes
    for p in layer_parts(layer, arch.hidden, s):
        if p.kind == "plain":
            sums["plain"] += p.elements * plain
        elif p.kind == "absorbed":
            sums["absorbed"] += p.elements * plain
        else:
            packing = getattr(fmt, p.kind)
            factor = _expert_padding(packing.name, layer, arch.hidden, s, kernel) if p.kind == "experts" else 1.0
            sums[p.kind] += p.elements * packing.bytes * factor + p.rows * packing.row_bytes
    return sums


def draft_layer(arch: Architecture) -> Layer:
    """The decoder layer a multi-token-prediction module repeats: the last one that attends."""
    return next(layer for layer in reversed(arch.layers) if layer.mixer is not None)


@lru_cache(maxsize=8192)
def stage_weights(
    arch: Architecture, fmt: WeightFormat, split: Split, kernel: str = "triton", tower_copied: bool = False, draft_layers: int = 0
) -> tuple[StageWeights, ...]:
    """Bytes per GPU for every pipeline stage.

    Args:
        kernel: mxfp4 kernel, which decides padding: ``triton-old``, ``triton``, ``marlin``, ``native``.
        tower_copied: the vision tower is replicated over tensor-parallel ranks (older vLLM).
        draft_layers: multi-token-prediction layers loaded for speculative decoding, on the last stage.
    """
    if arch.published_parameters is not None and any(isinstance(x.mixer, Compressed) for x, _ in arch.runs):
        return _published(arch, fmt, split, kernel)
    require_shapes(arch)
    h, plain = arch.hidden, fmt.plain.bytes
    rows = pad(arch.vocabulary, VOCABULARY_PADDING) / split.tp
    per_layer = {layer: _bytes(layer, arch, fmt, split, kernel) for layer, _ in arch.runs}
    stages = stage_slices(arch, split.pp)
    result = []
    for i, layers in enumerate(stages):
        first, last = i == 0, i == len(stages) - 1
        sums = dict.fromkeys(("attention", "mlp", "shared", "experts", "plain", "absorbed"), 0.0)
        counts: dict[Layer, int] = {}
        for layer in layers:
            counts[layer] = counts.get(layer, 0) + 1
        for layer, n in counts.items():
            for kind, value in per_layer[layer].items():
                sums[kind] += n * value
        sums["plain"] += h * plain if last else 0.0
        own_head = last and not (arch.tied and first)
        tower = 0.0
        if first and arch.tower:
            tower = (arch.tower.parameters / (1 if tower_copied else split.tp) + arch.tower.projector) * fmt.tower.bytes
        draft = 0.0
        if last and draft_layers:
            layer = draft_layer(arch)
            draft = draft_layers * (sum(_bytes(layer, arch, fmt, split, kernel).values()) + (2 * h * h + 3 * h) * plain)
        result.append(
            StageWeights(
                **sums,
                embedding=rows * h * plain if first else 0.0,
                head=rows * (h * (fmt.head.bytes if not arch.tied else plain) + (plain if arch.head_bias else 0)) if own_head else 0.0,
                rotary=float(arch.rope_length * arch.rotary[0] * arch.rotary[1] * plain),
                tower=tower,
                draft=draft,
            )
        )
    return tuple(result)


def _published(arch: Architecture, fmt: WeightFormat, s: Split, kernel: str) -> tuple[StageWeights, ...]:
    """A model whose attention cannot be counted: routed experts from shapes, the rest from the published total."""
    h, moe = arch.hidden, arch.moe
    if moe is None or arch.published_parameters is None:
        raise SizingError(f"{arch.name} cannot be sized: neither shapes nor a published total are known")
    whole = sum(p.elements for p in _moe(moe, h, Split()) if p.kind == "experts")
    rest = max(0.0, (arch.published_parameters - 2 * arch.vocabulary * h - whole * arch.moe_layers) / len(arch.layers))
    rows = pad(arch.vocabulary, VOCABULARY_PADDING) / s.tp
    shard = sum(p.elements for p in _moe(moe, h, s) if p.kind == "experts")
    factor = _expert_padding(fmt.experts.name, arch.layers[-1], h, s, kernel)
    sizes = stage_layers(len(arch.layers), s.pp)
    return tuple(
        StageWeights(
            attention=n * rest / s.tp * fmt.attention.bytes, mlp=0.0, shared=0.0, experts=n * shard * fmt.experts.bytes * factor,
            plain=0.0, absorbed=0.0, embedding=rows * h * 2 if i == 0 else 0.0, head=rows * h * 2 if i == s.pp - 1 else 0.0,
            rotary=float(arch.rope_length * arch.rotary[0] * arch.rotary[1] * 2), tower=0.0, draft=0.0,
        )
        for i, n in enumerate(sizes)
    )  # fmt: skip

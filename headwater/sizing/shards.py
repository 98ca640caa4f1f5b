"""The tensors of one decoder layer on one GPU: which are split over tensor-parallel and expert ranks, which are copied.

Sources: vLLM's model definitions and layer classes (`model_executor/models`, `model_executor/layers`).
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.catalog.architecture import (
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
from headwater.sizing.units import SizingError, cdiv, pad


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
class Tensor:
    """One stored tensor of a rank: its class, elements, and output rows (for per-row scales).

    Classes: ``attention``, ``mlp``, ``shared``, ``experts`` follow the checkpoint's packing; ``plain`` and ``absorbed``
    (the second copy of latent up-projections) stay in the model's own type.
    """

    kind: str
    elements: float
    rows: float = 0.0


def _attention(a: Attention, h: int, tp: int) -> list[Tensor]:
    q_heads, kv = a.heads / tp, max(1.0, a.kv_heads / tp)
    q = q_heads * a.head_dim * (2 if a.gated else 1)
    k, v = kv * a.head_dim, kv * a.value_dim
    found = [Tensor("attention", h * (q + k + v), q + k + v), Tensor("attention", q_heads * a.value_dim * h, h)]
    if a.bias:
        found.append(Tensor("plain", q_heads * a.head_dim + k + v))
    if a.output_bias:
        found.append(Tensor("plain", h))
    if a.qk_norm:
        found.append(Tensor("plain", 2 * a.head_dim))
    return found


def _mla(m: Mla, h: int, tp: int) -> list[Tensor]:
    heads = m.heads / tp
    q_out, kv_a = heads * (m.nope + m.rope), m.kv_lora + m.rope
    if m.q_lora:
        first = [
            Tensor("attention", h * (m.q_lora + kv_a), m.q_lora + kv_a),
            Tensor("attention", m.q_lora * q_out, q_out),
        ]
    else:
        first = [Tensor("attention", h * q_out, q_out), Tensor("attention", h * kv_a, kv_a)]
    found = [
        *first,
        Tensor("attention", m.kv_lora * heads * (m.nope + m.value_dim), heads * (m.nope + m.value_dim)),
        Tensor("attention", heads * m.value_dim * h, h),
        Tensor("plain", (m.q_lora or 0) + m.kv_lora),
        Tensor("absorbed", m.kv_lora * heads * m.nope),
        Tensor("absorbed", m.kv_lora * heads * m.value_dim),
    ]
    if m.gated:
        found.append(Tensor("attention", h * heads * m.value_dim, heads * m.value_dim))
    if m.indexer:
        ix = m.indexer
        found += [
            Tensor("attention", (m.q_lora or h) * ix.heads * ix.dim, ix.heads * ix.dim),
            Tensor("plain", h * ix.dim + h * ix.heads + 2 * ix.dim),
        ]
    return found


def _gated_delta(m: GatedDelta, h: int, tp: int) -> list[Tensor]:
    kd, vd = m.key_heads * m.key_dim / tp, m.value_heads * m.value_dim / tp
    heads = m.value_heads / tp
    return [
        Tensor("attention", h * (2 * kd + 2 * vd), 2 * kd + 2 * vd),
        Tensor("attention", vd * h, h),
        Tensor("plain", h * 2 * heads + (2 * kd + vd) * m.conv + 2 * heads + m.value_dim),
    ]


def _mamba2(m: Mamba2, h: int, tp: int) -> list[Tensor]:
    groups = m.groups if m.groups % tp == 0 else pad(m.groups, tp)
    inner, state, heads = m.heads * m.head_dim / tp, groups * m.state / tp, m.heads / tp
    out = 2 * inner + 2 * state + heads
    return [
        Tensor("attention", h * out, out),
        Tensor("attention", inner * h, h),
        Tensor("plain", (inner + 2 * state) * (m.conv + 1) + 3 * heads + inner),
    ]


def _kda(m: Kda, h: int, tp: int) -> list[Tensor]:
    inner, heads = m.heads * m.head_dim / tp, m.heads / tp
    low_rank = h * m.head_dim + m.head_dim * inner
    gate = h * inner if m.full_rank_gate else low_rank
    return [
        Tensor("attention", 3 * h * inner, 3 * inner),
        Tensor("attention", inner * h, h),
        Tensor("attention", gate + low_rank, 2 * inner),
        Tensor("plain", 3 * inner * m.conv + h * heads + heads + inner + m.head_dim),
    ]


def mixer_tensors(mixer: Mixer | None, h: int, tp: int) -> list[Tensor]:
    """Tensors of a layer's token mixer on one tensor-parallel rank; ``h`` is the hidden size.

    Raises:
        SizingError: for DeepSeek-V4 attention, whose shapes do not determine its tensors.
    """
    match mixer:
        case None:
            return []
        case Attention():
            return _attention(mixer, h, tp)
        case Mla():
            return _mla(mixer, h, tp)
        case GatedDelta():
            return _gated_delta(mixer, h, tp)
        case Mamba2():
            return _mamba2(mixer, h, tp)
        case Kda():
            return _kda(mixer, h, tp)
        case Compressed():
            raise SizingError("DeepSeek-V4 attention weights cannot be counted from its listed shapes")


def _dense(m: Mlp, h: int, tp: int, kind: str = "mlp") -> list[Tensor]:
    width, into = m.intermediate / tp, 2 if m.gated else 1
    found = [Tensor(kind, into * h * width, into * width), Tensor(kind, width * h, h)]
    if m.bias:
        found.append(Tensor("plain", width + h))
    return found


def _moe(m: Moe, h: int, s: Split) -> list[Tensor]:
    inner, into = m.latent or h, 2 if m.gated else 1
    if s.ep:
        count, width = cdiv(m.experts, s.expert_ranks), float(m.intermediate)
    else:
        count, width = m.experts, m.intermediate / s.expert_ranks
    found = [
        Tensor("experts", count * into * inner * width, count * into * width),
        Tensor("experts", count * width * inner, count * inner),
        Tensor("plain", h * m.experts),
    ]
    if m.bias:
        found.append(Tensor("plain", count * (into * width + inner)))
    if m.shared:
        found += _dense(Mlp(m.shared, m.gated), h, 1 if s.shared_copied else s.tp, "shared")
    if m.shared_gate:
        found.append(Tensor("plain", h))
    if m.latent:
        found += [Tensor("shared", h * m.latent, m.latent), Tensor("shared", h * m.latent, h)]
    return found


def expert_elements(m: Moe, h: int, s: Split) -> float:
    """Elements of one layer's routed experts on one rank."""
    return sum(t.elements for t in _moe(m, h, s) if t.kind == "experts")


def layer_tensors(layer: Layer, h: int, s: Split) -> list[Tensor]:
    """Every tensor of one decoder layer on one rank."""
    found = mixer_tensors(layer.mixer, h, s.tp)
    if layer.mlp:
        found += _dense(layer.mlp, h, s.tp)
    if layer.moe:
        found += _moe(layer.moe, h, s)
    found.append(Tensor("plain", layer.norms * h))
    return found

"""Memory of LoRA slots: vLLM allocates every slot at full rank when it starts, beside the weights.

Per linear and slot: rank × (slices × in + out) elements. Column-parallel layers keep the first factor whole and split
the second over tensor-parallel ranks; row-parallel layers the other way round.
Source: vLLM `config/lora.py`, `lora/layers`.
"""

from __future__ import annotations

from headwater.catalog.architecture import Architecture, Attention, Layer
from headwater.sizing.units import GIB, SizingError

ELEMENT_BYTES = 2
"""LoRA factors are kept in the model's 16-bit type."""


def lora_gib(arch: Architecture, *, slots: int, rank: int, tp: int) -> float:
    """GiB per GPU that ``slots`` adapters of ``rank`` take when every linear may be adapted.

    Raises:
        SizingError: for attention other than grouped attention, whose adapters are not modelled.
    """
    elements = sum(n * _layer(layer, arch.hidden, tp) for layer, n in arch.runs)
    return slots * rank * elements * ELEMENT_BYTES / GIB


def _layer(layer: Layer, hidden: int, tp: int) -> float:
    a, total = layer.mixer, 0.0
    if isinstance(a, Attention):
        out = (a.heads * a.head_dim + a.kv_heads * (a.head_dim + a.value_dim)) / tp
        total += 3 * hidden + out + a.heads * a.value_dim / tp + hidden
    elif a is not None:
        raise SizingError("LoRA slots are modelled for grouped attention only; this model attends differently")
    if layer.mlp:
        total += 2 * hidden + 2 * layer.mlp.intermediate / tp + layer.mlp.intermediate / tp + hidden
    if layer.moe:
        width = layer.moe.intermediate / tp
        total += layer.moe.experts * (2 * hidden + 2 * width + width + hidden)
    return total

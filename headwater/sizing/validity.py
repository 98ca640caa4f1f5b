"""Which parallel layouts vLLM accepts for a model.

What must divide what, block-quantised shards, context parallelism.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from headwater.catalog.architecture import Architecture, Attention, Compressed, GatedDelta, Kda, Mamba2, Mla
from headwater.sizing.defaults import table
from headwater.sizing.engine import newest_version as _newest
from headwater.sizing.precision import WeightFormat
from headwater.sizing.result import SizingRequest
from headwater.sizing.shards import Split
from headwater.sizing.units import pad
from headwater.sizing.version import parse_version, since
from headwater.sizing.weights import VOCABULARY_PADDING


def problems(request: SizingRequest, gpus_per_node: int = 8) -> tuple[str, ...]:
    """Every reason vLLM would refuse this layout, in words; empty when it is valid."""
    split = Split(request.tp, request.pp, request.dp, request.ep)
    version = request.vllm_version or _newest()
    return layout_problems(
        request.architecture,
        request.weight_format,
        split,
        request.dcp,
        gpus_per_node=gpus_per_node,
        vllm_version=version,
    )


@lru_cache(maxsize=16384)
def layout_problems(
    arch: Architecture, fmt: WeightFormat, split: Split, dcp: int = 1, *, gpus_per_node: int = 8, vllm_version: str = ""
) -> tuple[str, ...]:
    """As :func:`problems`, for a layout without a request."""
    version = vllm_version or _newest()
    return tuple(
        dict.fromkeys(
            [
                *_ranks(arch, split, gpus_per_node),
                *_heads(arch, split.tp),
                *_widths(arch, split),
                *_blocks(arch, fmt, split, version),
                *_marlin(arch, fmt, split),
                *_context_parallel(arch, split.tp, dcp),
            ]
        )
    )


def _ranks(arch: Architecture, s: Split, gpus_per_node: int) -> Iterator[str]:
    if s.tp > gpus_per_node:
        yield (
            f"tensor parallel {s.tp} exceeds the {gpus_per_node} GPUs of a node: every layer would wait "
            "for the network; "
            "use pipeline or data parallelism across nodes"
        )
    if s.pp > len(arch.layers) > 0:
        yield f"pipeline parallel {s.pp} exceeds the {len(arch.layers)} layers"
    if s.ep and arch.moe is None:
        yield "expert parallelism needs a mixture of experts; this model is dense"
    if s.ep and arch.moe is not None and arch.moe.experts < s.expert_ranks:
        yield f"{arch.moe.experts} experts cannot be spread over {s.expert_ranks} ranks"


def _heads(arch: Architecture, tp: int) -> Iterator[str]:
    for layer, _ in arch.runs:
        match layer.mixer:
            case Attention() as a:
                if a.heads % tp:
                    yield (
                        f"total number of attention heads ({a.heads}) must be divisible by tensor parallel size ({tp})"
                    )
                if a.kv_heads >= tp and a.kv_heads % tp:
                    yield f"{a.kv_heads} KV heads do not split over tensor parallel {tp}"
                if a.kv_heads < tp and tp % a.kv_heads:
                    yield f"{a.kv_heads} KV heads cannot be copied evenly over tensor parallel {tp}"
            case Mla() | Compressed() | Kda() | Mamba2() as m:
                if m.heads % tp:
                    yield (
                        f"total number of attention heads ({m.heads}) must be divisible by tensor parallel size ({tp})"
                    )
            case GatedDelta() as m:
                if m.key_heads % tp or m.value_heads % tp:
                    yield (
                        f"{m.key_heads} key and {m.value_heads} value heads of the linear layers do not split over "
                        f"tensor parallel {tp}"
                    )
            case None:
                pass


def _widths(arch: Architecture, s: Split) -> Iterator[str]:
    rows = pad(arch.vocabulary, VOCABULARY_PADDING)
    if rows % s.tp:
        yield f"vocabulary {arch.vocabulary} (padded to {rows}) does not split over tensor parallel {s.tp}"
    for layer, _ in arch.runs:
        if layer.mlp and layer.mlp.intermediate % s.tp:
            yield f"feed-forward width {layer.mlp.intermediate} does not split over tensor parallel {s.tp}"
        if layer.moe:
            if layer.moe.shared and not s.shared_copied and layer.moe.shared % s.tp:
                yield f"shared-expert width {layer.moe.shared} does not split over tensor parallel {s.tp}"
            if not s.ep and layer.moe.intermediate % s.expert_ranks:
                yield (
                    f"expert width {layer.moe.intermediate} does not split over {s.expert_ranks} ranks; use "
                    "expert parallelism"
                )


def _pieces(arch: Architecture, s: Split) -> Iterator[tuple[str, str, list[float], float]]:
    """Class, name, output pieces and split input of each linear on a rank (0 when its input is not split)."""
    for layer, _ in arch.runs:
        m = layer.mixer
        if isinstance(m, Attention):
            kv = max(1.0, m.kv_heads / s.tp)
            q = m.heads / s.tp * m.head_dim * (2 if m.gated else 1)
            yield "attention", "attention input", [q, kv * m.head_dim, kv * m.value_dim], 0
            yield "attention", "attention output", [], m.heads / s.tp * m.value_dim
        elif isinstance(m, Mla):
            heads = m.heads / s.tp
            yield "attention", "latent query", [heads * (m.nope + m.rope)] if s.tp > 1 else [], 0
            yield "attention", "latent values", [heads * (m.nope + m.value_dim)] if s.tp > 1 else [], 0
            yield "attention", "attention output", [], heads * m.value_dim
        elif isinstance(m, GatedDelta):
            kd, vd = m.key_heads * m.key_dim / s.tp, m.value_heads * m.value_dim / s.tp
            yield "attention", "linear-attention input", [kd, kd, vd, vd], 0
            yield "attention", "linear-attention output", [], vd
        if layer.mlp:
            width = layer.mlp.intermediate / s.tp
            yield "mlp", "feed-forward", [width, width], width
        if layer.moe and layer.moe.shared and not s.shared_copied:
            width = layer.moe.shared / s.tp
            yield "shared", "shared expert", [width, width], width


def _blocks(arch: Architecture, fmt: WeightFormat, s: Split, version: str) -> Iterator[str]:
    block = fmt.block
    if not block:
        return
    for kind, name, outs, into in _pieces(arch, s):
        if not getattr(fmt, kind).name.startswith("fp8-block"):
            continue
        checked = outs if s.tp > 1 else outs[:-1]
        if any(size % block for size in checked):
            yield (
                f"FP8 blocks of {block}: the {name} shards ({', '.join(f'{x:g}' for x in checked)}) are not "
                f"multiples at tensor parallel {s.tp}"
            )
        if into and s.tp > 1 and into % block:
            yield (
                f"FP8 blocks of {block}: the {name} input shard ({into:g}) is not a multiple at tensor parallel {s.tp}"
            )
    moe = arch.moe
    if moe is None or s.ep or not fmt.experts.name.startswith("fp8-block"):
        return
    width = moe.intermediate / s.expert_ranks
    if width % block == 0:
        return
    whole = width.is_integer()
    refined = math.gcd(block, int(width), moe.latent or arch.hidden) if whole else 0
    if not (since(parse_version(version), table()["refined_blocks_from"]) and refined >= 32):
        yield (
            f"FP8 blocks of {block}: an expert's slice ({moe.intermediate}/{s.expert_ranks} = "
            f"{width:g}) is not a multiple; "
            "use expert parallelism or a smaller tensor parallel size"
        )


def _marlin(arch: Architecture, fmt: WeightFormat, s: Split) -> Iterator[str]:
    if not fmt.marlin:
        return
    for _, name, outs, into in _pieces(arch, s):
        if outs and sum(outs) % 64:
            yield (
                f"int4 kernels need multiples of 64: the {name} shard has {sum(outs):g} outputs at tensor "
                f"parallel {s.tp}"
            )
        if into and into % 128:
            yield f"int4 kernels need groups of 128: the {name} shard has {into:g} inputs at tensor parallel {s.tp}"
    if arch.moe and not s.ep and (arch.moe.intermediate / s.expert_ranks) % 64:
        yield (
            "int4 kernels need multiples of 64: an expert's slice has "
            f"{arch.moe.intermediate / s.expert_ranks:g} columns"
        )


def _context_parallel(arch: Architecture, tp: int, dcp: int) -> Iterator[str]:
    if dcp == 1:
        return
    if arch.local_layers:
        yield "decode context parallelism does not work with sliding-window or chunked layers"
    if arch.mla is not None:
        if dcp > tp or tp % dcp:
            yield f"decode context parallel {dcp} must divide tensor parallel {tp}"
        return
    kv = arch.kv_heads
    if kv is None:
        yield "decode context parallelism needs attention layers"
    elif tp <= kv or dcp > tp // kv:
        yield (
            f"decode context parallel {dcp} needs tensor parallel above {kv} KV heads, at most {max(1, tp // kv)} here"
        )
    elif (arch.attention_heads // kv) % dcp:
        yield f"decode context parallel {dcp} does not divide the {arch.attention_heads // kv} query heads of a KV head"

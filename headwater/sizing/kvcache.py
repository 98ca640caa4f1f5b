"""KV cache: bytes per token of each attention kind, pages, the groups vLLM forms, blocks a request needs.

Sources: vLLM `v1/kv_cache_interface.py`, `v1/core/kv_cache_planning.py`, `model_executor/layers/mamba/mamba_utils.py`,
`platforms/interface.py::_align_hybrid_block_size`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from headwater.catalog.architecture import (
    RECURRENT,
    Architecture,
    Attention,
    Compressed,
    GatedDelta,
    Kda,
    Layer,
    Mamba2,
    Mixer,
    Mla,
)
from headwater.sizing.units import SizingError, cdiv, pad
from headwater.sizing.weights import draft_layer, stage_layers

FP8 = ("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla")
ELEMENT_BYTES = {"bfloat16": 2.0, "float16": 2.0, "float32": 4.0, **dict.fromkeys(FP8, 1.0)}


@dataclass(frozen=True, slots=True)
class Cell:
    """KV-cache settings that decide bytes: element type, parallel sizes, block size of the attention backend."""

    dtype: str
    tp: int = 1
    pp: int = 1
    dcp: int = 1
    block_size: int = 16
    model_bytes: int = 2
    prefix_caching: bool = True
    speculative: int = 0
    draft_layers: int = 0


def latent_bytes(m: Mla, dtype: str) -> int:
    """Bytes per token of one latent-attention layer, without its indexer; the same on every rank."""
    if m.sparse and dtype == "nvfp4_ds_mla":
        return 352
    if m.sparse and dtype in FP8:
        return m.kv_lora + m.kv_lora // 128 * 4 + m.rope * 2
    return int((m.kv_lora + m.rope) * ELEMENT_BYTES[dtype])


def indexer_bytes(m: Mla) -> int:
    """Bytes per token of the indexer's own cache: one FP8 key and a 4-byte scale per 128 elements."""
    return m.indexer.dim + 4 * cdiv(m.indexer.dim, 128) if m.indexer else 0


def grouped_bytes(a: Attention, dtype: str, tp: int) -> int:
    """Bytes per token of one grouped-attention layer on one rank; below one head per rank the head is copied."""
    heads, width = max(1, a.kv_heads // tp), a.head_dim + a.value_dim
    if dtype in {"nvfp4", "nvfp4_4over6"}:
        return heads * (width // 2 + width // 16)
    if dtype in {"fp8_per_token_head", "int8_per_token_head"}:
        return heads * (width + 8)
    if dtype == "int4_per_token_head":
        return heads * (width // 2 + 8)
    return int(heads * width * ELEMENT_BYTES[dtype])


def token_bytes(mixer: Mixer, dtype: str, tp: int) -> int:
    """Bytes one token adds in a layer whose cache grows.

    0 for recurrent layers and layers that borrow another's cache.
    """
    if isinstance(mixer, Attention):
        return grouped_bytes(mixer, dtype, tp) if mixer.stores_kv else 0
    if isinstance(mixer, Mla):
        return latent_bytes(mixer, dtype) + indexer_bytes(mixer)
    return 0


def growth_bytes_per_token(arch: Architecture, dtype: str = "bfloat16", tp: int = 1) -> float:
    """Bytes per token of context over all layers whose cache keeps growing (windows and recurrent states excluded)."""
    total = 0.0
    for layer, n in arch.runs:
        m = layer.mixer
        if isinstance(m, Compressed):
            total += n * ((m.state_bytes + m.index_bytes) / m.ratio if m.ratio else 0)
        elif m is not None and not (isinstance(m, Attention) and (m.window or m.chunk)):
            total += n * token_bytes(m, dtype, tp)
    return total


def state_bytes(
    m: GatedDelta | Mamba2 | Kda, tp: int, speculative: int, model_bytes: int, state_dtype: str | None
) -> int:
    """Bytes of one request's constant state in one recurrent layer on one rank.

    Convolution window plus recurrent state.
    """
    taps = m.conv - 1 + speculative
    wide = {"fp32": 4, "bf16": 2, "fp16": 2}[state_dtype] if state_dtype else None
    if isinstance(m, GatedDelta):
        conv = (2 * m.key_heads * m.key_dim + m.value_heads * m.value_dim) // tp * taps * model_bytes
        return conv + m.value_heads // tp * m.value_dim * m.key_dim * (wide or model_bytes)
    if isinstance(m, Mamba2):
        groups = m.groups if m.groups % tp == 0 else pad(m.groups, tp)
        conv = (m.heads * m.head_dim + 2 * groups * m.state) // tp * taps * model_bytes
        return conv + m.heads // tp * m.head_dim * m.state * (wide or model_bytes)
    conv = 3 * m.heads * m.head_dim // tp * taps * model_bytes
    return conv + m.heads // tp * m.head_dim * m.head_dim * (wide or 4)


@dataclass(frozen=True, slots=True)
class Group:
    """One kind of layer in the shared block pool; ``times`` groups of ``size`` layers (the last may be padded).

    ``reach``: tokens kept, None for full context. ``chunked`` windows need no extra block. ``fixed``: blocks per
    request of a recurrent group, None otherwise.
    """

    kind: str
    layers: int
    times: int
    block_size: int
    page_bytes: int
    reach: int | None = None
    chunked: bool = False
    fixed: int | None = None

    def blocks(self, tokens: int, inflight: int, dcp: int) -> int:
        """Blocks one request of ``tokens`` needs in one of these groups."""
        if self.fixed is not None:
            return self.fixed
        if self.reach is None:
            return cdiv(cdiv(tokens, dcp), self.block_size)
        if self.chunked:
            return cdiv(min(self.reach + inflight, tokens), self.block_size)
        return cdiv(min(self.reach - 1 + inflight, tokens), self.block_size) + 1


@dataclass(frozen=True, slots=True)
class KvPlan:
    """How vLLM lays out the cache. ``block_bytes``: bytes of one block on each pipeline stage (0: it stores none).

    ``exact`` is False for layouts reproduced only in size, not in grouping.
    """

    groups: tuple[Group, ...]
    block_size: int
    block_bytes: tuple[int, ...]
    dcp: int
    padding_layers: int = 0
    exact: bool = True
    request_bytes: int = 0

    @property
    def group_count(self) -> int:
        """All groups of the pool."""
        return sum(g.times for g in self.groups)

    @property
    def recurrent(self) -> bool:
        """True when some groups hold constant states."""
        return any(g.fixed is not None for g in self.groups)

    def blocks_per_request(self, tokens: int, inflight: int) -> int:
        """Blocks one request of ``tokens`` holds, all groups together."""
        return sum(g.times * g.blocks(tokens, inflight, self.dcp) for g in self.groups)


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    count: int
    bytes_per_token: int
    reach: int | None = None
    chunked: bool = False
    state: int | None = None


def _kinds(arch: Architecture, cell: Cell) -> list[_Kind]:
    counts: dict[tuple[object, ...], int] = {}
    layers: list[tuple[Layer, int]] = list(arch.runs)
    if cell.draft_layers:
        layers.append((draft_layer(arch), cell.draft_layers))
    for layer, n in layers:
        m = layer.mixer
        if m is None or (isinstance(m, Attention) and not m.stores_kv):
            continue
        if isinstance(m, RECURRENT):
            size = state_bytes(m, cell.tp, cell.speculative, cell.model_bytes, arch.state_dtype)
            key: tuple[object, ...] = ("recurrent", 0, None, False, size)
        elif isinstance(m, Attention):
            name = "sliding" if m.window else "chunked" if m.chunk else "full"
            key = (name, token_bytes(m, cell.dtype, cell.tp), m.window or m.chunk, m.chunk is not None, None)
        elif isinstance(m, Mla):
            key = ("latent", latent_bytes(m, cell.dtype), None, False, None)
        else:
            continue
        counts[key] = counts.get(key, 0) + n
    return [_Kind(str(k[0]), n, k[1], k[2], bool(k[3]), k[4]) for k, n in counts.items()]  # type: ignore[arg-type]


@lru_cache(maxsize=8192)
def plan_kv(arch: Architecture, cell: Cell) -> KvPlan:
    """The block pool of ``arch`` under ``cell``: groups, block size, bytes per block of each stage.

    Raises:
        SizingError: for an unknown cache type, or a model without any cache.
    """
    sparse_only = {"nvfp4_ds_mla"}
    grouped_only = {"nvfp4", "nvfp4_4over6", "fp8_per_token_head", "int8_per_token_head", "int4_per_token_head"}
    if cell.dtype not in {*ELEMENT_BYTES, *sparse_only, *grouped_only}:
        raise SizingError(f"kv_cache_dtype {cell.dtype!r} is not sized; use auto, bfloat16, fp8 or nvfp4")
    if (cell.dtype in sparse_only and not arch.sparse) or (cell.dtype in grouped_only and arch.mla):
        raise SizingError(f"kv_cache_dtype {cell.dtype!r} does not apply to the attention of {arch.name}")
    if any(isinstance(layer.mixer, Compressed) for layer, _ in arch.runs):
        return _compressed(arch, cell)
    kinds = _kinds(arch, cell)
    if not kinds:
        raise SizingError(f"{arch.name} keeps no KV cache; there is nothing to size")
    if len(kinds) == 1 and kinds[0].state is None:
        return _uniform(arch, cell, kinds[0])
    return _hybrid(cell, kinds)


def _uniform(arch: Architecture, cell: Cell, kind: _Kind) -> KvPlan:
    """Every layer alike (an indexer's cache joins its layer): one group, bytes are the sum over the stage's layers."""
    sizes, start, blocks = stage_layers(len(arch.layers), cell.pp), 0, []
    for i, n in enumerate(sizes):
        stage = arch.layers[start : start + n]
        start += n
        total = sum(token_bytes(x.mixer, cell.dtype, cell.tp) for x in stage if x.mixer is not None)
        if i == len(sizes) - 1 and cell.draft_layers:
            extra = draft_layer(arch).mixer
            total += cell.draft_layers * (token_bytes(extra, cell.dtype, cell.tp) if extra else 0)
        blocks.append(total * cell.block_size)
    group = Group(kind.name, kind.count, 1, cell.block_size, max(blocks), kind.reach, kind.chunked)
    return KvPlan((group,), cell.block_size, tuple(blocks), cell.dcp)


def _group_size(counts: list[int]) -> int:
    """Layers in a group: the smallest count, or the largest when the counts are nearly equal."""
    return max(counts) if max(counts) < 1.5 * min(counts) else min(counts)


def _hybrid(cell: Cell, kinds: list[_Kind]) -> KvPlan:
    growing = [k for k in kinds if k.state is None]
    recurrent = [k for k in kinds if k.state is not None]
    bs, sizes = cell.block_size, {}
    if recurrent:
        state = max(k.state or 0 for k in recurrent)
        if growing:
            widest = max(k.bytes_per_token for k in growing)
            align = 128 if any(k.name == "latent" for k in growing) else 16
            bs = max(bs, align * cdiv(state, align * widest))
        page = max(state, max((bs * k.bytes_per_token for k in growing), default=0))
    else:
        page = max(bs * k.bytes_per_token for k in growing)
    for k in growing:
        own = bs * k.bytes_per_token
        sizes[k] = bs * (page // own) if page % own == 0 else bs
    size = _group_size([k.count for k in kinds])
    fixed = (2 if cell.prefix_caching else 1) + cell.speculative
    groups = tuple(
        Group(
            k.name,
            k.count,
            cdiv(k.count, size),
            sizes.get(k, bs),
            page,
            k.reach,
            k.chunked,
            fixed if k.state is not None else None,
        )
        for k in kinds
    )
    per_stage = cdiv(size, cell.pp) * page
    padding = sum(g.times * size - g.layers for g in groups)
    return KvPlan(groups, bs, (per_stage,) * cell.pp, cell.dcp, padding)


def _compressed(arch: Architecture, cell: Cell) -> KvPlan:
    """DeepSeek-V4: right in bytes per token, not in vLLM's packed grouping.

    Windows and compressor states per request.
    """
    bs = 256
    mixers = [x.mixer for x in arch.layers if isinstance(x.mixer, Compressed)]
    growth = sum(
        math.ceil(bs / m.ratio) * pad(m.state_bytes, 8) + math.ceil(bs / m.ratio) * m.index_bytes
        for m in mixers
        if m.ratio
    )
    window = sum((m.window + 64) * m.state_bytes for m in mixers)
    block = cdiv(round(growth), cell.pp)
    group = Group("compressed", len(mixers), 1, bs, block)
    return KvPlan(
        (group, Group("window", len(mixers), 1, bs, block, None, False, cdiv(window, growth))),
        bs,
        (block,) * cell.pp,
        cell.dcp,
        exact=False,
    )

"""Activation peak: the larger of a full forward pass and the sampler pass, as vLLM profiles them at start-up.

Formulas are allocation sizes read in vLLM and checked on measured H100 start-ups of 0.11 to 0.19; see docs/sizing.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headwater.catalog.architecture import Architecture
from headwater.sizing.defaults import table
from headwater.sizing.precision import WeightFormat
from headwater.sizing.shards import Split
from headwater.sizing.units import GIB, Band, pad
from headwater.sizing.version import Version, since, within

MLA_PREFILL_ROWS = 65536
"""vLLM gathers at most this many latent rows at once in MLA prefill."""
SPARSE_LOGITS = 512 << 20
"""``VLLM_SPARSE_INDEXER_MAX_LOGITS_MB`` of the sparse indexer, bytes."""
SPARSE_LONG = 262144
"""Context above which the sparse prefill workspace factor drops from 5 to 2."""


@dataclass(frozen=True, slots=True)
class Load:
    """What decides the peak: tokens of a batch, sequences, context, block size, KV type, streaming multiprocessors."""

    mbt: int
    seqs: int
    max_model_len: int
    block_size: int
    kv_fp8: bool
    n_sm: int
    sm: int
    q: float | None = None


@dataclass(frozen=True, slots=True)
class Activation:
    """Peak of each pipeline stage, GiB per GPU, and its parts for the last stage (bytes)."""

    stages: tuple[Band, ...]
    sampler: float
    forward: float
    workspace: float
    tower: float
    generation: str


def sampler_row(version: Version) -> dict[str, Any]:
    """How this version profiles its sampler."""
    rows: list[dict[str, Any]] = table()["samplers"]
    return next(row for row in rows if within(version, row["from"], row["to"]))


def _sampler(arch: Architecture, fmt: WeightFormat, load: Load, row: dict[str, Any], q: float | None) -> float:
    rows, b = min(load.seqs, load.mbt), fmt.dtype_bytes
    if row["kind"] == "sorting":
        return float(row["factor"] * rows * arch.vocabulary * 4 + load.mbt * arch.hidden * 2 + row["offset"] * GIB)
    value = (row["q"] if q is None else q) + (0.5 if b == 4 else 0.0)
    scratch = min(load.n_sm, rows) if row["scratch"] else 0
    logits = (value * rows + scratch) * arch.vocabulary * 4
    return float(logits + load.mbt * arch.hidden * b + 2 * rows * arch.hidden * b + row["offset"] * GIB)


def expert_workspace(
    arch: Architecture, fmt: WeightFormat, mbt: int, split: Split, *, version: Version, sm: int
) -> tuple[float, float]:
    """Expected and highest bytes of the fused-experts workspace, allocated once and kept."""
    moe = arch.moe
    if moe is None:
        return 0.0, 0.0
    inner = moe.latent or arch.hidden
    width = moe.intermediate if split.ep else moe.intermediate / split.expert_ranks
    rows = mbt * moe.active
    triton = rows * (max(width, inner) + max(2 * width, inner)) * 2
    if fmt.experts.name == "mxfp4":
        return 0.0, triton / 2 if since(version, table()["mxfp4_workspace_unknown_from"]) else 0.0
    if fmt.experts.name == "nvfp4" and sm >= 100:
        return mbt * arch.hidden * 2.0, triton
    if fmt.block and since(version, table()["deep_gemm_from"]):
        return rows * (max(width, inner) + 2 * max(2 * width, inner)), triton
    return triton, triton


def _sparse(arch: Architecture, load: Load, tp: int) -> float:
    """Workspace of DeepSeek sparse attention; unlike everything else it grows with the context."""
    mla = arch.mla
    if mla is None or not mla.sparse:
        return 0.0
    rows = (5 if load.max_model_len <= SPARSE_LONG else 2) * load.max_model_len
    gather = rows * 132 * 8.0
    if load.kv_fp8:
        heads = max(1, mla.heads // tp)
        padded = 64 if heads <= 64 else 128
        return max(gather, rows * 1152.0) + load.mbt * padded * (576 + 512) * 2 + load.mbt * heads * 512 * 2
    return gather


def activation(
    arch: Architecture, fmt: WeightFormat, split: Split, load: Load, *, version: Version, margin: float
) -> Activation:
    """Peak memory of the profiling run on every pipeline stage."""
    row = sampler_row(version)
    tokens = load.mbt * arch.hidden * fmt.dtype_bytes
    widths = [layer.mlp.intermediate / split.tp for layer, _ in arch.runs if layer.mlp]
    widths += [layer.moe.shared / (1 if split.shared_copied else split.tp) for layer, _ in arch.runs if layer.moe]
    wide = max(widths, default=0.0)
    forward = load.mbt * (3 * wide + 4 * arch.hidden) * fmt.dtype_bytes if wide else 0.0
    mla, latent, logits = arch.mla, 0.0, 0.0
    if mla is not None and mla.sparse:
        logits = float(SPARSE_LOGITS)
    elif mla is not None:
        gathered = min(max(8 * load.max_model_len, 4 * load.seqs * load.block_size), MLA_PREFILL_ROWS)
        latent = gathered * mla.heads / split.tp * (mla.nope + mla.value_dim) * 2
    forward += latent + logits
    experts, experts_high = expert_workspace(arch, fmt, load.mbt, split, version=version, sm=load.sm)
    if row["kind"] == "sorting":  # allocated and freed inside the forward pass by those releases
        forward, experts, experts_high = forward + experts, 0.0, 0.0
    sparse = _sparse(arch, load, split.tp)
    workspace, workspace_high = max(experts, sparse), max(experts_high, sparse)
    tower = 0.0
    if arch.tower:
        items = max(1, load.mbt // max(1, arch.tower.image_tokens))
        tower = tokens + items * 3 * arch.tower.image_pixels * 2
    q_low, q_high = (load.q, load.q) if load.q is not None else (row.get("low"), row.get("high"))
    middle = _sampler(arch, fmt, load, row, load.q)
    bounds = (_sampler(arch, fmt, load, row, q_low), _sampler(arch, fmt, load, row, q_high))
    received = 2 * tokens if split.pp > 1 else 0.0

    def last(sampler: float, work: float) -> float:
        return (work + max(sampler + tower, forward) + received) / GIB

    stages = []
    for i in range(split.pp):
        if i == split.pp - 1:
            expected = last(middle, workspace)
            low, high = last(bounds[0], workspace), last(bounds[1], workspace_high)
        else:
            passing = 3 * tokens if i == 0 else 2 * tokens
            expected = (workspace + max(forward, tower if i == 0 else 0.0) + passing) / GIB
            low, high = expected, expected + (workspace_high - workspace) / GIB
        stages.append(Band(max(0.0, low - margin), expected, high + margin))
    return Activation(tuple(stages), middle, forward, workspace, tower, str(row["kind"]))


def sampler_state(arch: Architecture, seqs: int, version: Version) -> Band:
    """Persistent sampler state of model runner V2 on the last stage: output counts and prompt mask, GiB."""
    starts = table()["state_from"]
    if not since(version, starts["dense"]):
        return Band(0.0, 0.0, 0.0)
    size = 4.125 * seqs * pad(arch.vocabulary, 1) / GIB
    sure = since(version, starts["all"]) or arch.moe is None
    return Band(size if sure else 0.0, size, size)

"""The memory equation: what vLLM will report at start-up for one engine on one kind of GPU."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from headwater.catalog.architecture import Architecture
from headwater.catalog.calibration import Calibration
from headwater.sizing import defaults
from headwater.sizing.activation import Load, activation, sampler_row, sampler_state
from headwater.sizing.addends import Addend
from headwater.sizing.kvcache import FP8, Cell, plan_kv
from headwater.sizing.overhead import context_reserve, graphs, non_torch
from headwater.sizing.result import Sizing, SizingRequest, Stage
from headwater.sizing.shards import Split
from headwater.sizing.units import GIB, Band, SizingError
from headwater.sizing.version import Version, parse_version, since
from headwater.sizing.weights import stage_weights

__all__ = ["Addend", "Sizing", "SizingRequest", "Stage", "calibration_for", "newest_version", "size"]

HEADROOM_GIB = 1.0
"""Free memory outside the budget below which a start-up is at risk: runtime growth of NCCL and attention workspaces."""


def _margins(measured: bool, cal: Calibration | None, r: SizingRequest) -> dict[str, float]:
    m = defaults.table()["margins"]
    if r.architecture.published_parameters is not None:
        return dict(m["published"])
    if cal is not None:
        same = cal.model is not None and cal.model == r.weight_format.repository
        return dict(m["from_log_same_model" if same else "from_log_other_model"])
    return dict(m["calibrated" if measured else "other"])


def _check(r: SizingRequest) -> None:
    for name in ("tp", "pp", "dp", "dcp"):
        if getattr(r, name) < 1:
            raise SizingError(f"{name} = {getattr(r, name)}: parallel sizes start at 1")
    if r.gpu_memory_utilization is not None and not 0 < r.gpu_memory_utilization <= 1:
        raise SizingError(
            f"gpu_memory_utilization = {r.gpu_memory_utilization}: a share of the GPU's memory, above 0 and at most 1"
        )
    for name in ("max_model_len", "max_num_batched_tokens", "max_num_seqs", "block_size"):
        value = getattr(r, name)
        if value is not None and value < 1:
            raise SizingError(f"{name} = {value}: must be at least 1")
    if r.pp > len(r.architecture.layers) > 0:
        raise SizingError(f"pp = {r.pp}: {r.architecture.name} has only {len(r.architecture.layers)} layers")


def size(request: SizingRequest, calibration: Calibration | None = None) -> Sizing:
    """Size one engine.

    Raises:
        SizingError: when the request is contradictory or the model's shapes are not known.
    """
    _check(request)
    if request.vllm_version is not None:
        return _size(request, calibration, request.vllm_version)
    newest = newest_version()
    main = _size(request, calibration, newest)
    others = [_size(request, calibration, v) for v in defaults.table()["generations"]]
    low = min(s.kv.low for s in (main, *others))
    high = max(s.kv.high for s in (main, *others))
    note = (
        f"vLLM version not stated: expected values are for {newest}, the band covers every way known versions profile"
    )
    return replace(
        main,
        kv=Band(low, main.kv.expected, high),
        num_blocks_low=min(s.num_blocks_low for s in (main, *others)),
        num_blocks_high=max(s.num_blocks_high for s in (main, *others)),
        calibrated=False,
        notes=(note, *main.notes),
    )


def newest_version() -> str:
    """The newest vLLM among the engines we deploy: assumed when a request states none."""
    from headwater.catalog.releases import engines

    return max((e.vllm for e in engines().values()), key=parse_version)


def calibration_for(request: SizingRequest, calibrations: Iterable[Calibration]) -> Calibration | None:
    """The first entry of the request's version, GPU and layout; None without one or without a stated version."""
    if request.vllm_version is None:
        return None
    version = parse_version(request.vllm_version)
    return next((c for c in calibrations if _matches(c, request, version)), None)


def _matches(cal: Calibration, r: SizingRequest, version: Version) -> bool:
    same_minor = parse_version(cal.version)[:2] == version[:2]
    return same_minor and cal.gpu == r.gpu.key and (cal.tp, cal.pp, cal.dp, cal.ep) == (r.tp, r.pp, r.dp, r.ep)


def _size(r: SizingRequest, cal: Calibration | None, version_text: str) -> Sizing:
    arch, fmt, gpu = r.architecture, r.weight_format, r.gpu
    version = parse_version(version_text)
    notes = [*fmt.notes]
    if cal is not None and not _matches(cal, r, version):
        notes.append(f"calibration {cal.name} is for another version, GPU or layout and was not used")
        cal = None
    split = Split(r.tp, r.pp, r.dp if arch.moe else 1, r.ep)
    visible = r.visible_gib or gpu.visible_gib
    util = r.gpu_memory_utilization or defaults.utilization(version)
    budget = math.ceil(visible * GIB * util) / GIB
    max_len = r.max_model_len or arch.max_position
    mbt, seqs = defaults.batch_defaults(gpu.name, visible, gpu.small_batch, version, max_len)
    seqs = r.max_num_seqs or seqs
    mbt = min(r.max_num_batched_tokens or mbt, seqs * max_len)
    seqs = min(seqs, mbt)
    dtype = defaults.kv_dtype(r.kv_cache_dtype, arch, fmt, version, gpu)
    block = r.block_size or (cal.block_size if cal and cal.block_size else defaults.block_size(arch, dtype, gpu))
    table = defaults.table()
    newer = since(version, table["hybrid_prefix_caching_from"])
    caching = r.prefix_caching if r.prefix_caching is not None else (newer or not arch.recurrent)
    cell = Cell(dtype, r.tp, r.pp, r.dcp, block, fmt.dtype_bytes, caching, r.speculative_tokens, r.draft_layers)
    plan = plan_kv(arch, cell)
    copied = not since(version, table["tower_split_from"])
    weights = stage_weights(
        arch, fmt, split, defaults.mxfp4_kernel(gpu, version), tower_copied=copied, draft_layers=r.draft_layers
    )

    outside = non_torch(version, gpu, split)
    sampler = sampler_row(version)
    pinned = sampler["kind"] == "sorting" or sampler["low"] == sampler["high"]
    tower_known = arch.tower is None or sampler["kind"] == "counting"
    calibrated = (
        outside.measured and pinned and tower_known and plan.exact and not (arch.recurrent or arch.sparse)
    ) or cal is not None
    margins = _margins(calibrated, cal, r)
    q = cal.sampler_q if cal else None
    load = Load(mbt, seqs, max_len, plan.block_size, dtype in FP8, gpu.n_sm, gpu.sm, q)
    act = activation(arch, fmt, split, load, version=version, margin=_activation_margin(margins, arch, r, calibrated))
    state = sampler_state(arch, seqs, version)
    subtracted, captured = graphs(arch, version, r.enforce_eager)
    outside_band = outside.band
    if cal is not None:
        outside_band = _measured(cal.non_torch, outside_band, 0.03)
        if not r.enforce_eager:
            captured = _measured(cal.graph_actual, captured, 0.05)
            subtracted = _measured(cal.graph_estimate, subtracted, 0.15) if subtracted.high else subtracted

    # Hopper installations may take the Marlin kernel for mxfp4, which pads more.
    marlin = not calibrated and fmt.experts.name == "mxfp4"
    padded = (
        stage_weights(arch, fmt, split, "marlin", tower_copied=copied, draft_layers=r.draft_layers) if marlin else None
    )
    stages = []
    tower = table["margins"]["tower"] if arch.tower else 0.0
    sorting_tower = table["margins"]["sorting_tower_below"] if not tower_known else 0.0
    lost = max(0.0, visible - (gpu.visible_low_gib or visible)) * util if r.visible_gib is None else 0.0
    for i, w in enumerate(weights):
        last, gib = i == len(weights) - 1, w.total / GIB
        band = Band.around(gib, margins["weights"] + margins["weights_share"] * gib)
        if padded is not None:
            band = Band(band.low, gib, max(band.high, padded[i].total / GIB * (1 + margins["weights_share"])))
        if i == 0 and tower:
            band = band.widened(tower / 2, tower / 2)
        active = (
            act.stages[i].widened(tower / 2 + (sorting_tower if last else 0.0), tower / 2) if tower else act.stages[i]
        )
        kept = state if last else Band(0.0, 0.0, 0.0)
        others = [band, active, kept, outside_band, subtracted]
        kv = Band(
            budget - lost - sum(b.high for b in others),
            budget - sum(b.expected for b in others),
            budget - sum(b.low for b in others),
        )
        if r.kv_cache_memory_bytes is not None:
            fixed = r.kv_cache_memory_bytes / GIB
            kv = Band(fixed, fixed, fixed)
        stages.append(Stage(w, band, active, kept, kv, plan.block_bytes[i]))
    storing = [s for s in stages if s.block_bytes]
    limiting = min(
        range(len(stages)),
        key=lambda i: stages[i].kv.expected / stages[i].block_bytes if stages[i].block_bytes else math.inf,
    )
    kv = stages[limiting].kv
    sizing = Sizing(
        request=r,
        version=version_text,
        visible_gib=visible,
        utilization=util,
        budget_gib=budget,
        max_model_len=max_len,
        max_num_batched_tokens=mbt,
        max_num_seqs=seqs,
        kv_cache_dtype=dtype,
        stages=tuple(stages),
        limiting=limiting,
        non_torch=outside_band,
        non_torch_status="measured" if cal else outside.status,
        cuda_graph=subtracted,
        cuda_graph_capture=captured,
        context_reserve_gib=(cal.context_reserve if cal and cal.context_reserve else context_reserve(arch, split)),
        kv=Band(max(0.0, kv.low), max(0.0, kv.expected), max(0.0, kv.high)),
        shortfall_gib=max(0.0, -kv.expected),
        plan=plan,
        inflight=_inflight(mbt, r.pp, version),
        num_blocks=min(s.blocks(s.kv.expected) for s in storing),
        num_blocks_low=min(s.blocks(s.kv.low) for s in storing),
        num_blocks_high=min(s.blocks(s.kv.high) for s in storing),
        calibrated=calibrated,
        notes=(),
        activation_parts=act,
    )
    return replace(sizing, notes=tuple(notes + _notes(sizing)))


def _measured(value: float | None, prior: Band, margin: float) -> Band:
    return prior if value is None else Band.around(value, margin)


def _inflight(mbt: int, pp: int, version: Version) -> int:
    """Tokens in flight charged to sliding windows.

    One batch, or one per pipeline stage and one more with async scheduling.
    """
    return mbt * (pp + 1) if since(version, defaults.table()["inflight_batches_from"]) else mbt


def _activation_margin(margins: dict[str, float], arch: Architecture, r: SizingRequest, calibrated: bool) -> float:
    m = defaults.table()["margins"]
    extra = m["pipeline"] if r.pp > 1 and not calibrated else 0.0
    if not calibrated:
        extra += m["sparse_activation"] if arch.sparse else 0.0
        extra += m["recurrent_activation"] if arch.recurrent else 0.0
    return margins["activation"] + extra


def _notes(s: Sizing) -> list[str]:
    r, arch, notes = s.request, s.request.architecture, []
    if not s.calibrated:
        notes.append(
            f"not calibrated: non-torch memory is {s.non_torch_status}; one start-up log through "
            "`headwater calibrate` narrows the band"
        )
    if r.kv_cache_dtype == "auto" and r.weight_format.kv_cache:
        notes.append(f"the checkpoint names its KV type: auto means {r.weight_format.kv_cache}")
    if r.pp > 1:
        notes.append(
            f"stage {s.limiting} limits the cache; vLLM's INFO line shows stage 0 ({s.stages[0].kv.expected:.2f} GiB)"
        )
    if arch.tower and not arch.tower.exact:
        notes.append("the vision tower's size is approximate")
    if not s.plan.exact:
        notes.append("cache layout reproduced in bytes per token only, not in vLLM's packed groups")
    if s.plan.padding_layers:
        notes.append(f"{s.plan.padding_layers} padding layers waste cache memory in the block pool")
    if s.max_model_len > arch.max_position:
        notes.append(f"max_model_len {s.max_model_len} is above the model's {arch.max_position}: needs rope scaling")
    notes += s.refusals
    if 0 <= s.headroom_gib < HEADROOM_GIB or s.headroom_gib < 0:
        notes.append(f"only {s.headroom_gib:.2f} GiB stay outside the budget at run time; lower gpu_memory_utilization")
    if s.tight:
        notes.append(
            "tight: fits as expected, not at the lower bound; lower max_num_seqs or max_model_len, use "
            "an FP8 KV cache or one more TP step"
        )
    return notes

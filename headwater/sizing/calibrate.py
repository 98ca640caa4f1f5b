"""From one start-up log: predicted against measured, and a calibration entry for the next sizing of that cell."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

from headwater.catalog.architecture import Architecture
from headwater.catalog.calibration import Calibration
from headwater.catalog.gpus import Gpu, UnknownGpuError, find_gpu, gpu_from_size, load_gpus
from headwater.catalog.models import UnknownModelError, find_model
from headwater.sizing import defaults
from headwater.sizing.activation import sampler_row
from headwater.sizing.engine import Sizing, SizingRequest, size
from headwater.sizing.precision import WeightFormat, format_of_name
from headwater.sizing.startup_log import RankLines, StartupLog
from headwater.sizing.units import GIB, Band, SizingError
from headwater.sizing.version import parse_version, since

ROUNDING = 0.03
"""Printed GiB are rounded to 0.01 each; sums may be off by a few of them."""
GPU_TOLERANCE = 0.35
"""Most GiB by which a log's total memory may differ from the catalogue's for the GPU to be recognised."""
OTHER_BOARD = 0.05
"""Share by which a log's total memory may differ from that of the GPU named with it."""
PINNED = 0.02
"""GiB by which the sampler pass must exceed the forward pass before its size can be read off the peak."""


@dataclass(frozen=True)
class Row:
    """One term: predicted band and measured value. Unit GiB unless ``unit`` says otherwise."""

    name: str
    predicted: Band
    measured: float
    unit: str = "GiB"

    @property
    def inside(self) -> bool:
        """The measurement lies in the predicted band, printed rounding allowed for."""
        slack = 0.005 if self.unit == "GiB" else 0.5
        return self.predicted.low - slack <= self.measured <= self.predicted.high + slack


@dataclass(frozen=True)
class Lesson:
    """What a log taught: the comparison, the entry, remarks, and the sizing before and after."""

    rows: tuple[Row, ...]
    entry: Calibration | None
    notes: tuple[str, ...]
    before: Sizing
    after: Sizing | None


def known_gpu(log: StartupLog, name: str | None) -> tuple[Gpu, str | None]:
    """The GPU of the log: as named, else the listed one whose visible memory is nearest to the log's total.

    Raises:
        SizingError: when no GPU is named and the total is missing or matches none.
    """
    total = log.fullest.total
    if name:
        try:
            return _agreeing(find_gpu(name), total), None
        except UnknownGpuError:
            if total is None:
                raise
            stand_in = gpu_from_size(f"{name} {round(total)}GB").model_copy(update={"name": name, "visible_gib": total})
            return stand_in, f"GPU {name!r} is not in the catalogue: its memory is the log's, its SM count assumed"
    if total is None:
        raise SizingError("the log does not say which GPU: pass --gpu (its total memory is in the DEBUG lines)")
    gpus = load_gpus()
    near = sorted(
        (abs(g.visible_gib - total), key) for key, g in gpus.items() if abs(g.visible_gib - total) <= GPU_TOLERANCE
    )
    if not near:
        raise SizingError(f"no GPU of the catalogue shows {total:.2f} GiB: pass --gpu")
    others = [key for _, key in near[1:]]
    note = (
        f"taken for {near[0][1]} by its {total:.2f} GiB; {', '.join(others)} would fit too: say which with --gpu"
        if others
        else None
    )
    return gpus[near[0][1]], note


def _agreeing(gpu: Gpu, total: float | None) -> Gpu:
    if total is not None and abs(total / gpu.visible_gib - 1) > OTHER_BOARD:
        raise SizingError(
            f"the log's GPU has {total:.2f} GiB, {gpu.name} shows {gpu.visible_gib:.2f}: not the GPU of this log"
        )
    return gpu


def _architecture_of(name: str) -> Architecture | None:
    try:
        return find_model(name).architecture
    except UnknownModelError:
        return None


def request_of(
    log: StartupLog, gpu: Gpu, model: str | None = None, known: tuple[Architecture, WeightFormat] | None = None
) -> SizingRequest:
    """The request a log answers.

    Raises:
        SizingError: when the log contradicts ``model``, or says neither the model nor the version.
    """
    if log.version is None:
        raise SizingError("the log does not say the vLLM version: paste it from 'Initializing a V1 LLM engine' on")
    name = model or log.model
    if known is not None:
        arch, fmt = known
    elif name is None:
        raise SizingError("the log does not say the model: pass --model")
    else:
        try:
            found, fmt = format_of_name(name, log.quantization)
        except UnknownModelError as error:
            raise SizingError(str(error)) from error
        arch = found.architecture
        stated = _architecture_of(log.model) if model and log.model else None
        if stated is not None and stated != arch:
            raise SizingError(
                f"the log is about {log.model}, not {model}: calibrating one with the other would mislead"
            )
    if log.dtype and "32" in log.dtype and "float" in log.dtype and fmt.method is None:
        fmt = replace(format_of_name(name, "float32")[1], repository=fmt.repository) if name and known is None else fmt
    best = log.fullest
    return SizingRequest(
        arch,
        fmt,
        gpu,
        visible_gib=best.total,
        tp=log.tp or 1,
        pp=log.pp or 1,
        dp=log.dp or 1,
        ep=bool(log.ep) and arch.moe is not None,
        gpu_memory_utilization=best.utilization or log.utilization,
        max_model_len=log.max_model_len or log.concurrency_tokens,
        kv_cache_dtype=log.kv_cache_dtype or "auto",
        max_num_batched_tokens=log.max_num_batched_tokens,
        max_num_seqs=log.max_num_seqs,
        vllm_version=log.version,
        enforce_eager=bool(log.enforce_eager),
        prefix_caching=log.prefix_caching,
    )


def _graph_estimate(lines: RankLines, s: Sizing) -> float | None:
    """Memory subtracted for CUDA graphs, when this version subtracts it."""
    if not since(parse_version(s.version), defaults.table()["graphs_subtracted_from"]) or s.request.enforce_eager:
        return None
    if lines.graph_estimate is not None:
        return lines.graph_estimate
    if lines.includes_estimate and lines.activation is not None:
        return max(0.0, lines.activation - s.activation.expected)
    return None


def _stage_index(log: StartupLog, lines: RankLines) -> int:
    return next((rank[0] for rank in sorted(log.ranks) if log.ranks[rank] is lines), 0)


def _transient(lines: RankLines, estimate: float | None) -> float | None:
    """Activation without the graph estimate that newer logs fold into it."""
    if lines.activation is None:
        return None
    return lines.activation - (estimate or 0.0) if lines.includes_estimate else lines.activation


def _outside(lines: RankLines, state: float) -> float | None:
    """Non-torch memory: as printed, or consumed minus weights minus persistent state."""
    if lines.non_torch is not None:
        return lines.non_torch
    if lines.consumed is not None and lines.weights is not None:
        return lines.consumed - lines.weights - state
    return None


def _sampler_q(s: Sizing, transient: float | None) -> float | None:
    """Rows of vocabulary floats per sequence, when the sampler pass decides the peak of the last stage."""
    row = sampler_row(parse_version(s.version))
    act, arch, r = s.activation_parts, s.request.architecture, s.request
    if transient is None or row["kind"] != "counting" or s.limiting != len(s.stages) - 1:
        return None
    b = r.weight_format.dtype_bytes
    tokens = s.max_num_batched_tokens * arch.hidden * b
    peak = transient * GIB - act.workspace - (2 * tokens if r.pp > 1 else 0)
    if peak < act.forward + PINNED * GIB:
        return None
    logits = peak - act.tower - tokens - 2 * s.max_num_seqs * arch.hidden * b - row["offset"] * GIB
    scratch = min(r.gpu.n_sm, s.max_num_seqs) if row["scratch"] else 0
    q = (logits / (arch.vocabulary * 4) - scratch) / s.max_num_seqs - (0.5 if b == 4 else 0.0)
    return round(q, 3) if 0.3 <= q <= 12 else None


def _rows(log: StartupLog, lines: RankLines, s: Sizing, estimate: float | None) -> list[Row]:
    stage = (
        s.stages[min(_stage_index(log, lines), len(s.stages) - 1)]
        if len(log.ranks) > 1 or s.request.pp == 1
        else s.stage
    )
    pairs: list[tuple[str, Band, float | None]] = [
        ("weights", stage.weights_gib, lines.weights),
        ("activation", stage.activation, _transient(lines, estimate)),
        ("non-torch", s.non_torch, _outside(lines, stage.state.expected)),
        ("CUDA graph estimate", s.cuda_graph, estimate),
        ("CUDA graphs at capture", s.cuda_graph_capture, lines.graph_actual),
        ("KV cache", stage.kv, lines.kv),
    ]
    rows = [Row(name, band, value) for name, band, value in pairs if value is not None]
    blocks = Band(s.num_blocks_low, s.num_blocks, s.num_blocks_high)
    counts: list[tuple[str, Band, float | None, str]] = [("blocks", blocks, log.blocks, "blocks")]
    if log.tokens is not None:
        tokens = Band(s.tokens_of(s.num_blocks_low), s.tokens_of(s.num_blocks), s.tokens_of(s.num_blocks_high))
        counts.append(("tokens printed", tokens, log.tokens, "tokens"))
    if log.max_concurrency is not None and log.concurrency_tokens:
        at = log.concurrency_tokens
        band = Band(s.concurrency_at(at, "low"), s.concurrency_at(at), s.concurrency_at(at, "high"))
        counts.append(("concurrency", band, log.max_concurrency, f"x of {at:,}"))
    return rows + [Row(name, band, float(value), unit) for name, band, value, unit in counts if value is not None]


def _consistency(lines: RankLines, s: Sizing, estimate: float | None) -> str | None:
    """The log's own sum: budget minus its terms must be its KV cache."""
    if lines.kv is None or lines.activation is None:
        return None
    if lines.consumed is not None:
        used = lines.consumed + lines.activation
    elif lines.weights is not None and lines.non_torch is not None:
        used = lines.weights + lines.activation + lines.non_torch + (estimate or 0.0)
    else:
        return None
    budget = lines.budget if lines.budget is not None else s.budget_gib
    off = budget - used - lines.kv
    if abs(off) <= ROUNDING:
        return None
    return f"the log's own terms leave {budget - used:.2f} GiB for KV, it says {lines.kv:.2f} ({off:+.2f} unexplained)"


def learn(
    log: StartupLog,
    gpu_name: str | None = None,
    model: str | None = None,
    known: tuple[Architecture, WeightFormat] | None = None,
    *,
    today: dt.date | None = None,
) -> Lesson:
    """Compare a log with the prediction, and make the entry that corrects the next one.

    Args:
        log: the parsed log.
        gpu_name: GPU, when the log's memory is ambiguous or missing.
        model: model, when the log does not say it.
        known: shapes and format from a config.json, for a model outside the catalogue.
        today: date written into the entry.

    Raises:
        SizingError: when the log says too little, or contradicts what was passed.
    """
    if log.empty:
        raise SizingError("no line of a vLLM start-up log was recognised")
    gpu, about = known_gpu(log, gpu_name)
    request = request_of(log, gpu, model, known)
    before, lines = size(request), log.fullest
    estimate = _graph_estimate(lines, before)
    notes = [n for n in (about, log.refusal, _consistency(lines, before, estimate)) if n]
    stage = before.stages[min(_stage_index(log, lines), len(before.stages) - 1)]
    outside, transient = _outside(lines, stage.state.expected), _transient(lines, estimate)
    rows = _rows(log, lines, before, estimate)
    if lines.includes_estimate and lines.graph_estimate is None:
        notes.append("the log folds the graph estimate into its activation; split by the predicted activation")
    if outside is None and transient is None and estimate is None:
        notes.append(
            "no calibration entry: the log has neither activation nor non-torch memory (set VLLM_LOGGING_LEVEL=DEBUG)"
        )
        return Lesson(tuple(rows), None, tuple(notes), before, None)
    reserve = lines.total - lines.free if lines.total is not None and lines.free is not None else None
    entry = Calibration(
        version=log.version or "",
        gpu=gpu.key,
        visible_gib=before.visible_gib,
        tp=request.tp,
        pp=request.pp,
        dp=request.dp,
        ep=request.ep,
        kernel=request.weight_format.method or "none",
        model=request.weight_format.repository or log.model or model,
        non_torch=round(outside, 3) if outside is not None else None,
        sampler_q=_sampler_q(before, transient),
        graph_estimate=round(estimate, 3) if estimate is not None else None,
        graph_actual=lines.graph_actual,
        context_reserve=round(reserve, 3) if reserve is not None else None,
        block_size=log.block_size,
        digest=log.digest,
        as_of=today.isoformat() if today else "",
        source="start-up log",
    )
    return Lesson(tuple(rows), entry, tuple(notes), before, size(request, entry))

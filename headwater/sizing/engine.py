"""The memory equation: what vLLM will report at start-up for one engine on one kind of GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from headwater.catalog.architecture import Architecture
from headwater.catalog.calibration import Calibration
from headwater.catalog.gpus import Gpu
from headwater.sizing import defaults
from headwater.sizing.activation import Activation, Load, activation, sampler_row, sampler_state
from headwater.sizing.addends import Addend, describe
from headwater.sizing.kvcache import FP8, Cell, KvPlan, plan_kv
from headwater.sizing.overhead import context_reserve, graphs, non_torch
from headwater.sizing.precision import WeightFormat
from headwater.sizing.units import GIB, Band, SizingError
from headwater.sizing.version import Version, parse_version, since, within
from headwater.sizing.shards import Split
from headwater.sizing.weights import StageWeights, stage_weights

__all__ = ["Addend", "Sizing", "SizingRequest", "Stage", "size"]

GENERATIONS = ("0.8.5", "0.12.0", "0.19.0")
"""One release of each way to profile, tried when the version is not stated."""
HEADROOM_GIB = 1.0
"""Free memory outside the budget below which a start-up is at risk: runtime growth of NCCL and attention workspaces."""


@dataclass(frozen=True)
class SizingRequest:
    """One engine (one data-parallel replica group) to size. None means vLLM's own default for that version and GPU.

    Attributes:
        visible_gib: overrides the catalogue's visible memory of the GPU.
        dp, ep: data-parallel size and expert parallelism; without ``ep`` experts are still split over dp ranks.
        dcp: decode context parallel size.
        speculative_tokens: draft tokens per step; ``draft_layers`` multi-token-prediction layers are loaded for them.
        vllm_version: None widens the band over every known way to profile.
        kv_cache_memory_bytes: replaces the whole calculation, as vLLM's flag does.
    """

    architecture: Architecture
    weight_format: WeightFormat
    gpu: Gpu
    visible_gib: float | None = None
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: bool = False
    dcp: int = 1
    gpu_memory_utilization: float | None = None
    max_model_len: int | None = None
    kv_cache_dtype: str = "auto"
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    vllm_version: str | None = None
    enforce_eager: bool = False
    block_size: int | None = None
    prefix_caching: bool | None = None
    speculative_tokens: int = 0
    draft_layers: int = 0
    kv_cache_memory_bytes: int | None = None


@dataclass(frozen=True)
class Stage:
    """One pipeline stage: bytes by class, activation, what is left for the cache (GiB per GPU), bytes of one block."""

    weights: StageWeights
    weights_gib: Band
    activation: Band
    state: Band
    kv: Band
    block_bytes: int

    def blocks(self, gib: float) -> int:
        """Whole blocks in ``gib``."""
        return max(0, math.floor(gib * GIB / self.block_bytes))


@dataclass(frozen=True)
class Sizing:
    """The answer. GiB are per GPU of the limiting pipeline stage; ``stages`` has all of them.

    ``kv`` never goes below zero; ``shortfall_gib`` says how much is missing then, so that
    weights + activation + state + non_torch + cuda_graph + kv = budget + shortfall (expected values).
    """

    request: SizingRequest
    version: str
    visible_gib: float
    utilization: float
    budget_gib: float
    max_model_len: int
    max_num_batched_tokens: int
    max_num_seqs: int
    kv_cache_dtype: str
    stages: tuple[Stage, ...]
    limiting: int
    non_torch: Band
    non_torch_status: str
    cuda_graph: Band
    cuda_graph_capture: Band
    context_reserve_gib: float
    kv: Band
    shortfall_gib: float
    plan: KvPlan
    inflight: int
    num_blocks: int
    num_blocks_low: int
    num_blocks_high: int
    calibrated: bool
    notes: tuple[str, ...]
    activation_parts: Activation

    @property
    def stage(self) -> Stage:
        """The pipeline stage that limits the cache."""
        return self.stages[self.limiting]

    @property
    def weights(self) -> Band:
        """Weights of the limiting stage, GiB."""
        return self.stage.weights_gib

    @property
    def activation(self) -> Band:
        """Transient activation peak of the limiting stage, GiB."""
        return self.stage.activation

    @property
    def state(self) -> Band:
        """Persistent sampler state of the limiting stage, GiB."""
        return self.stage.state

    @property
    def block_size(self) -> int:
        """Tokens per block."""
        return self.plan.block_size

    @property
    def bytes_per_block(self) -> int:
        """Bytes of one block on the limiting stage, per GPU."""
        return self.stage.block_bytes

    @cached_property
    def blocks_per_request(self) -> int:
        """Blocks one request of ``max_model_len`` tokens holds."""
        return self.plan.blocks_per_request(self.max_model_len, self.inflight)

    @property
    def max_concurrency(self) -> float:
        """Requests of ``max_model_len`` held at once, expected; what vLLM prints with two decimals."""
        return self.num_blocks / self.blocks_per_request

    def concurrency_at(self, tokens_per_request: int, bound: str = "expected") -> float:
        """Requests of this length (prompt and answer) held at once, at the ``low``, ``expected`` or ``high`` bound."""
        blocks = {"low": self.num_blocks_low, "expected": self.num_blocks, "high": self.num_blocks_high}[bound]
        return blocks / self.plan.blocks_per_request(tokens_per_request, self.inflight)

    def tokens_of(self, blocks: int) -> int:
        """The printed token count for so many blocks, in this version's definition."""
        if since(parse_version(self.version), defaults.table()["printed_tokens_follow_context_from"]):
            return int(blocks / self.blocks_per_request * self.max_model_len)
        return blocks // self.plan.group_count * self.plan.block_size * self.plan.dcp

    @property
    def kv_tokens_printed(self) -> int:
        """What this vLLM version prints as "GPU KV cache size"."""
        return self.tokens_of(self.num_blocks)

    @property
    def kv_tokens(self) -> int:
        """Tokens of context held at once by requests of ``max_model_len``; equals the printed number for one kind of layer."""
        if self.plan.group_count == 1:
            return self.num_blocks * self.plan.block_size * self.plan.dcp
        return int(self.max_concurrency * self.max_model_len)

    def _starts(self, blocks: int, kv_gib: float) -> bool:
        return kv_gib > 0 and blocks - 1 >= self.blocks_per_request and not self.refusals

    @cached_property
    def refusals(self) -> tuple[str, ...]:
        """Reasons vLLM would not start whatever the cache size: memory held by others at start, states for every sequence."""
        found = []
        free = self.visible_gib - self.context_reserve_gib
        if free < self.budget_gib:
            found.append(
                f"free memory at start ({free:.2f} GiB) is below the budget ({self.budget_gib:.2f} GiB): lower gpu_memory_utilization to "
                f"{math.floor(free / self.visible_gib * 100) / 100:.2f}"
            )
        if self.plan.recurrent and not self.request.enforce_eager and self.max_num_seqs > self.num_blocks_low:
            found.append(
                f"max_num_seqs {self.max_num_seqs} is above the {self.num_blocks_low} cache blocks: vLLM needs a recurrent state for every "
                f"sequence it captures; set max_num_seqs to at most {max(1, self.num_blocks_low * 9 // 10)}"
            )
        return tuple(found)

    @cached_property
    def fits(self) -> bool:
        """Starts with one request of ``max_model_len`` even at the lower bound."""
        return self._starts(self.num_blocks_low, self.kv.low)

    @cached_property
    def tight(self) -> bool:
        """Starts at the expected value, but not at the lower bound."""
        return not self.fits and self._starts(self.num_blocks, self.kv.expected)

    def fits_at(self, context: int, concurrency: float, bound: str = "low") -> bool:
        """Whether ``concurrency`` requests of ``context`` tokens are held at once at the given bound, and vLLM starts."""
        if self.refusals or not (self.fits if bound == "low" else self.fits or self.tight):
            return False
        return self.concurrency_at(context, bound) >= concurrency

    @property
    def headroom_gib(self) -> float:
        """Free memory outside the budget after start-up, GiB: context, NCCL and graphs beyond their estimate taken out."""
        beyond = max(0.0, self.cuda_graph_capture.expected - self.cuda_graph.expected)
        return self.visible_gib - self.budget_gib - self.context_reserve_gib - beyond

    @cached_property
    def addends(self) -> tuple[Addend, ...]:
        """Every term with its formula in words, the numbers put in, its band and its source."""
        return describe(self)


def _margins(measured: bool, cal: Calibration | None, arch: Architecture, r: SizingRequest) -> dict[str, float]:
    m = defaults.table()["margins"]
    if arch.published_parameters is not None and arch.uncountable is None and any(x.mixer is None for x in arch.layers):
        return dict(m["published"])
    if cal is not None:
        same = cal.model is not None and cal.model in {r.weight_format.repository, arch.name}
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
    others = [_size(request, calibration, v) for v in GENERATIONS]
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
    caching = (
        r.prefix_caching
        if r.prefix_caching is not None
        else (not arch.recurrent or since(version, table["inflight_batches_from"]))
    )
    cell = Cell(dtype, r.tp, r.pp, r.dcp, block, fmt.dtype_bytes, caching, r.speculative_tokens, r.draft_layers)
    plan = plan_kv(arch, cell)
    copied = not since(version, table["tower_split_from"])
    weights = stage_weights(
        arch, fmt, split, defaults.mxfp4_kernel(gpu, version), tower_copied=copied, draft_layers=r.draft_layers
    )

    outside = non_torch(version, gpu, split)
    sampler = sampler_row(version)
    tower_known = arch.tower is None or sampler["kind"] == "counting"
    calibrated = (
        outside.measured and within(version, "0.10", "0.20") and tower_known and plan.exact
    ) or cal is not None
    margins = _margins(calibrated, cal, arch, r)
    q = cal.sampler_q if cal else None
    load = Load(mbt, seqs, max_len, plan.block_size, dtype in FP8, gpu.n_sm, gpu.sm, q)
    act = activation(arch, fmt, split, load, version, _activation_margin(margins, arch, r, calibrated))
    state = sampler_state(arch, seqs, version)
    subtracted, captured = graphs(arch, version, r.enforce_eager)
    outside_band = outside.band
    if cal is not None:
        outside_band = _measured(cal.non_torch, outside_band, 0.03)
        if not r.enforce_eager:
            captured = _measured(cal.graph_actual, captured, 0.05)
            subtracted = _measured(cal.graph_estimate, subtracted, 0.15) if subtracted.high else subtracted

    stages = []
    tower = table["margins"]["tower"] if arch.tower else 0.0
    sorting_tower = table["margins"]["sorting_tower_below"] if not tower_known else 0.0
    lost = max(0.0, visible - (gpu.visible_low_gib or visible)) * util if r.visible_gib is None else 0.0
    for i, w in enumerate(weights):
        last, gib = i == len(weights) - 1, w.total / GIB
        band = Band.around(gib, margins["weights"] + margins["weights_share"] * gib)
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
        request=r, version=version_text, visible_gib=visible, utilization=util, budget_gib=budget, max_model_len=max_len,
        max_num_batched_tokens=mbt, max_num_seqs=seqs, kv_cache_dtype=dtype, stages=tuple(stages), limiting=limiting,
        non_torch=outside_band, non_torch_status="measured" if cal else outside.status, cuda_graph=subtracted,
        cuda_graph_capture=captured, context_reserve_gib=(cal.context_reserve if cal and cal.context_reserve else context_reserve(arch, split)),
        kv=Band(max(0.0, kv.low), max(0.0, kv.expected), max(0.0, kv.high)), shortfall_gib=max(0.0, -kv.expected), plan=plan,
        inflight=_inflight(mbt, r.pp, version), num_blocks=min(s.blocks(s.kv.expected) for s in storing),
        num_blocks_low=min(s.blocks(s.kv.low) for s in storing), num_blocks_high=min(s.blocks(s.kv.high) for s in storing),
        calibrated=calibrated, notes=(), activation_parts=act,
    )  # fmt: skip
    return replace(sizing, notes=tuple(notes + _notes(sizing)))


def _measured(value: float | None, prior: Band, margin: float) -> Band:
    return prior if value is None else Band.around(value, margin)


def _inflight(mbt: int, pp: int, version: Version) -> int:
    """Tokens in flight charged to sliding windows: one batch, or one per pipeline stage and one more with async scheduling."""
    return mbt * (pp + 1) if since(version, defaults.table()["inflight_batches_from"]) else mbt


def _activation_margin(margins: dict[str, float], arch: Architecture, r: SizingRequest, calibrated: bool) -> float:
    m = defaults.table()["margins"]
    extra = m["pipeline"] if r.pp > 1 and not calibrated else 0.0
    return margins["activation"] + extra + (m["sparse_activation"] if arch.sparse and not calibrated else 0.0)


def _notes(s: Sizing) -> list[str]:
    r, arch, notes = s.request, s.request.architecture, []
    if not s.calibrated:
        notes.append(
            f"not calibrated: non-torch memory is {s.non_torch_status}; one start-up log through `headwater calibrate` narrows the band"
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
            "tight: fits as expected, not at the lower bound; lower max_num_seqs or max_model_len, use an FP8 KV cache or one more TP step"
        )
    return notes

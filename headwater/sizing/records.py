"""Requests and answers as plain dictionaries: the JSON lines of `headwater size`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwater.catalog.architecture import Architecture
from headwater.catalog.calibration import Calibration
from headwater.catalog.gpus import Gpu, UnknownGpuError, find_gpu, gpu_from_size
from headwater.catalog.models import UnknownModelError
from headwater.sizing.defaults import table
from headwater.sizing.engine import Sizing, SizingRequest, calibration_for, size
from headwater.sizing.from_config import architecture_from_config
from headwater.sizing.precision import WeightFormat, format_of_name
from headwater.sizing.units import SizingError
from headwater.sizing.validity import problems
from headwater.sizing.version import parse_version, since

Record = dict[str, Any]
KEYS = (
    "model",
    "config",
    "quantization",
    "gpu",
    "gpu_mem_gib",
    "num_gpus",
    "tp",
    "pp",
    "dp",
    "enable_expert_parallel",
    "gpu_memory_utilization",
    "max_model_len",
    "kv_cache_dtype",
    "max_num_batched_tokens",
    "max_num_seqs",
    "vllm_version",
    "enforce_eager",
    "block_size",
    "prefix_caching",
    "dcp",
    "speculative_tokens",
)
"""Keys of a request; null or absent means vLLM's own default."""
LARGEST = 10**9
"""Largest whole number of a request: contexts, batches and sequences stay far below."""
LARGEST_REAL = 100_000
"""Most GiB a GPU could show."""
LIMITS = {"tp": 1024, "pp": 1024, "dp": 4096, "dcp": 1024, "num_gpus": 65536, "speculative_tokens": 64}
"""Largest parallel sizes that make sense; beyond them a request is a slip of the keyboard."""
CARRIED = ("id", "source", "notes", "measured_per_gpu")
"""Keys of the profile records that ask for nothing."""


def _whole(record: Record, key: str, default: int | None = None) -> int | None:
    value = record.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise SizingError(f"{key} = {value!r}: expected a whole number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise SizingError(f"{key} = {str(value)[:40]!r}: expected a whole number") from None
    least = 0 if key == "speculative_tokens" else 1
    if not number.is_integer() or number < least:
        raise SizingError(f"{key} = {value!r}: expected a whole number of at least {least}")
    if number > LIMITS.get(key, LARGEST):
        raise SizingError(f"{key} = {value!r}: expected at most {LIMITS.get(key, LARGEST):,}")
    return int(number)


def _word(record: Record, key: str) -> str | None:
    """A text value; empty means absent. Numbers are read as people type versions and sizes."""
    value = record.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise SizingError(f"{key} = {value!r}: expected text")
    return str(value).strip() or None


def _real(record: Record, key: str) -> float | None:
    value = record.get(key)
    if value is None:
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise SizingError(f"{key} = {value!r}: expected a number") from None
    if not math.isfinite(number) or number <= 0:
        raise SizingError(f"{key} = {value!r}: expected a number above 0")
    if number > LARGEST_REAL:
        raise SizingError(f"{key} = {value!r}: expected at most {LARGEST_REAL:,}")
    return number


def _flag(record: Record, key: str) -> bool | None:
    value = record.get(key)
    if value is None or isinstance(value, bool):
        return value
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if str(value).strip().lower() in words:
        return words[str(value).strip().lower()]
    raise SizingError(f"{key} = {value!r}: expected true or false")


def _gpu(record: Record, memory: float | None) -> tuple[Gpu, tuple[str, ...]]:
    name = _word(record, "gpu") or ""
    try:
        if name:
            return find_gpu(name), ()
        raise UnknownGpuError("gpu is missing: name one (H100, H200, ...) or give gpu_mem_gib")
    except UnknownGpuError:
        if memory is not None:
            stand_in = gpu_from_size("80GB").model_copy(update={"name": name or "unnamed GPU", "visible_gib": memory})
            return stand_in, (f"GPU {name!r} is not in the catalogue: its memory is as given, its SM count assumed",)
        if not name:
            raise
        stand_in = gpu_from_size(name)
        return stand_in, (f"GPU {name!r} is not in the catalogue: {stand_in.visible_gib:.2f} GiB visible is a guess",)


def _model(record: Record, config: Path | None) -> tuple[Architecture, WeightFormat]:
    path = config if config is not None else record.get("config")
    quantization = _word(record, "quantization")
    if path is not None and not isinstance(path, str | Path | dict):
        raise SizingError(f"config = {path!r}: expected the path of a config.json")
    if path is not None:
        plain = {"auto", "bfloat16", "float16", "float32", "none", "", "compressed-tensors", "modelopt"}
        word = str(quantization or "").strip().lower()
        return architecture_from_config(path, record.get("model"), None if word in plain else word)
    name = record.get("model")
    if not name or not isinstance(name, str):
        raise SizingError(
            "model is missing: a catalogue key, a repository id, or `config`, the path of its config.json"
        )
    model, fmt = format_of_name(name, quantization)
    return model.architecture, fmt


def request_from(record: Record, config: Path | None = None) -> tuple[SizingRequest, tuple[str, ...]]:
    """The request of one record, and notes about what was assumed.

    Raises:
        SizingError: naming the key, its value and what is expected.
    """
    notes: list[str] = []
    unknown = sorted(set(record) - set(KEYS) - set(CARRIED))
    if unknown:
        notes.append("ignored unknown keys: " + ", ".join(unknown))
    architecture, fmt = _model(record, config)
    memory = _real(record, "gpu_mem_gib")
    gpu, about = _gpu(record, memory)
    notes += about
    tp, pp, dp = (_whole(record, k, 1) or 1 for k in ("tp", "pp", "dp"))
    count = _whole(record, "num_gpus")
    if count is not None and count < tp * pp:
        raise SizingError(f"num_gpus = {count} is below tp × pp = {tp * pp}")
    if count is not None and count > tp * pp * dp:
        notes.append(f"{count} GPUs stated, the layout uses {tp * pp * dp}")
    version = _word(record, "vllm_version")
    request = SizingRequest(
        architecture,
        fmt,
        gpu,
        visible_gib=memory,
        tp=tp,
        pp=pp,
        dp=dp,
        ep=bool(_flag(record, "enable_expert_parallel")) and architecture.moe is not None,
        dcp=_whole(record, "dcp", 1) or 1,
        gpu_memory_utilization=_real(record, "gpu_memory_utilization"),
        max_model_len=_whole(record, "max_model_len"),
        kv_cache_dtype=(_word(record, "kv_cache_dtype") or "auto").lower(),
        max_num_batched_tokens=_whole(record, "max_num_batched_tokens"),
        max_num_seqs=_whole(record, "max_num_seqs"),
        vllm_version=version,
        enforce_eager=bool(_flag(record, "enforce_eager")),
        block_size=_whole(record, "block_size"),
        prefix_caching=_flag(record, "prefix_caching"),
        speculative_tokens=_whole(record, "speculative_tokens", 0) or 0,
    )
    return request, tuple(notes)


def answer_of(s: Sizing, notes: tuple[str, ...] = ()) -> Record:
    """The answer as one JSON object. GiB are per GPU; with pipeline stages the band of ``kv_gib`` spans them.

    ``activation_gib`` and ``non_torch_gib`` are what the log of that vLLM version prints (or its "consumed" minus
    weights); ``activation_transient_gib``, ``persistent_state_gib`` and ``cuda_graph_subtracted_gib`` are their parts.
    """
    blocked = problems(s.request, gpus_per_node=max(8, s.request.tp))
    found = dict.fromkeys([*notes, *s.notes, *(f"vLLM refuses this layout: {p}" for p in blocked)])
    # A band over the stages: the engine's cache is that of the fullest GPU, the log line that of the first.
    low = min(x.kv.low for x in s.stages) if len(s.stages) > 1 else s.kv.low
    high = max(x.kv.high for x in s.stages) if len(s.stages) > 1 else s.kv.high
    # Newer logs print "consumed" (so non-torch holds the sampler's state) and activation with the graph estimate.
    folded = since(parse_version(s.version), table()["consumed_line_from"])
    answer: Record = {
        "weights_gib": s.weights.expected,
        "activation_gib": s.activation.expected + (s.cuda_graph.expected if folded else 0.0),
        "activation_transient_gib": s.activation.expected,
        "persistent_state_gib": s.state.expected,
        "non_torch_gib": s.non_torch.expected + (s.state.expected if folded else 0.0),
        "cuda_graph_gib": s.cuda_graph_capture.expected,
        "cuda_graph_subtracted_gib": s.cuda_graph.expected,
        "budget_gib": s.budget_gib,
        "kv_gib": s.kv.expected,
        "kv_gib_low": max(0.0, min(low, s.kv.low)),
        "kv_gib_high": max(high, s.kv.high),
        "shortfall_gib": s.shortfall_gib,
    }
    answer = {k: round(v, 4) for k, v in answer.items()}
    answer |= {
        "kv_tokens": s.kv_tokens,
        "kv_tokens_printed": s.kv_tokens_printed,
        "kv_blocks": s.num_blocks,
        "block_size": s.block_size,
        "max_concurrency": round(s.max_concurrency, 4),
        "max_model_len": s.max_model_len,
        "vllm_version": s.version,
        "fits": s.fits and not blocked,
        "tight": s.tight and not blocked,
        "calibrated": s.calibrated,
        "notes": list(found),
    }
    if len(s.stages) > 1:
        answer["stages"] = [
            {
                "weights_gib": round(x.weights_gib.expected, 4),
                "activation_gib": round(x.activation.expected, 4),
                "kv_gib": round(max(0.0, x.kv.expected), 4),
            }
            for x in s.stages
        ]
    return answer


def size_record(record: Record, config: Path | None = None, calibrations: Sequence[Calibration] = ()) -> Record:
    """Answer one record; a request that cannot be answered gives ``{"error": ...}``. ``id`` is carried over."""
    carried: Record = {k: record[k] for k in ("id", "model") if k in record}
    try:
        request, notes = request_from(record, config)
        return {**carried, **answer_of(size(request, calibration_for(request, calibrations)), notes)}
    except (SizingError, UnknownModelError, UnknownGpuError) as error:
        return {**carried, "error": str(error)}
    except Exception as error:  # one strange request must not end the stream: the others still get their lines
        return {
            **carried,
            "error": f"this request could not be sized ({type(error).__name__}: {error}); please report it",
        }

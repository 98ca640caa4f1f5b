"""Reading vLLM's start-up log: every format from the V0 engines to 0.33, with or without prefixes, wrapped or coloured.

A log of several ranks gives one :class:`RankLines` for each rank; lines without a rank belong to the engine.
"""

from __future__ import annotations

import ast
import bisect
import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

Rank = tuple[int, int, int]
"""(pipeline, tensor, data) rank."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_SHIPPER = re.compile(r"^(?:\S+ (?:stdout|stderr) [FP] |\[?\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\]? ?)")
_PROCESS = re.compile(
    r"^\(?((?:Vllm)?Worker|EngineCore|APIServer|Engine|ApiServer|RayWorker\w*)([\w=: -]*?)\s*(?:pid=\d+[^)]*)?\)\s?"
)
_LEVEL = re.compile(r"^(?:INFO|DEBUG|WARNING|ERROR|CRITICAL)\s+(?:\d\d-\d\d )?[\d:.,]+ (?:\[[^\]]*\]\s?)?")
_WORD = re.compile(r"(?:INFO|DEBUG|WARNING|ERROR|CRITICAL)\b")
WIDEST_TERMINAL = 400
"""Characters; longer lines were not cut by a terminal."""
LEAST_WRAPPED = 3
"""Lines of exactly the greatest length that make a cut at a terminal's width certain enough."""
_N = r"([-+]?\d[\d.]*)"
_GIB = r"\s*(?:GiB|GB)"


@dataclass
class RankLines:
    """What one rank printed; GiB unless said otherwise, None when the line is missing.

    Attributes:
        activation: peak activation as printed; ``includes_estimate`` when it contains the CUDA-graph estimate.
        consumed: weights and non-torch memory together, of the newer format.
    """

    weights: float | None = None
    activation: float | None = None
    non_torch: float | None = None
    consumed: float | None = None
    non_kv: float | None = None
    graph_estimate: float | None = None
    graph_actual: float | None = None
    kv: float | None = None
    free: float | None = None
    total: float | None = None
    utilization: float | None = None
    budget: float | None = None
    includes_estimate: bool = False


@dataclass
class StartupLog:
    """Everything a start-up log says. ``max_concurrency`` is for ``concurrency_tokens`` tokens a request."""

    digest: str
    version: str | None = None
    model: str | None = None
    dtype: str | None = None
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: bool | None = None
    max_model_len: int | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    utilization: float | None = None
    enforce_eager: bool | None = None
    prefix_caching: bool | None = None
    block_size: int | None = None
    runner: str | None = None
    backend: str | None = None
    checkpoint: float | None = None
    tokens: int | None = None
    blocks: int | None = None
    concurrency_tokens: int | None = None
    max_concurrency: float | None = None
    padding_layers: int | None = None
    partition: tuple[int, ...] | None = None
    refusal: str | None = None
    ranks: dict[Rank, RankLines] = field(default_factory=dict)

    @property
    def fullest(self) -> RankLines:
        """The rank with the least cache, else the one with the most weights: the one that limits the engine."""
        lines = [self.ranks[k] for k in sorted(self.ranks)]
        if not lines:
            return RankLines()
        with_kv = [x for x in lines if x.kv is not None]
        if with_kv:
            return min(with_kv, key=lambda x: x.kv if x.kv is not None else 0.0)
        return max(lines, key=lambda x: x.weights or 0.0)

    @property
    def empty(self) -> bool:
        """True when no line was recognised."""
        return not self.ranks and self.version is None and self.tokens is None and self.refusal is None


def _rank(tag: str) -> Rank | None:
    found = {k: re.search(rf"(?:^|[_ -]){k}[_=]?(\d+)", tag) for k in ("PP", "TP", "DP")}
    if not any(found.values()):
        return None
    pp, tp, dp = (int(m[1]) if (m := found[k]) else 0 for k in ("PP", "TP", "DP"))
    return pp, tp, dp


def _unwrapped(lines: list[str]) -> list[str]:
    """Lines that a terminal cut at its width, joined again: the cut may go through a word or a number."""
    width = max(map(len, lines), default=0)
    if width > WIDEST_TERMINAL or sum(len(line) == width for line in lines) < LEAST_WRAPPED:
        return lines
    joined: list[str] = []
    cut = False
    for line in lines:
        starts = any(p.match(line) for p in (_SHIPPER, _PROCESS, _LEVEL)) or _WORD.match(line)
        if cut and not starts:
            joined[-1] += line
        else:
            joined.append(line)
        cut = len(line) == width
    return joined


def _unfold(text: str) -> tuple[str, list[int], list[Rank]]:
    """The log as one line without prefixes; offsets at which the speaking rank changes."""
    parts: list[str] = []
    offsets: list[int] = [0]
    ranks: list[Rank] = [(0, 0, 0)]
    position = 0
    for raw in _unwrapped(_ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n").split("\n")):
        line = raw.strip()
        if not line:
            continue
        speaker: Rank | None = None
        for _ in range(4):
            before = line
            if shipper := _SHIPPER.match(line):
                line = line[shipper.end() :]
            if process := _PROCESS.match(line):
                speaker = _rank(process[2]) or (0, 0, 0)
                line = line[process.end() :]
            if level := _LEVEL.match(line):
                speaker = speaker or (0, 0, 0)
                line = line[level.end() :]
            if line == before:
                break
        if speaker is not None and speaker != ranks[-1]:
            offsets.append(position)
            ranks.append(speaker)
        parts.append(line)
        position += len(line) + 1
    return " ".join(parts) + " ", offsets, ranks


_WEIGHTS = (
    rf"Model loading took {_N}{_GIB}",
    rf"Loading model weights took {_N}{_GIB}",
    rf"model weights take {_N}{_GIB}",
)
_PER_RANK: tuple[tuple[str, str], ...] = (
    *(("weights", p) for p in _WEIGHTS),
    ("weights", rf"weights memory: {_N}{_GIB}"),
    ("weights", rf"Actual usage is {_N}{_GIB} for weight"),
    ("activation", rf"{_N}{_GIB} for peak activation"),
    ("activation", rf"PyTorch activation peak memory takes {_N}{_GIB}"),
    ("activation", rf"torch peak memory increase: {_N}{_GIB}"),
    ("non_torch", rf"non_torch_memory takes {_N}{_GIB}"),
    ("non_torch", rf"non-torch forward increase memory: {_N}{_GIB}"),
    ("non_torch", rf"{_N}{_GIB} for non-torch memory"),
    ("consumed", rf"total consumed \(from mem_get_info\): {_N}{_GIB}"),
    ("consumed", rf"Actual usage is {_N}{_GIB} for consumed memory"),
    ("non_kv", rf"Total non KV cache memory: {_N}{_GIB}"),
    ("graph_estimate", rf"Estimated CUDA graph memory: {_N}{_GIB}"),
    ("graph_estimate", rf"CUDA graph pool memory: [-\d.]+{_GIB} \(actual\), {_N}{_GIB} \(estimated\)"),
    ("graph_actual", rf"Graph capturing finished in [\d.]+ secs?, took {_N}{_GIB}"),
    ("graph_actual", rf"{_N}{_GIB} for CUDAGraph memory"),
    ("graph_actual", rf"CUDA graph pool memory: {_N}{_GIB} \(actual\)"),
    ("kv", rf"Available KV cache memory: {_N}{_GIB}"),
    ("kv", rf"the rest of the memory reserved for KV Cache is {_N}{_GIB}"),
    ("kv", rf"Current kv cache memory in use is {_N}{_GIB}"),
    ("free", rf"Free memory on device(?: \S+)? \({_N}/[\d.]+{_GIB}\) on startup"),
    ("total", rf"Free memory on device(?: \S+)? \([\d.]+/{_N}{_GIB}\) on startup"),
    ("free", rf"free_memory={_N}{_GIB}"),
    ("total", rf"total_memory={_N}{_GIB}"),
    ("total", rf"total_gpu_memory \({_N}{_GIB}\)"),
    ("utilization", rf"Desired GPU memory utilization is \({_N},"),
    ("utilization", rf"x gpu_memory_utilization \({_N}\)"),
    ("budget", rf"Desired GPU memory utilization is \([\d.]+, {_N}{_GIB}\)"),
    ("budget", rf"worker requested memory: {_N}{_GIB}"),
)


def _field(text: str, name: str) -> str | None:
    found = re.search(rf"\b{name}=('[^']*'|\"[^\"]*\"|[^,\s)}}]+)", text)
    return found[1].strip("'\"") if found else None


def _integer(text: str | None) -> int | None:
    cleaned = (text or "").replace(",", "")
    return int(cleaned) if re.fullmatch(r"-?\d+", cleaned) else None


def _first(text: str, *patterns: str) -> str | None:
    for pattern in patterns:
        if found := re.search(pattern, text):
            return found[1]
    return None


def _flag(text: str | None) -> bool | None:
    return {"True": True, "False": False}.get(text or "")


def _non_default(text: str) -> dict[str, Any]:
    """The dictionary after ``non-default args:``; empty when it is missing or cut off."""
    found = re.search(r"non-default args: (\{.*?\})(?: |$)(?!')", text)
    if not found:
        return {}
    start, depth = found.start(1), 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            try:
                value = ast.literal_eval(text[start : i + 1])
            except (ValueError, SyntaxError):
                return {}
            return value if isinstance(value, dict) else {}
    return {}


def parse_log(text: str) -> StartupLog:
    """All that a pasted log says; unknown lines are passed over."""
    flat, offsets, ranks = _unfold(text)
    log = StartupLog(digest=hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest())
    for name, pattern in _PER_RANK:
        for found in re.finditer(pattern.replace(" ", r"\s+"), flat):
            rank = ranks[bisect.bisect_right(offsets, found.start()) - 1]
            lines = log.ranks.setdefault(rank, RankLines())
            if getattr(lines, name) is None or name == "kv":
                if name == "kv" and lines.kv is not None and "in use" in found[0]:
                    continue
                setattr(lines, name, float(found[1].rstrip(".")))
    _configuration(log, flat)
    _results(log, flat)
    _share(log.ranks)
    for lines in log.ranks.values():
        _derive(log, lines, flat)
    return log


def _share(ranks: dict[Rank, RankLines]) -> None:
    """What only one rank printed holds for the others: the GPU for all, the terms within a pipeline stage."""
    everywhere = ("total", "utilization", "budget")
    within_stage = ("weights", "activation", "non_torch", "consumed", "graph_estimate", "graph_actual", "free")
    for rank, lines in ranks.items():
        for name in (*everywhere, *within_stage):
            if getattr(lines, name) is None:
                near = [ranks[k] for k in sorted(ranks) if name in everywhere or k[0] == rank[0]]
                setattr(lines, name, next((v for x in near if (v := getattr(x, name)) is not None), None))


def _configuration(log: StartupLog, flat: str) -> None:
    start = re.search(r"Initializing (?:a|an) (?:V\d )?LLM engine \(v?([^)]+)\) with config: ", flat)
    log.version = _first(
        flat,
        r"LLM engine \(v?([^)\s]+)",
        r"vLLM (?:API server |server )?version v?(\d[\w.+-]*)",
        r"\bversion[:=]? v?(0\.\d+\.\d+\S*)",
    )
    config = flat[start.end() : start.end() + 6000] if start else ""
    args = _non_default(flat)

    def value(name: str, *aliases: str) -> str | None:
        for key in (name, *aliases):
            if args.get(key) is not None:
                return str(args[key])
        return next((v for key in (name, *aliases) if (v := _field(config, key)) is not None), None)

    log.model = value("model", "model_tag")
    log.dtype, log.quantization, log.kv_cache_dtype = value("dtype"), value("quantization"), value("kv_cache_dtype")
    for name in ("dtype", "quantization", "kv_cache_dtype"):
        if getattr(log, name) in {"None", "auto"}:
            setattr(log, name, None)
    log.tp, log.pp = _integer(value("tensor_parallel_size")), _integer(value("pipeline_parallel_size"))
    log.dp, log.ep = _integer(value("data_parallel_size")), _flag(value("enable_expert_parallel"))
    log.max_num_seqs = _integer(value("max_num_seqs") or _first(flat, r"Defaulting max_num_seqs to (\d+)"))
    log.max_num_batched_tokens = _integer(
        _first(flat, r"Chunked prefill is enabled with max_num_batched_tokens=(\d+)")
        or value("max_num_batched_tokens")
        or _first(flat, r"Defaulting max_num_batched_tokens to (\d+)")
    )
    log.max_model_len = _integer(_first(flat, r"Using max model len (\d+)") or value("max_seq_len", "max_model_len"))
    utilization = args.get("gpu_memory_utilization")
    log.utilization = float(utilization) if isinstance(utilization, int | float) else None
    log.enforce_eager = _flag(value("enforce_eager"))
    log.prefix_caching = _flag(value("enable_prefix_caching"))


def _results(log: StartupLog, flat: str) -> None:
    log.tokens = _integer(
        _first(flat, r"GPU (?:\+ host )?KV cache size: ([\d,]+) tokens", r"KV cache size: ([\d,]+) tokens")
    )
    log.blocks = _integer(
        _first(flat, r"num_gpu_blocks is: ([\d,]+)", r"# GPU blocks: ([\d,]+)", r"num_gpu_blocks[=:] ?([\d,]+)")
    )
    found = re.search(r"[Mm]aximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x", flat)
    if found:
        log.concurrency_tokens, log.max_concurrency = _integer(found[1]), float(found[2])
    log.block_size = _integer(
        _first(
            flat,
            r"Setting attention block size to (\d+) tokens",
            r"Setting kv cache block size to (\d+)",
            r"\bblock_size['\"]?[=:] ?(\d+)",
        )
    )
    log.padding_layers = _integer(_first(flat, r"Add (\d+) padding layers"))
    log.checkpoint = float(v) if (v := _first(flat, rf"Checkpoint size: {_N}{_GIB}")) else None
    log.backend = _first(flat, r"Using (\w+) attention backend", r"Using (\w+) backend on V1 engine")
    log.runner = "v1" if re.search(r"using the V1 model runner instead", flat) else None
    stages = re.search(r"Hidden layers were unevenly partitioned: \[([\d, ]+)\]", flat)
    log.partition = tuple(int(x) for x in stages[1].split(",")) if stages else None
    refusals = (
        r"(Free memory on device[^.]*(?:\.\d+[^.]*)* is less than desired GPU memory utilization[^.]*(?:\.\d+[^.]*)*)",
        r"(No available memory for the cache blocks)",
        r"(To serve at least one request with the model'?s max seq len.{0,400}?estimated maximum model length is \d+)",
        r"(To serve at least one request with the model'?s max seq len.{0,200}?GiB\))",
    )
    log.refusal = _first(flat, *refusals)


def _derive(log: StartupLog, lines: RankLines, flat: str) -> None:
    """What follows from other lines: the estimate from two utilizations, the split that contains it."""
    equal = re.search(
        r"current --gpu-memory-utilization=([\d.]+)\s+is equivalent to\s+--gpu-memory-utilization=([\d.]+)\s+without",
        flat,
    )
    if equal and lines.graph_estimate is None and lines.total:
        lines.graph_estimate = round((float(equal[1].rstrip(".")) - float(equal[2].rstrip("."))) * lines.total, 2)
    if lines.utilization is None:
        lines.utilization = log.utilization
    if lines.consumed is not None:
        lines.includes_estimate = bool(re.search(r"for\s+consumed\s+memory", flat))

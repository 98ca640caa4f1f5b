"""Ways to lay one model on nodes, each sized: parallel degrees, nodes, replicas, slots, memory verdict, speed, $/h.

The tree everybody draws: fits one GPU → replicas; fits one node → tensor parallel; else tensor × pipeline over whole
nodes; mixtures of experts → expert parallel where slices of an expert are not allowed or latent caches are short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from headwater.catalog.architecture import Architecture
from headwater.catalog.defaults import default
from headwater.sizing.engine import size
from headwater.sizing.kvcache import FP8
from headwater.sizing.lora import lora_gib
from headwater.sizing.precision import WeightFormat
from headwater.sizing.question import Degrees, Hardware, Question
from headwater.sizing.result import Sizing, SizingRequest
from headwater.sizing.shards import Split
from headwater.sizing.throughput import Layout, Speed, Workload, speed_shape
from headwater.sizing.units import GIB, SizingError
from headwater.sizing.validity import problems
from headwater.sizing.weights import stage_weights


@dataclass(frozen=True)
class Placement:
    """One sized way.

    Attributes:
        sizing: of the version that leaves the least room; ``sizings`` of all of them.
        per_replica: requests one replica must hold.
        held_tokens: length of those requests.
        running: requests expected to run at once on one replica.
        verdict: ``fits`` at the lower bound, ``tight`` as expected only, ``short`` otherwise.
        reason: why it is short, one clause.
    """

    question: Question
    hardware: Hardware
    degrees: Degrees
    nodes: int
    replicas: int
    sizing: Sizing
    sizings: tuple[Sizing, ...]
    per_replica: int
    held_tokens: int
    running: float
    max_num_seqs: int
    speed: Speed
    verdict: str
    reason: str
    ttft: float
    tpot: float
    slo_miss: float

    @property
    def lora_gib(self) -> float:
        """GiB per GPU of LoRA slots, which the sizing leaves out of its budget."""
        return lora_per_gpu(self.question, self.degrees.tensor)

    @property
    def gpus_per_node(self) -> int:
        """GPUs of one pod."""
        return self.degrees.gpus // self.nodes

    @property
    def dollars(self) -> float:
        """$/h of all replicas, by share of node."""
        return self.hardware.cost(self.gpus_per_node, self.nodes) * self.replicas

    @property
    def whole_node(self) -> bool:
        """Whether a pod takes every GPU of a node that has several."""
        return self.gpus_per_node == self.hardware.instance.gpus > 1

    def concurrency(self, tokens: int, bound: str = "expected") -> float:
        """Requests of ``tokens`` tokens one replica holds, in the most demanding version."""
        return self.degrees.data * min(s.concurrency_at(tokens, bound) for s in self.sizings)


def rank_key(p: Placement) -> tuple[float, float, bool, int, bool, float, int, int, bool, int, int]:
    """Smaller is better: objectives met, $/h, paid for already, idle GPUs, latency, blast radius; then plainness."""
    d, h = p.degrees, p.hardware
    idle = -(d.gpus * p.replicas) % h.instance.gpus
    return (
        round(p.slo_miss, 3), round(p.dollars, 4), not h.reserved, idle, not h.listed, round(p.tpot, 4), d.gpus,
        d.decode_context, d.expert, d.data, h.instance.gpus,
    )  # fmt: skip


@lru_cache(maxsize=65536)
def _weights_gib(arch: Architecture, fmt: WeightFormat, split: Split, draft_layers: int) -> float:
    return max(s.total for s in stage_weights(arch, fmt, split, draft_layers=draft_layers)) / GIB


def slots(needed: int) -> int:
    """``max_num_seqs`` for so many longest requests: room for shorter ones, never the engine's blind default."""
    most, step = default("engine", "seqs_most"), default("engine", "seqs_multiple")
    shorter = min(most, needed * int(default("engine", "seqs_typical_share")))
    wanted: int = max(needed, shorter, int(default("engine", "seqs_minimum")))
    return -(-wanted // int(step)) * int(step)


def _request(question: Question, hardware: Hardware, d: Degrees, seqs: int, version: str) -> SizingRequest:
    fixed = question.fixed
    share = utilization(question) - lora_per_gpu(question, d.tensor) / hardware.gpu.visible_gib
    return SizingRequest(
        architecture=question.architecture, weight_format=question.weight_format, gpu=hardware.gpu, tp=d.tensor,
        pp=d.pipeline, dp=d.data, ep=d.expert, dcp=d.decode_context,
        gpu_memory_utilization=max(share, 0.01), max_model_len=question.context,
        kv_cache_dtype=question.kv_cache_dtype, max_num_batched_tokens=fixed.max_num_batched_tokens, max_num_seqs=seqs,
        vllm_version=version, enforce_eager=fixed.enforce_eager, block_size=fixed.block_size,
        prefix_caching=fixed.prefix_caching, speculative_tokens=question.speculative_tokens,
        draft_layers=question.draft_layers,
    )  # fmt: skip


def _sized(question: Question, hardware: Hardware, d: Degrees, seqs: int) -> tuple[Sizing, ...]:
    return tuple(size(_request(question, hardware, d, seqs, v), question.calibration) for v in question.versions)


def evaluate(question: Question, hardware: Hardware, d: Degrees, nodes: int) -> Placement | str:
    """One placement, or the reason it cannot be built at all (words, no numbers to rank)."""
    try:
        invalid = _invalid(question, hardware, d)
        if invalid:
            return invalid
        budget = hardware.gpu.visible_gib * utilization(question)
        split = Split(d.tensor, d.pipeline, d.data, d.expert)
        weights = _weights_gib(question.architecture, question.weight_format, split, question.draft_layers)
        if weights > budget:
            return f"weights alone are {weights:.0f} GiB per GPU, the engine may use {budget:.0f}"
        shape = speed_shape(question.architecture, question.weight_format, _kv_element(question))
        speed = Speed(shape, Layout(hardware.gpu, d.tensor, d.pipeline, d.data, d.expert))
        place = _by_rate if question.rate else _by_users
        return place(question, hardware, d, nodes, speed)
    except SizingError as error:
        return str(error)


def utilization(question: Question) -> float:
    """Share of GPU memory the engine is told to use."""
    return question.fixed.utilization or float(default("engine", "utilization"))


def lora_per_gpu(question: Question, tensor: int) -> float:
    """GiB per GPU of LoRA slots; 0 without LoRA."""
    fixed = question.fixed
    if not fixed.lora_slots:
        return 0.0
    return lora_gib(question.architecture, slots=fixed.lora_slots, rank=fixed.lora_rank, tp=tensor)


def _kv_element(question: Question) -> float:
    if question.kv_cache_dtype in FP8:
        return 1.0
    return 1.0 if question.kv_cache_dtype == "auto" and question.weight_format.kv_cache in FP8 else 2.0


def _invalid(question: Question, hardware: Hardware, d: Degrees) -> str:
    request = _request(question, hardware, d, default("engine", "seqs_minimum"), question.versions[0])
    for version in question.versions:
        for found in problems(replace(request, vllm_version=version), hardware.instance.gpus):
            return found
    return ""


def _slots_and_sizes(question: Question, hardware: Hardware, d: Degrees, needed: int) -> tuple[int, tuple[Sizing, ...]]:
    """Slots of one engine (one data-parallel rank) and its sizings; recurrent models get no more slots than blocks."""
    per_rank = math.ceil(needed / d.data)
    seqs = question.fixed.max_num_seqs or slots(per_rank)
    sizings = _sized(question, hardware, d, seqs)
    if question.architecture.recurrent and not question.fixed.max_num_seqs:
        room = int(min(s.num_blocks_low for s in sizings) * default("engine", "seqs_hybrid_share"))
        if seqs > room >= 1:
            step = default("engine", "seqs_multiple")
            seqs = max(1, room // step * step or room)
            sizings = _sized(question, hardware, d, seqs)
    return seqs, sizings


def _by_users(question: Question, hardware: Hardware, d: Degrees, nodes: int, speed: Speed) -> Placement:
    replicas = question.replicas or 1
    placed = _place(
        question, hardware, d, nodes, speed, replicas=replicas, needed=math.ceil(question.concurrency / replicas)
    )
    most = default("search", "replicas_most")
    while question.replicas is None and replicas < most and (placed.verdict != "fits" or placed.slo_miss > 0):
        capacity = placed.concurrency(question.context, "low")
        if capacity < 1 or placed.per_replica == 1:
            break
        by_memory = math.ceil(question.concurrency / math.floor(capacity)) if placed.verdict != "fits" else replicas + 1
        replicas = max(replicas + 1, min(by_memory, most))
        placed = _place(
            question, hardware, d, nodes, speed, replicas=replicas, needed=math.ceil(question.concurrency / replicas)
        )
    return placed


def _by_rate(question: Question, hardware: Hardware, d: Degrees, nodes: int, speed: Speed) -> Placement:
    """Replicas for a request rate: enough that a replica inside its objectives keeps up, and holds what is running."""
    most = default("search", "replicas_most")
    placed: Placement | None = None
    for replicas in [question.replicas] if question.replicas else range(1, most + 1):
        running = running_requests(speed, question.work, question.rate / replicas, most=1024.0)
        if not math.isfinite(running) and replicas < most and question.replicas is None:
            continue
        needed = math.ceil((running if math.isfinite(running) else 1024.0) * default("demand", "load_peak"))
        placed = _place(
            question, hardware, d, nodes, speed, replicas=replicas, needed=needed, rate=question.rate / replicas
        )
        if placed.verdict == "fits" and placed.slo_miss == 0:
            break
        if placed.verdict == "short" and needed <= 1:
            break
    assert placed is not None
    return placed


def running_requests(speed: Speed, work: Workload, rate: float, most: float) -> float:
    """Requests in a replica at ``rate`` requests/s, by Little's law; infinite when it cannot keep up with ``most``."""
    running = 1.0
    for _ in range(60):
        free = 1 - rate * speed.prefill_cost(work.input)
        if free <= 0:
            return math.inf
        time = speed.prefill(work.input) / free + work.output * speed.step(running, work.mean_context) / free
        wanted = max(1.0, rate * time)
        if wanted > most:
            return math.inf
        if abs(wanted - running) < 0.01 * running:
            return wanted
        running = wanted
    return running


def _place(
    question: Question,
    hardware: Hardware,
    d: Degrees,
    nodes: int,
    speed: Speed,
    *,
    replicas: int,
    needed: int,
    rate: float = 0.0,
) -> Placement:
    seqs, sizings = _slots_and_sizes(question, hardware, d, needed)
    held = question.context if not question.rate else min(question.context, question.work.input + question.work.output)
    worst = min(sizings, key=lambda s: (s.concurrency_at(held, "low"), s.kv.low))
    running = max(1.0, min(float(needed), float(seqs * d.data)))
    ttft, tpot = speed.ttft(question.work, running, rate), speed.tpot(question.work, running)
    if rate:
        running = running_requests(speed, question.work, rate, 1024.0)
        running = min(running, float(needed)) if math.isfinite(running) else float(needed)
        free = max(0.02, 1 - rate * speed.prefill_cost(question.work.input))
        ttft = speed.prefill(question.work.input) / free
        tpot = speed.step(running, question.work.mean_context) / free
    verdict, reason = _verdict(question, sizings, worst, held=held, needed=needed, data=d.data, seqs=seqs)
    miss = max(0.0, *(v / goal - 1 for v, goal in ((ttft, question.ttft), (tpot, question.tpot)) if goal), 0.0)
    return Placement(
        question=question, hardware=hardware, degrees=d, nodes=nodes, replicas=replicas, sizing=worst,
        sizings=sizings, per_replica=needed,
        held_tokens=held, running=running, max_num_seqs=seqs, speed=speed, verdict=verdict, reason=reason, ttft=ttft,
        tpot=tpot, slo_miss=miss,
    )  # fmt: skip


def _verdict(
    question: Question, sizings: tuple[Sizing, ...], worst: Sizing, *, held: int, needed: int, data: int, seqs: int
) -> tuple[str, str]:
    per_rank = needed / data

    def holds(bound: str) -> bool:
        return all(s.fits_at(held, per_rank, bound) and s.fits_at(question.context, 1, bound) for s in sizings)

    if seqs * data < needed:
        return "short", f"max-num-seqs {seqs} is below the {needed} requests asked at once"
    if question.fixed.max_num_seqs and seqs > worst.max_num_batched_tokens:
        step = f"the {worst.max_num_batched_tokens:,} of max-num-batched-tokens"
        return "short", f"max-num-seqs {seqs:,} is above {step}, and vLLM wants a token of each in one step"
    if holds("low"):
        return "fits", ""
    blocks = max(1, math.ceil(per_rank)) * worst.plan.blocks_per_request(held, worst.inflight)
    asked = blocks * worst.bytes_per_block / GIB
    if worst.refusals:
        return "short", worst.refusals[0]
    if worst.shortfall_gib > 0 or worst.kv.expected <= 0:
        missing = max(0.0, worst.shortfall_gib)
        return "short", f"weights and work leave nothing for the KV cache ({missing:.1f} GiB per GPU are missing)"
    if holds("expected"):
        return "tight", f"{asked:.1f} GiB of KV asked, {worst.kv.low:.1f} to {worst.kv.high:.1f} GiB expected per GPU"
    return "short", f"leaves {worst.kv.low:.1f} GiB for KV per GPU at the lower bound, {asked:.1f} GiB asked"

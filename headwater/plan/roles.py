"""From a chosen placement to the plan's roles: memory, pods, arguments, speed, $/h."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.catalog.engine_surface import Surface
from headwater.catalog.instances import Instance
from headwater.plan.arguments import arguments
from headwater.plan.choose import Choice
from headwater.plan.model import Memory, ModelPlan, Range, Role, RoleName, StackName, Throughput
from headwater.plan.pods import most_offload_gib, offload_gib, pod, startup_seconds
from headwater.plan.wording import parallel
from headwater.refusal import Fault
from headwater.settings import Settings
from headwater.sizing.disk import checkpoint_bytes
from headwater.sizing.placement import Placement
from headwater.sizing.units import GIB, Band

NO_POOL = ""
"""Pools are named once all models are placed."""


@dataclass(frozen=True)
class _Ground:
    """What every role of a model shares: types its pods must fit on, checkpoint GiB, host cache asked."""

    settings: Settings
    types: Sequence[Instance]
    surfaces: Mapping[StackName, Surface]
    checkpoint_gib: float
    offload: object


def _range(band: Band, digits: int = 2) -> Range:
    return Range(low=round(band.low, digits), expected=round(band.expected, digits), high=round(band.high, digits))


def memory(placement: Placement) -> Memory:
    """Where one GPU's memory goes, of the version that leaves the least room."""
    s = placement.sizing
    lora = placement.lora_gib
    weights = Band(s.weights.low + lora, s.weights.expected + lora, s.weights.high + lora)
    requests = max(1, math.ceil(placement.per_replica / placement.degrees.data))
    blocks = requests * s.plan.blocks_per_request(placement.held_tokens, s.inflight)
    return Memory(
        visible=round(s.visible_gib, 2), budget=round(s.budget_gib + placement.lora_gib, 2), weights=_range(weights),
        activation=_range(s.activation), state=_range(s.state), non_torch=_range(s.non_torch),
        cuda_graph=_range(s.cuda_graph), kv=_range(s.kv), kv_asked=round(blocks * s.bytes_per_block / GIB, 2),
        verdict="fits" if placement.verdict == "fits" else "tight", calibrated=s.calibrated,
    )  # fmt: skip


def throughput(choice: Choice, role: RoleName) -> Throughput:
    """First-order speed of one replica with the asked requests running."""
    p, work = choice.placement, choice.question.work
    below, above = p.speed.band
    batch = max(1.0, p.running)
    decode_only = role == "decode"
    tpot = p.speed.step(batch, work.mean_context) if decode_only else p.tpot
    rate = batch / tpot if decode_only else p.speed.tokens_per_second(work, batch)
    if role == "prefill":
        rate = 0.0
    kind = "measured point" if p.speed.measured else "closed form, not measured"
    note = f"{batch:.0f} running, {work.input:,} tokens in, {work.output:,} out; {kind}, {-below:+.0%} to {above:+.0%}"

    def slow(seconds: float) -> Range:
        return Range(
            low=round(seconds / (1 + above), 4), expected=round(seconds, 4), high=round(seconds / (1 - below), 4)
        )

    return Throughput(
        ttft_seconds=slow(p.ttft), tpot_seconds=slow(tpot),
        tokens_per_second=_range(Band(rate * (1 - below), rate, rate * (1 + above)), 1),
        prefill_tokens_per_second=round(work.input / p.speed.prefill_cost(work.input), 1), note=note,
    )  # fmt: skip


def kv_dtype(choice: Choice) -> str:
    """The KV type the engine is told: as asked; spelled out where engine versions understand ``auto`` differently."""
    asked = choice.subject.kv_cache_dtype
    resolved = [s.kv_cache_dtype for s in choice.placement.sizings]
    return asked if asked != "auto" or len(set(resolved)) == 1 else "bfloat16"


def model_plan(
    choice: Choice,
    settings: Settings,
    types: Sequence[Instance],
    surfaces: Mapping[StackName, Surface],
    faults: list[Fault],
) -> ModelPlan:
    """One model's plan; its roles' pools are still unnamed.

    Args:
        choice: where it runs.
        settings: of the environment.
        types: instance types its pods must fit on.
        surfaces: of every stack the plan may end on.
        faults: gets what does not fit a node.
    """
    subject, p = choice.subject, choice.placement
    arch = subject.architecture
    disk = checkpoint_bytes(arch, subject.weight_format) / GIB
    asked = subject.settings.kv_cache.offload
    most = most_offload_gib(p, types)
    if isinstance(asked, int) and asked > most:
        why = f"The pods of one replica may ask for {most} GiB of host memory on {types[0].name}."
        faults.append(Fault(subject.path("kvCache.offload"), str(asked), why, f"Ask at most {most}, or `auto`."))
        asked = "off"
    names: tuple[RoleName, ...] = ("prefill", "decode") if choice.disaggregated else ("serve",)
    ground = _Ground(settings, types, surfaces, disk, asked)
    roles = tuple(_role(choice, name, ground) for name in names)
    per_replica = sum(r.dollars_per_hour * r.replicas_min for r in roles)
    return ModelPlan(
        name=subject.name, key=subject.key, repository=subject.repository, architecture=arch.name,
        precision=subject.weight_format.word, weight_format=subject.weight_format.name,
        parameters=p.speed.shape.total_parameters, context=subject.demand.context,
        concurrency=subject.demand.concurrency or p.per_replica * p.replicas, disaggregated=choice.disaggregated,
        roles=roles, checkpoint_gib=round(disk, 1), mixture_of_experts=arch.moe is not None,
        latent_attention=arch.mla is not None, hybrid=arch.recurrent, sliding_window=arch.local_layers > 0,
        tool_parser=_value(roles[-1], "--tool-call-parser"), reasoning_parser=_value(roles[-1], "--reasoning-parser"),
        trust_remote_code=roles[-1].has("--trust-remote-code"),
        kv_cache_dtype=roles[-1].arg("--kv-cache-dtype") or "auto",
        priority=subject.settings.priority, alternatives=choice.alternatives, why=choice.why, warnings=choice.warnings,
        dollars_per_hour=round(per_replica, 4),
    )  # fmt: skip


def _value(role: Role, flag: str) -> str | None:
    return role.arg(flag)


def _replicas(choice: Choice, name: RoleName) -> tuple[int, int]:
    asked = choice.subject.settings.replicas
    explicit = "replicas" in choice.subject.settings.model_fields_set
    if choice.disaggregated:
        unit = choice.prefill if name == "prefill" else choice.decode
        if isinstance(choice.subject.settings.disaggregate, str):  # auto: the split already counts every server
            return unit, unit
        return unit * asked.min, unit * asked.most
    if not explicit:
        return choice.placement.replicas, choice.placement.replicas
    least = max(asked.min, choice.placement.replicas) if choice.subject.demand.rate else asked.min
    return least, max(asked.most, least)


def _role(choice: Choice, name: RoleName, ground: _Ground) -> Role:
    p = choice.placement
    least, most = _replicas(choice, name)
    types, disk = ground.types, ground.checkpoint_gib
    host = offload_gib(p, ground.offload if name != "decode" else "off", disk, types)
    talks = p.nodes > 1 or choice.disaggregated
    data = p.degrees.data
    return Role(
        role=name, pool=NO_POOL, instance=p.hardware.instance.name, accelerator=p.hardware.gpu.key,
        parallel=parallel(p.degrees), nodes=p.nodes, replicas_min=least, replicas_max=most,
        pod=pod(p, types, checkpoint_gib=disk, offload=host, talks=talks), memory=memory(p),
        engine_args=arguments(choice, name, host, kv_dtype(choice), ground.surfaces),
        kv_tokens=data * min(s.kv_tokens for s in p.sizings), kv_blocks=min(s.num_blocks for s in p.sizings),
        block_size=p.sizing.block_size, concurrency=round(p.concurrency(choice.question.context), 2),
        max_num_seqs=p.max_num_seqs, max_num_batched_tokens=p.sizing.max_num_batched_tokens, offload_gib=host,
        startup_seconds=startup_seconds(ground.settings, p, disk),
        dollars_per_hour=round(p.hardware.cost(p.gpus_per_node, p.nodes), 4), throughput=throughput(choice, name),
    )  # fmt: skip

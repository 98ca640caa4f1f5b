"""Where one model runs: the search asked, its answer in words, prefill and decode apart where that pays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.plan.model import Alternative
from headwater.plan.nowhere import nowhere
from headwater.plan.site import Supply
from headwater.plan.subject import Subject
from headwater.plan.wording import demand_words, parallel, plainest, words
from headwater.refusal import Fault
from headwater.settings.serving import Disaggregation
from headwater.sizing.disaggregation import judge
from headwater.sizing.placement import Placement, evaluate
from headwater.sizing.question import Fixed, Hardware, Question
from headwater.sizing.search import Found, search


@dataclass(frozen=True)
class Choice:
    """Where one model runs.

    Attributes:
        placement: of one replica (of the decode role when separated).
        prefill, decode: servers of each role in one unit; 0 when they are not separated.
    """

    subject: Subject
    question: Question
    placement: Placement
    prefill: int
    decode: int
    alternatives: tuple[Alternative, ...]
    why: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def disaggregated(self) -> bool:
        """Whether prefill and decode are separate roles."""
        return self.prefill > 0


def question_of(subject: Subject, versions: tuple[str, ...]) -> Question:
    """The search's question for a model as asked."""
    demand, slo = subject.demand, subject.settings.slo
    return Question(
        architecture=subject.architecture, weight_format=subject.weight_format, versions=versions,
        context=demand.context, concurrency=demand.concurrency, work=demand.work, rate=demand.rate,
        replicas=demand.replicas if not demand.rate else None, kv_cache_dtype=subject.kv_cache_dtype, ttft=slo.ttft,
        tpot=slo.tpot, fixed=subject.fixed, speculative_tokens=subject.speculative_tokens,
        draft_layers=subject.draft_layers, calibration=subject.calibration,
    )  # fmt: skip


def options(
    subject: Subject, supplies: Mapping[str, Supply], versions: tuple[str, ...], faults: list[Fault]
) -> tuple[Choice, ...]:
    """Where ``subject`` may run, its cheapest share first: one choice, or one for each accelerator it leaves open.

    Args:
        subject: the model.
        supplies: what may be bought, by accelerator; every accelerator of the catalogue, to name cheaper ones.
        versions: engine versions it must hold for.
        faults: gets what cannot be done.
    """
    asked = subject.settings.accelerator
    if asked != "auto":
        only = _choose(subject, supplies, supplies[asked].hardware, versions, faults)
        return (only,) if only else ()
    usable = [s for s in supplies.values() if s.listed] or list(supplies.values())
    bounded = [tuple(replace(h, most_gpus=s.capacity.max_gpus) for h in s.hardware) for s in usable]
    first = _choose(subject, supplies, tuple(h for one in bounded for h in one), versions, faults)
    if first is None:
        return ()
    gpu = first.placement.hardware.gpu
    others = [_choose(subject, supplies, one, versions, []) for one in bounded if one and one[0].gpu != gpu]
    return (first, *(choice for choice in others if choice is not None))


def _choose(
    subject: Subject,
    supplies: Mapping[str, Supply],
    hardware: tuple[Hardware, ...],
    versions: tuple[str, ...],
    faults: list[Fault],
) -> Choice | None:
    question = question_of(subject, versions)
    explicit = subject.settings.disaggregate
    if isinstance(explicit, Disaggregation):
        units = max(1, subject.settings.replicas.min)
        whole = replace(question.fixed, pipeline=1, decode_context=1)
        question = replace(question, replicas=explicit.decode * units, fixed=_merged(question.fixed, whole))
    found = search(question, hardware)
    if found.best is None:
        faults.append(nowhere(subject, question, hardware, found, supplies))
        return None
    best, why, warnings = found.best, list(_why(subject, question, found)), []
    prefill = decode = 0
    if isinstance(explicit, Disaggregation):
        prefill, decode = explicit.prefill, explicit.decode
        why.append(f"prefill and decode apart as asked, {prefill} to {decode} servers")
    elif explicit == "auto":
        prefill, decode, sentence = _separate(best, question)
        why.append(sentence)
    warnings += _warnings(subject, question, best, found)
    most = subject.settings.replicas.max
    if subject.demand.rate and most is not None and best.replicas > most:
        bound = (
            f"{subject.demand.rate:g} requests/s need {best.replicas} replicas of {words(best.hardware, best.degrees)}."
        )
        faults.append(
            Fault(subject.path("replicas.max"), str(most), bound, f"Allow {best.replicas}, or relax the `slo`.")
        )
    return Choice(
        subject,
        question,
        best,
        prefill,
        decode,
        _alternatives(question, found, supplies, subject.settings.accelerator),
        tuple(why),
        tuple(warnings),
    )


def _merged(user: Fixed, whole: Fixed) -> Fixed:
    """The person's own degrees stay; what they left open is held to one stage and one context rank."""
    return replace(
        whole, pipeline=user.pipeline or whole.pipeline, decode_context=user.decode_context or whole.decode_context
    )


def _separate(best: Placement, question: Question) -> tuple[int, int, str]:
    if best.degrees.pipeline > 1:
        return (
            0,
            0,
            "prefill and decode together: the KV transfer between pipelines of several nodes is not verified upstream",
        )
    if best.degrees.decode_context > 1:
        return (
            0,
            0,
            "prefill and decode together: the KV transfer with decode context parallelism is not verified upstream",
        )
    if best.replicas < 2:
        return 0, 0, "prefill and decode together: one replica does it all, two roles would double the GPUs"
    if question.work.input < 1:
        return 0, 0, "prefill and decode together"
    verdict = judge(best, question, best.replicas)
    if not verdict.pays:
        return 0, 0, f"prefill and decode together: {verdict.text}"
    return verdict.prefill, verdict.decode, f"prefill and decode apart: {verdict.text}"


def _why(subject: Subject, question: Question, found: Found) -> Sequence[str]:
    best = found.best
    assert best is not None
    d, where = best.degrees, words(best.hardware, best.degrees, best.replicas)
    if d.pipeline > 1:
        step = f"no node holds it: tensor parallel inside a node, {d.pipeline} pipeline stages over {best.nodes} nodes"
    elif d.gpus > 1:
        step = f"one GPU does not hold it: {parallel(d).text} inside one node"
    else:
        step = "one GPU holds it" + (f": {best.replicas} replicas of one GPU" if best.replicas > 1 else "")
    lines = [f"{where} is the cheapest that holds {demand_words(question, best)}", step]
    if d.expert:
        lines.append("experts whole on their GPUs: slices of an expert are not allowed or leave too little KV cache")
    if d.decode_context > 1:
        lines.append(
            f"a latent cache is copied on every GPU; decode context parallel {d.decode_context} holds "
            f"{d.decode_context} × the tokens"
        )
    if best.replicas > 1 and subject.demand.replicas is None:
        lines.append(f"{best.replicas} replicas, {best.per_replica} requests each")
    lines += [f"assumed: {text}" for text in subject.demand.assumed]
    return lines


def _warnings(subject: Subject, question: Question, best: Placement, found: Found) -> list[str]:
    lines = [*subject.notes]
    if best.verdict == "tight":
        lines.append(f"tight: {best.reason}. {advice(question, best, found)}")
    if best.slo_miss > 0:
        missed = [
            f"{name} {value * 1000:.0f} ms expected, {goal * 1000:.0f} ms asked"
            for name, value, goal in (
                ("time to first token", best.ttft, question.ttft),
                ("time per token", best.tpot, question.tpot),
            )
            if goal and value > goal
        ]
        lines.append(f"objective missed: {'; '.join(missed)}")
    if not best.hardware.listed:
        lines.append(
            f"no list price for {best.hardware.instance.name} here: ranked by the price elsewhere, $/h incomplete"
        )
    if best.sizing.headroom_gib < 1:
        lines.append(
            f"only {best.sizing.headroom_gib:.1f} GiB per GPU stay outside the engine's budget; "
            "lower gpu-memory-utilization"
        )
    return lines


def advice(question: Question, best: Placement, found: Found) -> str:
    """What to change so that a tight placement fits for sure, cheapest first."""
    moves = []
    sure = math.floor(best.concurrency(best.held_tokens, "low")) * best.replicas
    if sure >= 1 and not question.rate:
        moves.append(f"concurrency {sure} fits for sure")
    smaller = replace(question, kv_cache_dtype="fp8")
    if best.sizing.kv_cache_dtype not in {"fp8", "fp8_e4m3"}:
        other = evaluate(smaller, best.hardware, best.degrees, best.nodes)
        if isinstance(other, Placement) and other.verdict == "fits":
            moves.append("so does kvCache: {dtype: fp8}")
    nxt = next((p for p in found.runners_up if p.verdict == "fits"), None)
    if nxt is not None:
        moves.append(f"{words(nxt.hardware, nxt.degrees, nxt.replicas)} does at {nxt.dollars:.2f} $/h")
    return (
        "; ".join(moves)[:1].upper() + "; ".join(moves)[1:] + "."
        if moves
        else "Ask a shorter context or fewer requests."
    )


def _alternatives(
    question: Question, found: Found, supplies: Mapping[str, Supply], asked: str
) -> tuple[Alternative, ...]:
    best = found.best
    assert best is not None
    lines = []
    if asked != "auto":
        others = tuple(h for name, s in supplies.items() if name != asked for h in s.hardware)
        elsewhere = search(question, others).best if others else None
        if elsewhere is not None and elsewhere.verdict == "fits" and elsewhere.dollars < best.dollars - 0.005:
            text = words(elsewhere.hardware, elsewhere.degrees, elsewhere.replicas)
            reason = f"you asked for {asked}"
            lines.append(
                Alternative(text=text, dollars_per_hour=round(elsewhere.dollars, 4), verdict="cheaper", reason=reason)
            )
    seen = {words(best.hardware, best.degrees, best.replicas)}
    for p in found.runners_up:
        text = words(p.hardware, p.degrees, p.replicas)
        if text not in seen:
            seen.add(text)
            reason = _versus(p, best)
            lines.append(
                Alternative(text=text, dollars_per_hour=round(p.dollars, 4), verdict="runner-up", reason=reason)
            )
    first = plainest(found.rejected)
    if first is not None:
        text = words(first.hardware, first.degrees)
        lines.append(
            Alternative(text=text, dollars_per_hour=round(first.dollars, 4), verdict="rejected", reason=first.reason)
        )
    return tuple(lines)


def _versus(p: Placement, best: Placement) -> str:
    more = p.dollars / best.dollars - 1 if best.dollars else 0.0
    held = p.concurrency(p.held_tokens, "low") * p.replicas
    price = f"{more:+.0%} $/h" if abs(more) > 0.004 else "same $/h"
    return f"{price}, holds {held:.1f} requests, {p.tpot * 1000:.0f} ms per token"

"""One model's addition laid open: each addend with its formula and source, assumptions, what would change it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from headwater.catalog.calibration import Calibration
from headwater.plan.build import choices
from headwater.plan.choose import Choice
from headwater.plan.model import Range
from headwater.plan.roles import memory
from headwater.plan.wording import words
from headwater.refusal import Fault, Refusal, did_you_mean
from headwater.settings import Settings
from headwater.sizing.placement import Placement, evaluate
from headwater.sizing.question import Question
from headwater.sizing.units import Band


@dataclass(frozen=True)
class Term:
    """One line of the addition, GiB per GPU.

    Attributes:
        formula: in words; ``inputs`` are the numbers put in.
        sign: 1 for what takes from the budget, 0 for a line that explains the one above it.
    """

    name: str
    formula: str
    inputs: tuple[tuple[str, str], ...]
    gib: Range
    source: str
    sign: int


@dataclass(frozen=True)
class Change:
    """Another setting and what it would make of the KV cache: requests held for sure, $/h."""

    what: str
    holds: float
    dollars_per_hour: float
    verdict: str
    note: str


@dataclass(frozen=True)
class Explanation:
    """What ``headwater explain`` shows of one model.

    Attributes:
        layout: where one replica runs; prefill and decode servers are alike.
        versions: engine versions sized for; ``version`` is the one that leaves the least room, whose terms are shown.
        terms: the addition; those with sign 1 sum to the budget.
        held: requests of ``context`` tokens one replica holds, at the lower bound and as expected.
        tokens_printed: what that version logs as "GPU KV cache size".
    """

    model: str
    layout: str
    replicas: int
    version: str
    versions: tuple[str, ...]
    context: int
    asked: int
    verdict: str
    terms: tuple[Term, ...]
    kv_asked_gib: float
    held: tuple[float, float]
    tokens_printed: int
    why: tuple[str, ...]
    assumptions: tuple[str, ...]
    changes: tuple[Change, ...]


def explain(
    settings: Settings,
    name: str,
    *,
    today: dt.date | None = None,
    project: Path | None = None,
    calibrations: Mapping[str, Calibration] | None = None,
) -> Explanation:
    """The addition of one model of a stack.

    Args:
        settings: the stack file.
        name: the model, as clients call it.
        today: as for ``build_plan``.
        project: as for ``build_plan``.
        calibrations: as for ``build_plan``.

    Raises:
        Refusal: no such model, or the stack file asks what cannot be.
    """
    known = [model.name for model in settings.serving.models]
    if name not in known:
        raise Refusal([Fault("MODEL", name, "The stack has no such model.", did_you_mean(name, known))])
    found = choices(settings, today=today, project=project, calibrations=calibrations)
    return _explain(next(c for c in found if c.subject.name == name))


def _explain(choice: Choice) -> Explanation:
    p, question = choice.placement, choice.question
    roles = f"{choice.prefill} prefill and {choice.decode} decode servers"
    shown = memory(p)
    terms = tuple(Term(a.name, a.formula, a.inputs, _range(a.gib), a.source, a.sign) for a in p.sizing.addends)
    if p.lora_gib:
        gib = _range(Band(p.lora_gib, p.lora_gib, p.lora_gib))
        inputs = (("slots", str(question.fixed.lora_slots)), ("rank", str(question.fixed.lora_rank)))
        terms = tuple(_with(t, p.lora_gib) if t.name == "budget" else t for t in terms)
        terms = (*terms, Term("LoRA slots", "rank × (in + out) of every linear", inputs, gib, "vLLM lora/layers", 1))
    return Explanation(
        model=choice.subject.name,
        layout=words(p.hardware, p.degrees) + (f", each of {roles}" if choice.disaggregated else ""),
        replicas=p.replicas,
        version=p.sizing.version,
        versions=question.versions,
        context=question.context,
        asked=p.per_replica,
        verdict=p.verdict,
        terms=terms,
        kv_asked_gib=shown.kv_asked,
        held=(
            round(p.concurrency(question.context, "low"), 2),
            round(p.concurrency(question.context), 2),
        ),
        tokens_printed=p.sizing.kv_tokens_printed * p.degrees.data,
        why=choice.why,
        assumptions=tuple(_assumptions(choice)),
        changes=tuple(_changes(question, p)),
    )


def _range(band: Band) -> Range:
    return Range(low=round(band.low, 3), expected=round(band.expected, 3), high=round(band.high, 3))


def _with(term: Term, more: float) -> Term:
    """The budget with the part that was set aside for LoRA slots."""
    gib = Range(low=term.gib.low + more, expected=term.gib.expected + more, high=term.gib.high + more)
    return replace(term, gib=gib)


def _assumptions(choice: Choice) -> Iterable[str]:
    p, question = choice.placement, choice.question
    yield from (f"{text}" for text in choice.subject.demand.assumed)
    yield f"{p.hardware.gpu.name} shows {p.sizing.visible_gib:.2f} GiB to CUDA ({p.hardware.gpu.status})"
    if len(question.versions) > 1:
        both = " and ".join(question.versions)
        yield f"sized for vLLM {both}; shown is {p.sizing.version}, which leaves the least room"
    yield "nothing else runs on the GPU; every request takes its whole length"
    yield "weights are counted from shapes, not from the label"
    yield from p.sizing.notes


def _changes(question: Question, p: Placement) -> Iterable[Change]:
    """What a person may turn, each sized on the same GPUs; then one more step of GPUs."""
    fixed = question.fixed
    variants: list[tuple[str, Question, str]] = []
    if p.sizing.kv_cache_dtype not in {"fp8", "fp8_e4m3", "fp8_e5m2"}:
        variants.append(
            ("kvCache: {dtype: fp8}", replace(question, kv_cache_dtype="fp8"), "half the bytes, some accuracy")
        )
    half = max(256, question.context // 2)
    variants.append((f"context: {half}", replace(question, context=half), "requests of that length"))
    blind = replace(question, fixed=replace(fixed, max_num_seqs=1024))
    variants.append(("engine: {max-num-seqs: 1024}", blind, "the engine's own default"))
    if p.sizing.max_num_batched_tokens > 2048:
        small = replace(question, fixed=replace(fixed, max_num_batched_tokens=2048))
        variants.append(("engine: {max-num-batched-tokens: 2048}", small, "prompts are read in smaller steps"))
    for what, other, note in variants:
        outcome = evaluate(replace(other, replicas=p.replicas), p.hardware, p.degrees, p.nodes)
        if isinstance(outcome, Placement):
            held = outcome.concurrency(other.context, "low")
            yield Change(what, round(held, 2), round(outcome.dollars, 4), outcome.verdict, note)
    if p.degrees.tensor * 2 <= p.hardware.instance.gpus and p.degrees.data == 1:
        wider = replace(p.degrees, tensor=p.degrees.tensor * 2)
        outcome = evaluate(replace(question, replicas=p.replicas), p.hardware, wider, p.nodes)
        if isinstance(outcome, Placement):
            held = outcome.concurrency(question.context, "low")
            note = words(p.hardware, wider)
            yield Change("one more step of GPUs", round(held, 2), round(outcome.dollars, 4), outcome.verdict, note)

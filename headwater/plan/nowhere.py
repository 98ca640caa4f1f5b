"""The refusal of a model that nothing allowed can hold: the nearest miss, and what would work."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headwater.plan.site import Supply
from headwater.plan.subject import Subject
from headwater.plan.wording import demand_words, plainest, words
from headwater.refusal import Fault
from headwater.sizing.question import Hardware, Question
from headwater.sizing.search import Found, most_held, search

LAYOUT_FLAGS = {
    "tensor": "tensor-parallel-size",
    "pipeline": "pipeline-parallel-size",
    "data": "data-parallel-size",
    "expert": "enable-expert-parallel",
    "decode_context": "decode-context-parallel-size",
    "max_num_seqs": "max-num-seqs",
    "max_num_batched_tokens": "max-num-batched-tokens",
    "utilization": "gpu-memory-utilization",
    "block_size": "block-size",
}


def nowhere(
    subject: Subject, question: Question, hardware: tuple[Hardware, ...], found: Found, supplies: Mapping[str, Supply]
) -> Fault:
    """Why nothing holds the demand, at the key that decides: an argument of the person's, the concurrency, the GPU."""
    where = " or ".join(sorted({h.gpu.key.upper() for h in hardware}))
    nearest = plainest(found.rejected)
    miss = f" The nearest, {words(nearest.hardware, nearest.degrees)}: {nearest.reason}." if nearest else ""
    why = f"No placement on {where} holds {demand_words(question)}.{miss}"
    for field, flag in LAYOUT_FLAGS.items():
        mine = getattr(question.fixed, field)
        if mine is None:
            continue
        left_out: dict[str, Any] = {field: None}
        free = search(replace(question, fixed=replace(question.fixed, **left_out)), hardware).best
        if free is not None and free.verdict == "fits":
            value = str(mine).lower() if isinstance(mine, bool) else f"{mine:g}"
            remedy = f"Leave it out: {words(free.hardware, free.degrees, free.replicas)} fits."
            return Fault(subject.path(f"engine.{flag}"), value, why, remedy)
    too_many = _too_many(subject, question, hardware, where + miss)
    if too_many is not None:
        return too_many
    key = "accelerator" if "accelerator" in subject.settings.model_fields_set else "model"
    value = subject.settings.accelerator if key == "accelerator" else subject.key
    return Fault(subject.path(key), value, why, _remedy(question, hardware, supplies))


def _too_many(subject: Subject, question: Question, hardware: tuple[Hardware, ...], where: str) -> Fault | None:
    """One request fits, so many do not: say how many do, on what, and how many replicas it takes."""
    if question.rate or question.concurrency < 2:
        return None
    roomiest = most_held(question, hardware)
    if roomiest is None:
        return None
    slots = roomiest.max_num_seqs * roomiest.degrees.data if question.fixed.max_num_seqs else math.inf
    each = math.floor(min(roomiest.concurrency(question.context, "low"), slots))
    layout = words(roomiest.hardware, roomiest.degrees)
    first, _, miss = where.partition(" The nearest")
    why = f"{first} does not hold {demand_words(question)} at once." + (f" The nearest{miss}" if miss else "")
    remedy = f"{layout} holds {each}: ask at most {each * (question.replicas or 1)}"
    free = search(replace(question, replicas=None), hardware).best if question.replicas else None
    if free is not None:
        remedy += f", or `replicas: {free.replicas}` for {words(free.hardware, free.degrees, free.replicas)}"
    remedy += "."
    return Fault(subject.path("concurrency"), str(question.concurrency), why, remedy)


def _remedy(question: Question, hardware: tuple[Hardware, ...], supplies: Mapping[str, Supply]) -> str:
    remedies = []
    other = tuple(h for s in supplies.values() for h in s.hardware if h not in hardware)
    elsewhere = search(question, other).best if other else None
    if elsewhere is not None:
        where = words(elsewhere.hardware, elsewhere.degrees, elsewhere.replicas)
        remedies.append(f"{where} does at {elsewhere.dollars:.2f} $/h")
    shorter = _shorter(question, hardware)
    if shorter:
        remedies.append(f"context {shorter} fits")
    remedy = "; ".join(remedies)
    return remedy[:1].upper() + remedy[1:] + "." if remedy else "Use a smaller precision or a smaller model."


def _shorter(question: Question, hardware: tuple[Hardware, ...]) -> int | None:
    context = 1 << (question.context.bit_length() - 1)
    while context >= 2048:
        if context < question.context:
            found = search(replace(question, context=context), hardware).best
            if found is not None and found.verdict == "fits":
                return context
        context //= 2
    return None

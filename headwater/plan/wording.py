"""Placements and demands in words, the same ones on every screen."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.plan.model import Parallel
from headwater.sizing.placement import Placement
from headwater.sizing.question import Degrees, Hardware, Question
from headwater.sizing.search import Rejected


def parallel(d: Degrees) -> Parallel:
    """The plan's form of parallel degrees."""
    return Parallel(tensor=d.tensor, pipeline=d.pipeline, data=d.data, expert=d.expert, decode_context=d.decode_context)


def words(hardware: Hardware, d: Degrees, replicas: int = 1) -> str:
    """``8 × H200, TP 8``; ``3 × (8 × H200, TP 8)`` for several replicas."""
    gpus = f"{d.gpus} × {hardware.gpu.key.upper()}"
    layout = parallel(d).text
    one = gpus if layout == "1 GPU" else f"{gpus}, {layout}"
    return one if replicas == 1 else f"{replicas} × ({one})"


def demand_words(question: Question, best: Placement | None = None) -> str:
    """What was asked, in words."""
    if question.rate:
        running = f", about {best.running:.0f} running at once a replica" if best else ""
        return f"{question.rate:g} requests/s of {question.work.input:,} + {question.work.output:,} tokens{running}"
    return f"{question.concurrency} requests of {question.context:,} tokens"


def plainest(rejected: Sequence[Rejected]) -> Rejected | None:
    """Of the dearest rejected placements, the one with the plainest layout."""
    if not rejected:
        return None
    top = rejected[0]
    same = [
        r for r in rejected
        if (r.hardware.instance, r.degrees.gpus, r.nodes) == (top.hardware.instance, top.degrees.gpus, top.nodes)
    ]  # fmt: skip
    return min(same, key=lambda r: (r.degrees.data, r.degrees.expert, r.degrees.decode_context, r.degrees.pipeline))

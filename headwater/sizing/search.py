"""The placement search: best, runners-up, the first rejected cheaper one, and what else would serve it cheaper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from headwater.sizing.layouts import degrees_for
from headwater.sizing.placement import Placement, evaluate, rank_key
from headwater.sizing.question import Degrees, Hardware, Question


@dataclass(frozen=True)
class Rejected:
    """A cheaper placement that was not taken, and why."""

    hardware: Hardware
    degrees: Degrees
    nodes: int
    dollars: float
    reason: str


@dataclass(frozen=True)
class Found:
    """What the search saw.

    Attributes:
        best: fits at the lower bound when anything does, else the best that is tight; None when nothing holds it.
        runners_up: next best on other layouts, best first.
        rejected: cheaper than ``best`` (or everything, when there is none), dearest first.
    """

    best: Placement | None
    runners_up: tuple[Placement, ...]
    rejected: tuple[Rejected, ...]


@lru_cache(maxsize=4096)
def search(question: Question, hardware: tuple[Hardware, ...], runners: int = 3) -> Found:
    """The best placement of one model on the given hardware.

    Candidates are tried by the price of one replica; once something fits, whatever costs more than the best with its
    runners-up cannot win and is not sized.
    """
    candidates = sorted(
        (
            (h.cost(d.gpus // nodes, nodes), _plain(d), h.instance.gpus, i, h, d, nodes)
            for i, (h, d, nodes) in enumerate(_all(question, hardware))
        ),
        key=lambda c: c[:4],
    )
    placed: list[Placement] = []
    rejected: list[Rejected] = []
    for cost, _, _, _, h, d, nodes in candidates:
        fitting = [p for p in placed if p.verdict == "fits" and p.slo_miss == 0]
        if fitting and cost > _enough(fitting, runners):
            break
        if any(_dominated(p, h, d) for p in fitting):
            continue
        outcome = evaluate(question, h, d, nodes)
        if isinstance(outcome, str):
            rejected.append(Rejected(h, d, nodes, cost * (question.replicas or 1), outcome))
        elif outcome.verdict == "short":
            rejected.append(Rejected(h, d, nodes, outcome.dollars, outcome.reason))
        elif h.most_gpus is not None and d.gpus * outcome.replicas > h.most_gpus:
            reason = f"takes {d.gpus * outcome.replicas} GPUs, {h.most_gpus} may be bought"
            rejected.append(Rejected(h, d, nodes, outcome.dollars, reason))
        else:
            placed.append(outcome)
    return _result(placed, rejected, runners)


def most_held(question: Question, hardware: Iterable[Hardware]) -> Placement | None:
    """The placement whose one replica holds the most requests for sure; None when none holds a single one."""
    one = replace(question, concurrency=1, replicas=1, rate=0.0)
    placed = [evaluate(one, h, d, nodes) for h, d, nodes in _all(one, hardware)]
    sure = [p for p in placed if isinstance(p, Placement) and p.verdict == "fits"]
    return max(sure, key=lambda p: (p.concurrency(question.context, "low"), -p.dollars), default=None)


def _all(question: Question, hardware: Iterable[Hardware]) -> Iterable[tuple[Hardware, Degrees, int]]:
    for h in hardware:
        for degrees, nodes in degrees_for(question, h):
            yield h, degrees, nodes


def _plain(d: Degrees) -> tuple[int, bool, int]:
    return (d.data, d.expert, d.decode_context)


def _enough(fitting: Sequence[Placement], runners: int) -> float:
    """$/h above which nothing can become best or a runner-up: the best's price, or twice it while runners are few."""
    best = min(p.dollars for p in fitting)
    return best if len(fitting) > runners else best * 2


def _dominated(p: Placement, h: Hardware, d: Degrees) -> bool:
    """Same GPUs, a plainer layout already fits: expert or context parallel would add nothing."""
    same = p.hardware.instance == h.instance and p.degrees.gpus == d.gpus and p.degrees.pipeline == d.pipeline
    return same and _plain(p.degrees) < _plain(d) and p.replicas == 1


def _result(placed: list[Placement], rejected: list[Rejected], runners: int) -> Found:
    order = sorted(placed, key=lambda p: (p.verdict != "fits", *rank_key(p)))
    best = order[0] if order else None
    if best is None:
        return Found(None, (), tuple(sorted(rejected, key=lambda r: -r.dollars)))
    cheaper = [r for r in rejected if r.dollars < best.dollars - 1e-9]
    cheaper += [
        Rejected(p.hardware, p.degrees, p.nodes, p.dollars, _why_not(p))
        for p in order[1:]
        if p.dollars < best.dollars - 1e-9
    ]
    after = [p for p in order[1:] if p.dollars >= best.dollars - 1e-9 and p.verdict == "fits"]
    return Found(best, tuple(after[:runners]), tuple(sorted(cheaper, key=lambda r: (-r.dollars, r.degrees))))


def _why_not(p: Placement) -> str:
    if p.verdict == "tight":
        return f"tight: {p.reason}"
    return f"misses the latency objective by {p.slo_miss:.0%}"

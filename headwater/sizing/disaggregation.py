"""Whether prefill and decode in servers of their own would serve more with the same GPUs, by the throughput model.

Both ways read the same weights and the same prompts; what separation buys is decode steps without other requests'
prefills between them, so more requests run inside a time-per-token objective. It costs the KV transfer and the mismatch
of two whole numbers of servers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from headwater.catalog.defaults import default
from headwater.sizing.placement import Placement
from headwater.sizing.question import Question


@dataclass(frozen=True)
class Verdict:
    """Servers of each role in one unit, and what that gains over as many aggregated replicas.

    Attributes:
        gain: share of requests/s more than aggregated; negative when it loses.
        text: why, one sentence.
    """

    prefill: int
    decode: int
    gain: float
    text: str

    @property
    def pays(self) -> bool:
        """Whether the gain is worth two fleets."""
        return self.gain >= float(default("disaggregation", "gain"))


def prefill_rate(p: Placement, question: Question) -> float:
    """Requests/s one prefill server reads."""
    return 1 / (p.speed.prefill_cost(question.work.input) * (1 + float(default("disaggregation", "overhead"))))


def decode_rate(p: Placement, question: Question, most: int) -> float:
    """Requests/s one decode server answers inside the time-per-token objective, holding at most ``most`` requests."""
    work, slack = question.work, 1 + float(default("disaggregation", "overhead"))

    def inside(batch: int) -> bool:
        return question.tpot is None or p.speed.step(batch, work.mean_context) * slack <= question.tpot

    batch = _largest(inside, most)
    return batch / (work.output * p.speed.step(batch, work.mean_context) * slack) if batch else 0.0


def aggregated_rate(p: Placement, question: Question, most: int) -> float:
    """Requests/s one aggregated replica serves inside the time-per-token objective."""
    work = question.work

    def inside(batch: int) -> bool:
        return question.tpot is None or p.speed.tpot(work, batch) <= question.tpot

    batch = _largest(inside, most)
    return p.speed.tokens_per_second(work, batch) / work.output if batch else 0.0


def judge(p: Placement, question: Question, replicas: int) -> Verdict:
    """The best split of ``replicas`` servers into prefill and decode, against the same servers aggregated."""
    most = max(1, min(p.max_num_seqs * p.degrees.data, int(p.concurrency(p.held_tokens, "low"))))
    together = replicas * aggregated_rate(p, question, most)
    one_prefill, one_decode = prefill_rate(p, question), decode_rate(p, question, most)
    best, apart = 1, 0.0
    for prefill in range(1, replicas):
        rate = min(prefill * one_prefill, (replicas - prefill) * one_decode)
        held = (replicas - prefill) * p.concurrency(p.held_tokens, "low")
        if rate > apart and held >= p.per_replica * p.replicas:
            best, apart = prefill, rate
    gain = apart / together - 1 if together > 0 else (math.inf if apart > 0 else 0.0)
    limit = f" inside {question.tpot * 1000:.0f} ms per token" if question.tpot else ""
    if apart == 0:
        text = "the requests to hold do not fit on fewer decode servers"
    elif together == 0:
        text = f"together no request stays{limit}; apart {apart:.2g} requests/s do"
    else:
        servers = f"{best} prefill and {replicas - best} decode servers answer {apart:.3g} requests/s{limit}"
        text = f"{servers}, {replicas} aggregated {together:.3g} ({gain:+.0%})"
    return Verdict(best, max(1, replicas - best), gain, text)


def _largest(inside: object, most: int) -> int:
    """Largest batch up to ``most`` for which ``inside`` holds (it holds up to a point, then no more)."""
    assert callable(inside)
    if not inside(1):
        return 0
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if inside(middle) else (low, middle - 1)
    return low

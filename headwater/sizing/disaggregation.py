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
    """The best split of at most ``replicas`` servers into prefill and decode, against so many aggregated ones.

    With a request rate the smallest number of servers that answers it wins; without one, all are used.
    """
    most = max(1, min(p.max_num_seqs * p.degrees.data, int(p.concurrency(p.held_tokens, "low"))))
    together = replicas * aggregated_rate(p, question, most)
    rates = prefill_rate(p, question), decode_rate(p, question, most)
    best, apart = _split(p, replicas, rates)
    servers = replicas
    while question.rate and servers > 2:
        fewer = _split(p, servers - 1, rates)
        if fewer[1] < question.rate:
            break
        servers, (best, apart) = servers - 1, fewer
    more = apart / together - 1 if together > 0 else (math.inf if apart > 0 else 0.0)
    gain = more if servers == replicas else max(more, 1 - servers / replicas)
    limit = f" inside {question.tpot * 1000:.0f} ms per token" if question.tpot else ""
    if apart == 0:
        text = "the requests to hold do not fit on fewer decode servers"
    elif together == 0:
        text = f"together no request stays{limit}; apart {apart:.2g} requests/s do"
    else:
        alone = f"{best} prefill and {servers - best} decode servers answer {apart:.3g} requests/s{limit}"
        text = f"{alone}, {replicas} aggregated {together:.3g} ({gain:+.0%})"
    return Verdict(best, max(1, servers - best), gain, text)


def _split(p: Placement, servers: int, rates: tuple[float, float]) -> tuple[int, float]:
    """Prefill servers and requests/s of the best split of ``servers`` that still holds what must be held."""
    best, top = 1, 0.0
    for prefill in range(1, servers):
        rate = min(prefill * rates[0], (servers - prefill) * rates[1])
        held = (servers - prefill) * p.concurrency(p.held_tokens, "low")
        if rate > top and held >= p.per_replica * p.replicas:
            best, top = prefill, rate
    return best, top


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

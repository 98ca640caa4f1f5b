"""Prefill and decode apart: only where the throughput model says it pays."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.sizing.disaggregation import aggregated_rate, decode_rate, judge, prefill_rate
from headwater.sizing.placement import Placement, evaluate
from headwater.sizing.question import Degrees
from headwater.sizing.throughput import Workload
from tests.sizing_placement.test_placement import H100, ask

LONG = Workload(8000, 500)


def placed(question) -> Placement:
    found = evaluate(question, H100[1], Degrees(tensor=4), 1)
    assert isinstance(found, Placement)
    return found


def llama(**more):
    return ask("llama-3.3-70b", "fp8", 16384, 0, **{"work": LONG, "rate": 30.0, "replicas": 29, **more})


def test_it_pays_when_prefills_would_break_the_token_objective():
    question = llama(tpot=0.030)
    verdict = judge(placed(question), question, 29)
    assert verdict.pays
    assert verdict.prefill > verdict.decode
    assert verdict.prefill + verdict.decode < 29
    assert "30 ms per token" in verdict.text


def test_it_never_pays_without_a_token_objective():
    question = llama()
    verdict = judge(placed(question), replace(question, rate=0.0), 29)
    assert not verdict.pays
    assert verdict.gain < 0


def test_the_split_answers_the_rate_it_is_chosen_for():
    question = llama(tpot=0.030)
    p = placed(question)
    verdict = judge(p, question, 29)
    most = int(min(p.max_num_seqs, p.concurrency(p.held_tokens, "low")))
    assert verdict.prefill * prefill_rate(p, question) >= question.rate
    assert verdict.decode * decode_rate(p, question, most) >= question.rate


@settings(max_examples=20, deadline=None)
@given(st.floats(0.012, 0.2))
def test_a_stricter_objective_never_raises_a_rate(tpot):
    question = llama(tpot=tpot)
    p = placed(question)
    looser = replace(question, tpot=tpot * 1.5)
    for rate in (aggregated_rate, decode_rate):
        assert rate(p, question, 64) <= rate(p, looser, 64) * 1.001


def test_an_objective_below_one_step_serves_nobody():
    question = llama(tpot=0.0001)
    p = placed(question)
    assert aggregated_rate(p, question, 64) == decode_rate(p, question, 64) == 0
    assert not judge(p, question, 4).pays


@pytest.mark.parametrize("servers", [2, 3, 8])
def test_every_split_has_both_roles(servers):
    question = replace(llama(tpot=0.030), rate=0.0)
    verdict = judge(placed(question), question, servers)
    assert verdict.prefill >= 1
    assert verdict.decode >= 1

"""The addition laid open agrees with the plan."""

import pytest

from headwater.plan.explain import explain
from headwater.refusal import Refusal
from headwater.settings import settings_from_config
from tests.plan.plans import DAY, glm, kimi, llama, only, plan, qwen


def lay_open(asked):
    config = {"aws:region": "us-east-2", "headwater:serving": {"stack": "llm-d", "models": [asked]}}
    return explain(settings_from_config(config, "test"), asked["name"], today=DAY, calibrations={})


@pytest.mark.parametrize("asked", [qwen(), llama(), kimi(), glm(), llama(engine={"enable-lora": True})])
def test_the_addends_sum_to_the_budget_and_are_the_plans(asked):
    found, role = lay_open(asked), only(plan(asked))
    terms = {t.name: t for t in found.terms}
    total = sum(t.gib.expected for t in found.terms if t.sign)
    assert total == pytest.approx(terms["budget"].gib.expected, abs=0.01)
    assert terms["KV cache"].gib.expected == pytest.approx(role.memory.kv.expected, abs=0.01)
    assert found.held[1] == pytest.approx(role.concurrency, abs=0.01)
    assert all(t.formula and t.source for t in found.terms)


def test_what_would_change_the_answer_is_sized():
    changes = {c.what: c for c in lay_open(llama()).changes}
    base = lay_open(llama()).held[0]
    assert changes["kvCache: {dtype: fp8}"].holds > 1.9 * base
    assert changes["context: 16384"].holds > 1.9 * base
    assert changes["engine: {max-num-seqs: 1024}"].holds < base
    assert changes["one more step of GPUs"].dollars_per_hour == pytest.approx(
        2 * plan(llama()).models[0].dollars_per_hour
    )


def test_both_engine_versions_are_named():
    assert len(lay_open(glm()).versions) == 2


def test_an_unknown_model_is_answered_with_the_right_one():
    with pytest.raises(Refusal, match="Did you mean `qwen`"):
        explain(
            settings_from_config({"aws:region": "us-east-2", "headwater:serving": {"models": [qwen()]}}, "test"), "qwem"
        )

"""The placement search: the reference rows, honest verdicts, its laws, its speed."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.catalog.gpus import find_gpu
from headwater.catalog.instances import load_instances
from headwater.catalog.models import find_model
from headwater.catalog.prices import any_price, on_demand
from headwater.catalog.releases import engines
from headwater.sizing.placement import Placement, evaluate, running_requests, slots
from headwater.sizing.precision import parse_format
from headwater.sizing.question import Degrees, Fixed, Hardware, Question
from headwater.sizing.search import search
from headwater.sizing.throughput import Workload

VERSIONS = tuple(sorted({engine.vllm for engine in engines().values()}))
TYPICAL = Workload(4096, 512)


def nodes(*names: str, most: int | None = None) -> tuple[Hardware, ...]:
    types = [load_instances()[name] for name in names]
    return tuple(
        Hardware(t, find_gpu(t.gpu), on_demand("us-east-2", t.name) or any_price(t.name), most_gpus=most) for t in types
    )


H100 = nodes("p5.4xlarge", "p5.48xlarge")
H200 = nodes("p5en.48xlarge")


def ask(model: str, precision: str | None, context: int, concurrency: int, **more) -> Question:
    found = find_model(model)
    values = {
        "architecture": found.architecture,
        "weight_format": parse_format(found, precision),
        "versions": VERSIONS,
        "context": context,
        "concurrency": concurrency,
        "work": TYPICAL,
    }
    return Question(**{**values, **more})


def best(question: Question, hardware: tuple[Hardware, ...]) -> Placement:
    found = search(question, hardware).best
    assert found is not None
    return found


def test_qwen3_32b_fp8_fits_one_h100_without_parallelism():
    p = best(ask("qwen3-32b", "fp8", 32768, 4), H100)
    assert (p.degrees, p.nodes, p.replicas, p.verdict) == (Degrees(), 1, 1, "fits")
    assert p.hardware.instance.name == "p5.4xlarge"


@pytest.mark.parametrize(("context", "concurrency"), [(32768, 8), (32768, 12), (65536, 4), (131072, 2)])
def test_llama_70b_bf16_takes_four_h100_from_32k_on(context, concurrency):
    p = best(ask("llama-3.3-70b", "bf16", context, concurrency), H100)
    assert (p.degrees, p.replicas, p.verdict) == (Degrees(tensor=4), 1, "fits")


def test_llama_70b_bf16_on_two_h100_is_rejected_with_the_reason():
    rejected = search(ask("llama-3.3-70b", "bf16", 32768, 8), H100).rejected
    two = next(r for r in rejected if r.degrees == Degrees(tensor=2))
    assert "KV" in two.reason


def test_kimi_k2_5_int4_takes_eight_h200():
    p = best(ask("kimi-k2.5", "int4", 131072, 4), H200)
    assert (p.degrees, p.nodes, p.verdict) == (Degrees(tensor=8), 1, "fits")


def test_kimi_k2_5_int4_does_not_fit_one_node_of_h100():
    found = search(ask("kimi-k2.5", "int4", 131072, 1), nodes("p5.48xlarge"))
    assert found.best is None or found.best.nodes > 1
    plain = [r for r in found.rejected if r.degrees == Degrees(tensor=8)]
    assert plain
    assert "GiB" in plain[0].reason


def test_more_long_requests_for_kimi_use_context_parallelism_before_a_second_node():
    p = best(ask("kimi-k2.5", "int4", 131072, 32), H200)
    assert (p.degrees, p.replicas) == (Degrees(tensor=8, decode_context=8), 1)


def test_glm5_on_h100_needs_two_nodes():
    p = best(ask("glm-5", "fp8", 65536, 4), H100)
    assert (p.degrees, p.nodes, p.verdict) == (Degrees(tensor=8, pipeline=2), 2, "fits")


def test_glm5_on_h200_is_cheaper_and_one_node_serves_it():
    h200 = best(ask("glm-5", "fp8", 65536, 4), H200)
    assert (h200.degrees, h200.nodes) == (Degrees(tensor=8), 1)
    either = best(ask("glm-5", "fp8", 65536, 4), H100 + H200)
    assert either.hardware.gpu.key == "h200"
    assert either.dollars < best(ask("glm-5", "fp8", 65536, 4), H100).dollars


@pytest.mark.parametrize(
    ("model", "precision", "context", "concurrency", "hardware", "gpus"),
    [
        ("qwen3-32b", "fp8", 32768, 4, H100, 1),
        ("llama-3.3-70b", "bf16", 32768, 8, H100, 4),
        ("kimi-k2.5", "int4", 131072, 4, H200, 8),
        ("glm-5", "fp8", 65536, 4, H100, 16),
    ],
)
def test_never_dearer_than_the_reference_row(model, precision, context, concurrency, hardware, gpus):
    p = best(ask(model, precision, context, concurrency), hardware)
    assert p.degrees.gpus * p.replicas <= gpus


def test_a_model_of_one_gpu_grows_by_replicas_not_by_tensor_parallelism():
    p = best(ask("qwen3-32b", "fp8", 32768, 16), H100)
    assert (p.degrees, p.replicas, p.hardware.instance.name) == (Degrees(), 4, "p5.4xlarge")
    assert p.replicas * p.concurrency(32768, "low") >= 16


def test_fp8_blocks_keep_qwen3_235b_from_slicing_its_experts_eight_ways():
    question = ask("qwen3-235b-a22b", "fp8", 32768, 4, fixed=Fixed(tensor=8))
    assert best(question, nodes("p5.48xlarge")).degrees == Degrees(tensor=8, expert=True)
    sliced = evaluate(question, H100[1], Degrees(tensor=8), 1)
    assert isinstance(sliced, str)
    assert "FP8 blocks of 128" in sliced


def test_multi_node_layouts_keep_tensor_parallelism_inside_the_node():
    for question in (ask("glm-5", "fp8", 65536, 4), ask("llama-3.1-405b", "bf16", 32768, 4)):
        found = search(question, H100)
        for p in (found.best, *found.runners_up):
            if p is not None and p.nodes > 1:
                assert p.degrees.tensor <= p.hardware.instance.gpus
                assert p.degrees.pipeline == p.nodes


def test_one_gpu_nodes_never_form_a_group():
    found = search(ask("llama-3.3-70b", "bf16", 32768, 8), nodes("p5.4xlarge"))
    assert found.best is None
    assert all(r.nodes == 1 for r in found.rejected)


def test_what_fits_only_as_expected_is_tight_and_says_so():
    question = ask("qwen3-32b", "fp8", 32768, 1, replicas=1)
    roomy = evaluate(question, H100[0], Degrees(), 1)
    assert isinstance(roomy, Placement)
    low, expected = (roomy.concurrency(32768, bound) for bound in ("low", "expected"))
    between = next(
        c for c in range(20000, 40960, 16) if roomy.concurrency(c, "low") < 4 <= roomy.concurrency(c, "expected")
    )
    tight = evaluate(replace(question, context=between, concurrency=4), H100[0], Degrees(), 1)
    assert low < expected
    assert isinstance(tight, Placement)
    assert tight.verdict == "tight"
    assert "GiB of KV asked" in tight.reason


def test_a_sure_placement_wins_over_a_cheaper_tight_one():
    question = ask("qwen3-32b", "fp8", 35000, 4, replicas=1)
    found = search(question, H100)
    tight = evaluate(question, H100[0], Degrees(), 1)
    assert found.best is not None
    if isinstance(tight, Placement) and tight.verdict == "tight":
        assert found.best.verdict == "fits"
        assert any(r.reason.startswith("tight") for r in found.rejected)


def test_a_quota_rejects_what_takes_more_gpus():
    found = search(ask("glm-5", "fp8", 65536, 4), nodes("p5.48xlarge", most=8))
    assert found.best is None
    assert any("8 may be bought" in r.reason for r in found.rejected)


def test_a_latency_objective_buys_more_gpus():
    easy = best(ask("llama-3.3-70b", "fp8", 16384, 4), H100)
    strict = best(ask("llama-3.3-70b", "fp8", 16384, 4, tpot=0.75 * easy.tpot), H100)
    assert strict.degrees.gpus * strict.replicas > easy.degrees.gpus * easy.replicas
    assert strict.tpot < easy.tpot
    assert strict.slo_miss == 0


def test_an_objective_nothing_meets_is_reported_as_missed():
    assert best(ask("llama-3.3-70b", "bf16", 16384, 4, tpot=0.0001), H100).slo_miss > 1


def test_a_request_rate_gets_replicas_that_keep_up():
    slow = best(ask("qwen3-32b", "fp8", 16384, 0, rate=1.0), H100)
    fast = best(ask("qwen3-32b", "fp8", 16384, 0, rate=12.0), H100)
    assert fast.degrees.gpus * fast.replicas > slow.degrees.gpus * slow.replicas
    share = 12.0 / fast.replicas
    running = running_requests(fast.speed, TYPICAL, share, 1024.0)
    assert running <= fast.per_replica
    assert fast.concurrency(fast.held_tokens, "low") >= running


def test_littles_law_holds_between_rate_latency_and_running_requests():
    p = best(ask("qwen3-32b", "fp8", 16384, 0, rate=1.0), H100)
    assert p.running == pytest.approx(max(1.0, 1.0 / p.replicas * (p.ttft + TYPICAL.output * p.tpot)), rel=0.05)


def test_recurrent_models_get_fewer_slots_than_blocks():
    for model in ("qwen3-next-80b-a3b", "qwen3.5-27b"):
        p = best(ask(model, None, 131072, 16), H200)
        assert p.max_num_seqs <= p.sizing.num_blocks_low
        assert not p.sizing.refusals


@given(st.integers(1, 2000))
def test_slots_cover_the_demand_in_steps_and_never_the_blind_default(needed):
    chosen = slots(needed)
    assert chosen >= needed
    assert chosen % 8 == 0
    assert chosen <= max(256, needed + 7)


COMMON = st.sampled_from(["llama-3.1-8b", "qwen3-32b", "qwen3-30b-a3b", "gemma-3-27b", "gpt-oss-20b"])


@settings(max_examples=40, deadline=None)
@given(COMMON, st.sampled_from([4096, 8192, 16384, 32768]), st.integers(1, 64))
def test_the_best_placement_holds_the_demand_at_the_lower_bound(model, context, concurrency):
    p = best(ask(model, None, context, concurrency), H100 + H200)
    assert p.verdict == "fits"
    assert p.replicas * p.concurrency(context, "low") >= concurrency
    assert p.replicas * p.per_replica >= concurrency
    assert p.per_replica <= p.max_num_seqs * p.degrees.data


@settings(max_examples=30, deadline=None)
@given(COMMON, st.sampled_from([4096, 8192, 16384]), st.integers(1, 32))
def test_asking_more_never_costs_less(model, context, concurrency):
    less = best(ask(model, None, context, concurrency), H100)
    more = best(ask(model, None, context, concurrency * 2), H100)
    longer = best(ask(model, None, context * 2, concurrency), H100)
    assert less.dollars <= more.dollars + 1e-9
    assert less.dollars <= longer.dollars + 1e-9


@settings(max_examples=30, deadline=None)
@given(COMMON, st.sampled_from([8192, 32768]), st.integers(1, 32))
def test_every_rejected_cheaper_placement_is_cheaper_and_has_a_reason(model, context, concurrency):
    found = search(ask(model, None, context, concurrency), H100 + H200)
    assert found.best is not None
    for r in found.rejected:
        assert r.dollars < found.best.dollars
        assert r.reason
    for p in found.runners_up:
        assert p.dollars >= found.best.dollars - 1e-9

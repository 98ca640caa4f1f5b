"""The closed-form speed model against measured points, and the laws it must keep."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.catalog.gpus import find_gpu
from headwater.catalog.models import find_model
from headwater.sizing.precision import parse_format
from headwater.sizing.throughput import Layout, MeasuredPoint, Speed, Workload, speed_shape


def speed(model: str, precision: str | None, kv_bytes: float, gpu: str, **layout: int | bool) -> Speed:
    found = find_model(model)
    shape = speed_shape(found.architecture, parse_format(found, precision), kv_bytes)
    return Speed(shape, Layout(find_gpu(gpu), **layout))


LLAMA = ("llama-3.1-8b", "bf16", 2.0, "h100")
LONG = Workload(20000, 2000)


@pytest.mark.parametrize(
    ("kv_bytes", "context", "measured", "allowed"),
    [(2.0, 1024, 6.48e-3, 0.03), (2.0, 125000, 11.9e-3, 0.05), (1.0, 125000, 9.54e-3, 0.05)],
)
def test_single_stream_steps_of_llama_8b_are_the_measured_ones(kv_bytes, context, measured, allowed):
    predicted = speed("llama-3.1-8b", "bf16", kv_bytes, "h100").step(1, context + 64)
    assert predicted == pytest.approx(measured, rel=allowed)


@pytest.mark.parametrize(
    ("model", "precision", "kv_bytes", "measured", "allowed"),
    [
        ("llama-3.1-8b", "bf16", 2.0, 450.3, 0.05),
        ("llama-3.1-8b", "bf16", 1.0, 517.5, 0.15),
        ("gpt-oss-20b", None, 2.0, 831.6, 0.05),
    ],
)
def test_eight_clients_with_long_prompts_get_the_measured_tokens(model, precision, kv_bytes, measured, allowed):
    assert speed(model, precision, kv_bytes, "h100").tokens_per_second(LONG, 8) == pytest.approx(measured, rel=allowed)


def test_time_to_first_token_of_a_long_prompt_is_near_the_measured_one():
    assert speed(*LLAMA).ttft(LONG, 1) == pytest.approx(0.7636, rel=0.1)


def test_gpt_oss_single_stream_is_inside_its_band():
    s = speed("gpt-oss-20b", None, 2.0, "h100")
    assert abs(s.step(1, 1088) / 4.05e-3 - 1) < s.band[0]


def dense_points(shared: Path) -> list[dict]:
    points = json.loads((shared / "data" / "perf_points.json").read_text())["points"]
    return [p for p in points if p["model"].startswith("Llama-3.3-70B") and p["concurrency"] == "max"]


def test_dense_maximum_throughput_points_stay_inside_the_dense_band_or_close_to_it(shared):
    points = dense_points(shared)
    assert len(points) >= 6
    errors = []
    for p in points:
        s = speed("llama-3.3-70b", "fp8", 1.0, p["gpu"].lower(), tensor=p["num_gpus"])
        room = (s.layout.gpu.visible_gib * 0.9 - 34 - 3) * 2**30
        work = Workload(p["isl"], p["osl"])
        batch = min(1024.0, room / (80 * 2 * 4 * 128) / work.mean_context)
        errors.append(s.tokens_per_second(work, batch) / p["output_tok_s"] - 1)
    assert max(abs(e) for e in errors) < 0.25
    assert sorted(abs(e) for e in errors)[len(errors) // 2] < 0.15


MIXTURES = {  # id of the measured point: model, precision, KV bytes, layout, requests at once
    45: ("nemotron-3-nano", "fp8", 1.0, {}, 1024),
    15: ("gpt-oss-120b", None, 1.0, {}, 256),
    19: ("gpt-oss-20b", None, 1.0, {}, 512),
    20: ("qwen3-235b-a22b", "fp8", 2.0, {"data": 4, "expert": True}, 1024),
    21: ("qwen3-235b-a22b", "fp8", 2.0, {"data": 4, "expert": True}, 256),
    22: ("qwen3-235b-a22b", "fp8", 2.0, {"data": 8, "expert": True}, 1024),
    25: ("llama-4-maverick", "fp8", 1.0, {"data": 8, "expert": True}, 2048),
}


@pytest.mark.parametrize("point", sorted(MIXTURES))
def test_measured_mixtures_of_experts_stay_inside_their_band(shared, point):
    points = {p["id"]: p for p in json.loads((shared / "data" / "perf_points.json").read_text())["points"]}
    p, (model, precision, kv_bytes, layout, batch) = points[point], MIXTURES[point]
    s = speed(model, precision, kv_bytes, p["gpu"].lower(), **layout)
    predicted = s.tokens_per_second(Workload(p["isl"], p["osl"]), batch)
    below, above = s.band
    assert predicted * (1 - below) <= p["output_tok_s"] <= predicted * (1 + above)


def test_dense_small_and_large_mixtures_have_their_own_bands():
    dense = speed(*LLAMA).band
    small = speed("gpt-oss-20b", None, 2.0, "h100").band
    large = speed("deepseek-v3", "fp8", 2.0, "h200", tensor=8).band
    assert dense == (0.20, 0.20)
    assert small == (0.40, 0.40)
    assert large == (0.60, 0.40)


def test_one_measured_point_rescales_the_model_through_itself():
    s = speed("deepseek-v3", "fp8", 2.0, "h200", tensor=8)
    work = Workload(4000, 500)
    point = MeasuredPoint(work, batch=32, tokens_per_second=0.4 * s.tokens_per_second(work, 32))
    assert s.rescaled(point).tokens_per_second(work, 32) == pytest.approx(point.tokens_per_second)
    latencies = MeasuredPoint(work, batch=32, ttft=2 * s.ttft(work, 1), tpot=1.7 * s.tpot(work, 32))
    fixed = s.rescaled(latencies)
    assert fixed.ttft(work, 1) == pytest.approx(latencies.ttft)
    assert fixed.tpot(work, 32) == pytest.approx(latencies.tpot)
    assert fixed.band[0] < s.band[0]


def test_an_overloaded_replica_never_answers():
    s = speed(*LLAMA)
    work = Workload(4000, 500)
    most = s.tokens_per_second(work, 32) / work.output
    assert s.ttft(work, 32, rate=most * 1.01) == float("inf")
    assert s.ttft(work, 32, rate=most * 0.5) > s.ttft(work, 32)


def test_sliding_windows_bound_what_a_long_context_reads():
    s = speed("gpt-oss-20b", None, 2.0, "h100").shape
    full = speed(*LLAMA).shape
    every_layer_full = 24 * 2 * 8 * 64 * 2 * 131072
    assert every_layer_full * 0.5 <= s.kv_read(131072, 1) < every_layer_full * 0.51
    assert full.kv_read(131072, 1) == pytest.approx(2 * full.kv_read(65536, 1))


def test_a_latent_cache_is_read_whole_by_every_tensor_parallel_rank():
    mla = speed("deepseek-v3", "fp8", 2.0, "h200").shape
    gqa = speed(*LLAMA).shape
    assert mla.kv_read(8192, 8) == mla.kv_read(8192, 1)
    assert gqa.kv_read(8192, 8) == pytest.approx(gqa.kv_read(8192, 1) / 8)


MODELS = st.sampled_from(["llama-3.1-8b", "qwen3-32b", "gpt-oss-20b", "deepseek-v3", "gemma-3-27b"])


@given(MODELS, st.integers(1, 512), st.integers(16, 200_000))
def test_steps_grow_with_batch_and_context_and_are_never_free(model, batch, context):
    s = speed(model, None, 2.0, "h200", tensor=8)
    assert 0 < s.step(batch, context) <= s.step(batch + 1, context) * (1 + 1e-9)
    assert s.step(batch, context) <= s.step(batch, context + 100) * (1 + 1e-9)


@given(MODELS, st.integers(1, 100_000))
def test_longer_prompts_take_longer_and_more_gpus_take_less(model, tokens):
    s = {tp: speed(model, None, 2.0, "h200", tensor=tp) for tp in (1, 8)}
    assert 0 < s[8].prefill(tokens) < s[8].prefill(tokens + 1000)
    assert s[8].prefill(tokens + 4000) < s[1].prefill(tokens + 4000)


@given(MODELS, st.integers(1, 255))
def test_more_users_never_make_the_replica_slower_in_total(model, batch):
    s = speed(model, None, 2.0, "h200", tensor=8)
    work = Workload(1000, 500)
    assert s.tokens_per_second(work, batch) <= s.tokens_per_second(work, batch + 1) * 1.02
    assert s.tpot(work, batch) <= s.tpot(work, batch + 1) * (1 + 1e-9)

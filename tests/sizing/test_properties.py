"""Properties that hold for every model, GPU, version and layout."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.catalog.gpus import find_gpu, load_gpus
from headwater.catalog.models import find_model, load_models
from headwater.sizing.engine import SizingRequest, size
from headwater.sizing.precision import default_format
from headwater.sizing.units import SizingError
from tests.sizing.conftest import ask

KEYS = sorted(k for k, m in load_models().items() if m.architecture.layers)
VERSIONS = ["0.8.5", "0.11.0", "0.16.0", "0.17.1", "0.19.0", "0.20.1", "0.22.0", "0.26.0", "0.31.0", "0.33.0"]
REQUESTS = {
    "key": st.sampled_from(KEYS),
    "gpu": st.sampled_from(sorted(load_gpus())),
    "tp": st.sampled_from([1, 2, 4, 8]),
    "pp": st.integers(1, 3),
    "version": st.sampled_from(VERSIONS),
    "length": st.integers(256, 200_000),
    "seqs": st.integers(1, 1024),
}


def sized(key, gpu="h100", version="0.31.0", length=8192, seqs=64, **options):
    model = find_model(key)
    return size(
        SizingRequest(
            model.architecture,
            default_format(model),
            find_gpu(gpu),
            vllm_version=version,
            max_model_len=length,
            max_num_seqs=seqs,
            **options,
        )
    )


@settings(max_examples=300)
@given(**REQUESTS)
def test_addends_sum_to_the_budget_and_nothing_is_negative(key, gpu, tp, pp, version, length, seqs):
    s = sized(key, gpu, version, length, seqs, tp=tp, pp=pp)
    parts = [s.weights, s.activation, s.state, s.non_torch, s.cuda_graph, s.kv]
    assert sum(p.expected for p in parts) == pytest.approx(s.budget_gib + s.shortfall_gib, abs=1e-9)
    assert sum(a.gib.expected for a in s.addends if a.sign) == pytest.approx(s.budget_gib + s.shortfall_gib, abs=1e-9)
    for p in parts:
        assert 0 <= p.low <= p.expected <= p.high
    assert s.shortfall_gib >= 0
    assert s.num_blocks_low <= s.num_blocks <= s.num_blocks_high
    assert min(s.num_blocks_low, s.kv_tokens, s.kv_tokens_printed) >= 0
    assert not (s.fits and s.tight)
    weights = sum(a.gib.expected for a in s.addends if not a.sign and a.name.startswith("  "))
    assert weights == pytest.approx(s.weights.expected, rel=1e-9)


@given(**REQUESTS, more=st.integers(1, 100_000))
def test_a_longer_request_never_raises_concurrency(key, gpu, tp, pp, version, length, seqs, more):
    s = sized(key, gpu, version, length, seqs, tp=tp, pp=pp)
    for bound in ("low", "expected", "high"):
        assert s.concurrency_at(length + more, bound) <= s.concurrency_at(length, bound)
    if s.fits_at(length + more, 4):
        assert s.fits_at(length, 4)
        assert s.fits_at(length + more, 3)


@given(key=REQUESTS["key"], gpu=REQUESTS["gpu"], version=REQUESTS["version"], seqs=st.integers(1, 512))
def test_more_sequences_never_leave_more_cache(key, gpu, version, seqs):
    few, many = (sized(key, gpu, version, seqs=n, max_num_batched_tokens=8192) for n in (seqs, 2 * seqs))
    assert many.kv.expected - many.shortfall_gib <= few.kv.expected - few.shortfall_gib + 1e-9


@given(key=REQUESTS["key"], gpu=REQUESTS["gpu"], version=REQUESTS["version"], util=st.floats(0.3, 0.94))
def test_more_utilization_never_leaves_less_cache(key, gpu, version, util):
    low, high = (sized(key, gpu, version, gpu_memory_utilization=u) for u in (util, util + 0.05))
    assert high.kv.expected >= low.kv.expected
    assert high.kv.low >= low.kv.low


@given(key=REQUESTS["key"], gpu=REQUESTS["gpu"], version=REQUESTS["version"])
def test_weights_never_grow_with_the_gpu_count(key, gpu, version):
    sizes = [sized(key, gpu, version, tp=tp).weights.expected for tp in (1, 2, 4, 8)]
    # Rounding of the allocator and padding of narrow expert slices may give back a little.
    assert all(b <= a * 1.02 for a, b in itertools.pairwise(sizes))


@given(key=REQUESTS["key"], tp=REQUESTS["tp"], version=REQUESTS["version"])
def test_an_fp8_cache_never_holds_fewer_tokens(key, tp, version):
    plain, small = (sized(key, version=version, tp=tp, kv_cache_dtype=d) for d in ("bfloat16", "fp8"))
    if plain.plan.exact and plain.kv.expected > 1:
        assert small.concurrency_at(8192) >= plain.concurrency_at(8192) * 0.93  # sparse workspaces, block rounding


@given(key=REQUESTS["key"], tp=REQUESTS["tp"])
def test_an_unstated_version_spans_every_generation(key, tp):
    model = find_model(key)
    request = SizingRequest(model.architecture, default_format(model), find_gpu("h100"), tp=tp, max_model_len=8192)
    s = size(request)
    assert not s.calibrated
    for version in VERSIONS:
        known = sized(key, version=version, tp=tp, seqs=None)
        if version in {"0.8.5", "0.19.0", "0.31.0"}:
            assert s.kv.low <= known.kv.low + 1e-9
            assert s.kv.high >= known.kv.high - 1e-9


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"tp": 0}, "start at 1"),
        ({"gpu_memory_utilization": 1.2}, "at most 1"),
        ({"max_model_len": 0}, "at least 1"),
        ({"pp": 99}, "only 32 layers"),
        ({"vllm_version": "nightly"}, "not a version"),
    ],
)
def test_impossible_requests_say_which_bound(options, match):
    with pytest.raises(SizingError, match=match):
        ask("llama-3.1-8b", **options)


def test_recurrent_models_are_refused_with_more_sequences_than_blocks():
    s = ask("qwen3-next-80b", "fp8", tp=1, vllm_version="0.31.0", max_model_len=131_072)
    assert s.max_num_seqs == 1024 > s.num_blocks_low
    assert not s.fits
    assert "max_num_seqs" in s.refusals[0]
    fewer = ask("qwen3-next-80b", "fp8", tp=2, vllm_version="0.31.0", max_model_len=131_072, max_num_seqs=64)
    assert fewer.fits
    assert not fewer.refusals


def test_a_budget_above_what_is_free_at_start_is_refused():
    s = ask("llama-3.1-8b", vllm_version="0.31.0", gpu_memory_utilization=0.999)
    assert "lower gpu_memory_utilization" in s.refusals[0]
    assert not s.fits


def test_little_memory_outside_the_budget_is_said_aloud(measured_run):
    s = ask("gpt-oss-20b", tp=2, **measured_run)
    assert s.headroom_gib < 1
    assert any("outside the budget" in n for n in s.notes)


def test_enforce_eager_takes_no_graph_memory():
    s = ask("llama-3.1-8b", vllm_version="0.31.0", enforce_eager=True)
    assert (s.cuda_graph.high, s.cuda_graph_capture.high) == (0, 0)


def test_kv_cache_memory_bytes_replaces_the_calculation():
    s = ask("llama-3.1-8b", vllm_version="0.31.0", kv_cache_memory_bytes=20 * 2**30)
    assert (s.kv.low, s.kv.expected, s.kv.high) == (20, 20, 20)


def test_data_parallel_experts_widen_the_band():
    plain = ask("deepseek-v3.1", gpu="h200", tp=8, vllm_version="0.31.0", max_num_seqs=128)
    spread = ask("deepseek-v3.1", gpu="h200", dp=8, ep=True, vllm_version="0.31.0", max_num_seqs=128)
    assert spread.kv.expected - spread.kv.low > plain.kv.expected - plain.kv.low + 3


def test_the_whole_catalogue_is_sized_whatever_the_layout():
    models = [(m.architecture, default_format(m)) for m in load_models().values() if m.listed and m.architecture.layers]
    for (arch, fmt), gpu, length, dtype, tp in itertools.product(
        models, ("h100", "h200"), (8192, 32_768, 131_072), ("auto", "fp8"), (1, 2, 4, 8)
    ):
        request = SizingRequest(
            arch, fmt, find_gpu(gpu), tp=tp, max_model_len=length, kv_cache_dtype=dtype, vllm_version="0.31.0"
        )
        s = size(request)
        assert s.kv.low <= s.kv.expected <= s.kv.high
        assert s.num_blocks >= 0

"""KV cache: bytes per token, pages, groups, blocks per request, the two meanings of the printed token count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.catalog.models import find_model, load_models
from headwater.sizing.kvcache import Cell, growth_bytes_per_token, plan_kv
from headwater.sizing.units import SizingError
from tests.sizing.conftest import ask

CACHED = sorted(k for k, m in load_models().items() if m.architecture.layers)


def plan(key, dtype="bfloat16", **cell):
    return plan_kv(find_model(key).architecture, Cell(dtype, **cell))


@pytest.mark.parametrize(
    ("key", "dtype", "tp", "bytes_per_token"),
    [
        ("llama-3.1-8b", "bfloat16", 1, 131_072),
        ("llama-3.1-8b", "fp8", 1, 65_536),
        ("llama-3.3-70b", "bfloat16", 4, 81_920),
        ("deepseek-v2-lite", "bfloat16", 1, 31_104),
        ("deepseek-v2-lite", "bfloat16", 4, 31_104),  # latent caches are not split
        ("kimi-k2.5", "bfloat16", 8, 70_272),
        ("glm-5", "bfloat16", 8, 100_152),
        ("glm-5", "fp8", 8, 78 * (656 + 132)),
        ("deepseek-v3.2", "fp8", 8, 61 * (656 + 132)),
        ("glm-5.2", "bfloat16", 1, 78 * 1152 + 21 * 132),
        ("gpt-oss-20b", "bfloat16", 1, 24_576),
        ("qwen3-30b-a3b", "bfloat16", 4, 24_576),
        ("qwen3-30b-a3b", "bfloat16", 8, 24_576),  # 4 KV heads: copied beyond
        ("qwen3.5-27b", "bfloat16", 1, 65_536),
    ],
)
def test_growth_per_token_counts_full_context_layers_only(key, dtype, tp, bytes_per_token):
    assert growth_bytes_per_token(find_model(key).architecture, dtype, tp) == bytes_per_token


def test_a_model_of_one_kind_has_one_group():
    p = plan("llama-3.1-8b")
    assert (p.group_count, p.block_bytes, p.padding_layers) == (1, (2_097_152,), 0)
    assert p.blocks_per_request(8192, 8192) == 512


def test_latent_and_indexer_caches_share_one_group():
    p = plan("glm-5", "fp8", tp=8, block_size=64)
    assert p.group_count == 1
    assert p.block_bytes == (64 * 78 * (656 + 132),)


def test_gemma3_pools_its_layers_as_vllm_logged():
    p = plan("gemma-3-27b")
    assert (p.group_count, p.block_bytes[0], p.padding_layers) == (7, 1_310_720, 8)
    assert p.blocks_per_request(8192, 8192) == 512 + 6 * 513


def test_gpt_oss_alternates_so_it_has_two_groups():
    p = plan("gpt-oss-20b")
    assert (p.group_count, p.block_bytes[0]) == (2, 393_216)
    assert p.blocks_per_request(8192, 8192) == 512 + 513


def test_a_window_shorter_than_the_request_stops_growing():
    p = plan("gpt-oss-20b")
    assert p.blocks_per_request(65_536, 1024) == 4096 + -(-(127 + 1024) // 16) + 1


def test_chunked_layers_need_no_extra_block():
    p = plan("llama-4-scout", tp=8)
    assert p.group_count == 4  # 12 full, 36 chunked
    assert p.blocks_per_request(32_768, 8192) == 2048 + 3 * (8192 + 8192) // 16


def test_smaller_pages_get_larger_blocks_when_they_divide():
    p = plan("gemma-4-26b-a4b")
    sizes = {g.kind: g.block_size for g in p.groups}
    assert sizes == {"sliding": 16, "full": 32}  # full layers store half the bytes a token


@pytest.mark.parametrize(
    ("key", "tp", "block"),
    [("qwen3-next-80b", 1, 544), ("qwen3-next-80b", 2, 544), ("qwen3.5-27b", 1, 784), ("qwen3.5-27b", 2, 784)],
)
def test_hybrid_blocks_grow_until_they_hold_a_recurrent_state(key, tp, block):
    assert plan(key, tp=tp).block_size == block


def test_recurrent_groups_take_a_constant_number_of_blocks():
    p = plan("qwen3-next-80b")
    short, long = (p.blocks_per_request(n, 8192) for n in (544, 54_400))
    assert long - short == 99
    assert short == 1 + 3 * 2
    assert plan("qwen3-next-80b", prefix_caching=False).blocks_per_request(544, 8192) == 1 + 3
    assert plan("qwen3-next-80b", prefix_caching=False, speculative=2).blocks_per_request(544, 8192) == 1 + 3 * 3


def test_nemotron_keeps_a_cache_in_its_six_attention_layers_only():
    p = plan("nemotron-3-nano")
    assert {(g.kind, g.layers, g.times) for g in p.groups} == {("full", 6, 1), ("recurrent", 23, 4)}


def test_decode_context_parallelism_divides_stored_positions():
    p = plan("kimi-k2.5", tp=8, dcp=8)
    assert p.blocks_per_request(131_072, 8192) == 131_072 // 8 // 16


def test_a_draft_layer_joins_the_pool():
    one, two = plan("deepseek-v3"), plan("deepseek-v3", draft_layers=1)
    assert two.block_bytes[0] / one.block_bytes[0] == pytest.approx(62 / 61)


def test_pipeline_stages_store_their_own_layers():
    assert plan("deepseek-v3", pp=2).block_bytes == (31 * 576 * 2 * 16, 30 * 576 * 2 * 16)


@pytest.mark.parametrize("dtype", ["fp7", "turboquant_k8v4", ""])
def test_an_unknown_cache_type_is_refused(dtype):
    with pytest.raises(SizingError, match="not sized"):
        plan("llama-3.1-8b", dtype)


def test_cache_types_of_another_attention_are_refused():
    with pytest.raises(SizingError, match="does not apply"):
        plan("llama-3.1-8b", "nvfp4_ds_mla")
    with pytest.raises(SizingError, match="does not apply"):
        plan("deepseek-v3", "nvfp4")


def test_the_printed_tokens_mean_different_things_before_and_after_the_change():
    old = ask("gpt-oss-20b", vllm_version="0.19.0", max_model_len=131_072)
    new = ask("gpt-oss-20b", vllm_version="0.26.0", max_model_len=131_072)
    assert old.kv_tokens_printed == old.num_blocks // 2 * 16
    assert new.kv_tokens_printed == int(new.num_blocks / new.blocks_per_request * 131_072)


@given(key=st.sampled_from(CACHED), tokens=st.integers(1, 300_000), more=st.integers(0, 100_000))
def test_a_longer_request_never_needs_fewer_blocks(key, tokens, more):
    p = plan(key)
    assert 1 <= p.blocks_per_request(tokens, 8192) <= p.blocks_per_request(tokens + more, 8192)


@given(key=st.sampled_from(CACHED), tp=st.sampled_from([1, 2, 4, 8]))
def test_an_fp8_cache_never_takes_more_bytes_per_token(key, tp):
    arch = find_model(key).architecture
    assert growth_bytes_per_token(arch, "fp8", tp) <= growth_bytes_per_token(arch, "bfloat16", tp)

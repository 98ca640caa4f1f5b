"""Weights: what is split and what is copied, pipeline stages, formats, the allocator's rounding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.catalog.models import find_model, load_models
from headwater.sizing.disk import checkpoint_bytes
from headwater.sizing.precision import default_format, format_of_name, parse_format, weight_format
from headwater.sizing.shards import Split, layer_tensors
from headwater.sizing.units import GIB, SizingError
from headwater.sizing.weights import allocated, count_parameters, stage_layers, stage_weights

COUNTABLE = sorted(k for k, m in load_models().items() if m.architecture.layers and k != "deepseek-v4-flash")
MIB = 1 << 20


def total(key, precision=None, **split):
    model = find_model(key)
    return stage_weights(model.architecture, parse_format(model, precision), Split(**split))


@given(key=st.sampled_from(COUNTABLE), tp=st.sampled_from([1, 2, 4, 8]))
def test_tensor_shards_sum_to_the_whole_plus_what_is_copied(key, tp):
    arch = find_model(key).architecture
    for layer, _ in arch.runs:
        whole = layer_tensors(layer, arch.hidden, Split())
        shard = layer_tensors(layer, arch.hidden, Split(tp=tp))
        assert len(whole) == len(shard)
        for w, s in zip(whole, shard, strict=True):
            assert s.elements <= w.elements
            assert s.elements * tp >= w.elements * 0.999999  # split exactly, or copied


@given(key=st.sampled_from(COUNTABLE), pp=st.integers(1, 4))
def test_pipeline_stages_sum_to_the_whole(key, pp):
    model = find_model(key)
    whole = stage_weights(model.architecture, default_format(model), Split())[0]
    stages = stage_weights(model.architecture, default_format(model), Split(pp=pp))
    for part in ("attention", "mlp", "shared", "experts", "absorbed", "embedding", "tower"):
        assert sum(getattr(s, part) for s in stages) == pytest.approx(getattr(whole, part), rel=1e-9)
    assert all(s.rotary == whole.rotary for s in stages)
    if model.architecture.tied and pp > 1:
        assert stages[-1].head == pytest.approx(whole.embedding, rel=1e-6)


@given(key=st.sampled_from(COUNTABLE), dp=st.sampled_from([1, 2, 4]), tp=st.sampled_from([1, 2, 4, 8]))
def test_experts_take_the_same_bytes_sliced_or_whole_when_they_divide(key, dp, tp):
    arch = find_model(key).architecture
    if arch.moe is None or arch.moe.experts % (dp * tp) or arch.moe.intermediate % (dp * tp):
        return
    fmt = weight_format("bf16")
    sliced = stage_weights(arch, fmt, Split(tp=tp, dp=dp))[0].experts
    whole = stage_weights(arch, fmt, Split(tp=tp, dp=dp, ep=True))[0].experts
    assert sliced == pytest.approx(whole, rel=2e-2)  # equal but for the allocator's rounding


@pytest.mark.parametrize(
    ("layers", "pp", "stages"),
    [
        (78, 4, (19, 20, 20, 19)),
        (61, 2, (31, 30)),
        (32, 4, (8, 8, 8, 8)),
        (126, 4, (31, 32, 32, 31)),
        (5, 4, (1, 1, 2, 1)),
    ],
)
def test_layers_are_dealt_to_stages_as_vllm_does(layers, pp, stages):
    assert stage_layers(layers, pp) == stages


def test_a_partition_that_does_not_add_up_is_refused():
    assert stage_layers(48, 2, (16, 32)) == (16, 32)
    with pytest.raises(SizingError, match="does not give 48 layers"):
        stage_layers(48, 2, (16, 16))


def test_latent_down_projections_and_indexers_are_copied_on_every_rank():
    arch = find_model("glm-5").architecture
    layer = arch.layers[-1]
    one, eight = (layer_tensors(layer, arch.hidden, Split(tp=t)) for t in (1, 8))
    fused = 6144 * (2048 + 576)
    index = 2048 * 32 * 128
    for tensors in (one, eight):
        sizes = [t.elements for t in tensors]
        assert fused in sizes
        assert index in sizes


def test_kv_projections_are_copied_below_one_head_per_rank():
    arch = find_model("qwen3-30b-a3b").architecture  # 4 KV heads
    qkv = [layer_tensors(arch.layers[0], arch.hidden, Split(tp=t))[0].elements for t in (4, 8)]
    assert qkv == [2048 * (8 * 128 + 2 * 128), 2048 * (4 * 128 + 2 * 128)]


def test_shared_experts_are_copied_under_data_and_expert_parallelism():
    v3 = find_model("deepseek-v3").architecture
    fmt = weight_format("bf16")
    split = stage_weights(v3, fmt, Split(tp=8))[0].shared
    copied = stage_weights(v3, fmt, Split(tp=8, dp=2, ep=True))[0].shared
    assert copied == pytest.approx(8 * split, rel=1e-2)


def test_tensors_are_rounded_as_the_caching_allocator_does():
    assert allocated(5 * MIB + 3) == 5 * MIB + 3  # below 10 MiB they share segments
    assert allocated(31.5 * MIB) == 32 * MIB  # half a MiB is not split off
    assert allocated(24.5 * MIB) == 24.5 * MIB  # 1.5 MiB is
    assert allocated(32 * MIB) == 32 * MIB


@pytest.mark.parametrize(
    ("name", "tp", "gib"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 1, 14.25),
        ("RedHatAI/Qwen2.5-7B-Instruct-fp8-dynamic", 1, 8.14),
        ("moonshotai/Kimi-Dev-72B", 2, 67.82),
        ("moonshotai/Kimi-Dev-72B", 4, 34.01),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", 4, 16.96),
        ("openai/gpt-oss-20b", 1, 13.64),
        ("openai/gpt-oss-20b", 4, 3.63),
    ],
)
def test_loaded_weights_agree_with_vllms_line(name, tp, gib):
    model, fmt = format_of_name(name)
    loaded = stage_weights(model.architecture, fmt, Split(tp=tp))[0].total / GIB
    assert loaded == pytest.approx(gib, abs=0.02)


def test_int4_is_not_half_a_byte_per_parameter():
    model = find_model("kimi-k2.5")
    size = checkpoint_bytes(model.architecture, parse_format(model, "int4")) / 1e9
    assert size == pytest.approx(595, rel=0.01)  # the published size on disk


def test_minimax_fp8_equals_its_published_bytes():
    model = find_model("minimax-m2")
    text = count_parameters(model.architecture)
    w = stage_weights(model.architecture, parse_format(model, "fp8"), Split(), "files")[0]
    assert (w.total - w.rotary) / 1e9 == pytest.approx(230.12, rel=5e-3)
    assert text < 230.12e9


@pytest.mark.parametrize(
    ("key", "precision", "name", "repository"),
    [
        ("qwen3-32b", "fp8", "fp8-block", "Qwen/Qwen3-32B-FP8"),
        ("qwen3-32b", "int4", "awq", "Qwen/Qwen3-32B-AWQ"),
        ("kimi-k2.5", "int4", "int4-g32", "moonshotai/Kimi-K2.5"),
        ("kimi-k2.5", "nvfp4", "nvfp4-mlp", "nvidia/Kimi-K2.5-NVFP4"),
        ("llama-3.3-70b", "fp8", "fp8-channel", "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"),
        ("llama-3.1-405b", "fp8", "fbgemm-fp8", "meta-llama/Llama-3.1-405B-Instruct-FP8"),
        ("gpt-oss-120b", None, "mxfp4", "openai/gpt-oss-120b"),
        ("qwen3-8b", "fp16", "fp16", "Qwen/Qwen3-8B"),
    ],
)
def test_a_precision_word_finds_its_checkpoint(key, precision, name, repository):
    fmt = parse_format(find_model(key), precision)
    assert (fmt.name, fmt.repository) == (name, repository)


def test_fp8_without_a_checkpoint_is_quantised_while_loading_and_says_so():
    fmt = parse_format(find_model("phi-4"), "fp8")
    assert fmt.online
    assert "--quantization fp8" in fmt.notes[0]
    assert fmt.repository == "microsoft/phi-4"


@pytest.mark.parametrize(("key", "precision"), [("phi-4", "int4"), ("deepseek-v3", "bf16"), ("gpt-oss-120b", "int8")])
def test_a_precision_without_a_checkpoint_is_refused_with_what_exists(key, precision):
    with pytest.raises(SizingError, match=r"it has .*\("):
        parse_format(find_model(key), precision)


@pytest.mark.parametrize("word", ["gguf", "bitsandbytes", "exl3"])
def test_formats_of_unknown_size_are_refused_with_the_reason(word):
    with pytest.raises(SizingError, match="not sized"):
        parse_format(find_model("llama-3.1-8b"), word)


def test_an_unknown_precision_names_the_nearest():
    with pytest.raises(SizingError, match="did you mean 'fp8-block'"):
        parse_format(find_model("qwen3-32b"), "fp8-blok")


@pytest.mark.parametrize(
    ("name", "word", "expected", "cache"),
    [
        ("nvidia/Llama-3.1-8B-Instruct-FP8", None, "fp8-tensor", "fp8"),
        ("Qwen/Qwen3-8B-FP8", "fp8", "fp8-block", None),
        ("RedHatAI/Qwen2.5-7B-Instruct-fp8-dynamic", "compressed-tensors", "fp8-channel", None),
        ("meta-llama/Llama-3.1-8B-Instruct", "fp8", "fp8-online", None),
        ("meta-llama/Llama-3.1-8B-Instruct", "bfloat16", "bf16", None),
        ("meta-llama/Llama-3.1-8B-Instruct", "float32", "fp32", None),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "awq int4", "awq", None),
        ("openai/gpt-oss-20b", "auto", "mxfp4", None),
        ("RedHatAI/Mistral-Small-3.1-24B-Instruct-2503-quantized.w8a8", None, "int8-w8a8", None),
    ],
)
def test_names_and_quantisation_words_give_the_format(name, word, expected, cache):
    _, fmt = format_of_name(name, word)
    assert (fmt.name, fmt.kv_cache) == (expected, cache)


def test_a_quantisation_word_that_does_not_say_the_layout_is_refused():
    with pytest.raises(SizingError, match="does not say how"):
        format_of_name("meta-llama/Llama-3.1-8B-Instruct", "compressed-tensors")

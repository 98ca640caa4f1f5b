"""The catalogue: every model countable, every name findable, every parser known to the vLLM versions we deploy."""

from __future__ import annotations

import json

import pytest

from headwater.catalog.gpus import UnknownGpuError, find_gpu, gpu_from_size, load_gpus
from headwater.catalog.models import UnknownModelError, find_model, load_models
from headwater.sizing.kvcache import growth_bytes_per_token
from headwater.sizing.units import SizingError
from headwater.sizing.weights import count_parameters


def reference(shared):
    return json.loads((shared / "data" / "models.json").read_text())["models"]


def test_all_49_reference_models_are_listed(shared):
    listed = {m.key for m in load_models().values() if m.listed}
    assert len(listed) == 49
    assert {find_model(entry["hf_repo"]).key for entry in reference(shared)} == listed


def test_44_parameter_counts_equal_the_reference_to_the_integer(shared):
    counted = [e for e in reference(shared) if e["params_computed_text_only_no_mtp"] is not None]
    assert len(counted) == 44
    for entry in counted:
        arch = find_model(entry["hf_repo"]).architecture
        assert count_parameters(arch) == entry["params_computed_text_only_no_mtp"], entry["hf_repo"]


def test_kv_growth_equals_the_reference_where_it_has_one(shared):
    for entry in reference(shared):
        wanted = entry["kv_bytes_per_token_growth_bf16_unsharded"]
        if wanted is not None:
            assert growth_bytes_per_token(find_model(entry["hf_repo"]).architecture) == wanted, entry["hf_repo"]


@pytest.mark.parametrize(
    ("key", "billions"), [("nemotron-3-nano", 31.58), ("gemma-4-26b-a4b", 25.25), ("kimi-k3", 2779.5)]
)
def test_models_without_a_reference_count_come_near_their_label(key, billions):
    assert count_parameters(find_model(key).architecture) / 1e9 == pytest.approx(billions, rel=1e-3)


def test_a_model_without_known_shapes_is_refused_with_the_reason():
    with pytest.raises(SizingError, match=r"not found in public material.*config\.json"):
        count_parameters(find_model("mistral-large-3").architecture)


def test_parsers_are_known_to_every_vllm_version_of_the_reference(shared):
    versions = json.loads((shared / "data" / "vllm_surface.json").read_text())["versions"].values()
    tools = set.intersection(*(set(v["tool_parsers"]) for v in versions))
    reasoning = set.intersection(*(set(v["reasoning_parsers"]) for v in versions))
    for model in load_models().values():
        assert model.tool_parser is None or model.tool_parser in tools, model.key
        assert model.reasoning_parser is None or model.reasoning_parser in reasoning, model.key


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("kimi-k2.5", "kimi-k2.5"),
        ("Qwen/Qwen3-32B", "qwen3-32b"),
        ("qwen3-32b", "qwen3-32b"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "llama-3.3-70b"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "llama-3.1-8b"),
        ("Qwen3-30B-A3B-FP8", "qwen3-30b-a3b"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "qwen3-30b-a3b-instruct-2507"),
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("moonshotai/Kimi-K2-Thinking", "kimi-k2-thinking"),
        ("moonshotai/Kimi-K2-Instruct", "kimi-k2"),
        ("nvidia/DeepSeek-V3.1-NVFP4", "deepseek-v3.1"),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "qwen2.5-7b"),
    ],
)
def test_names_as_people_write_them_find_their_model(name, key):
    assert find_model(name).key == key


@pytest.mark.parametrize("name", ["qwen3-31b", "kimi-k2.4", "Llama-3.1-9B-Instruct"])
def test_an_unknown_name_is_refused_with_the_nearest(name):
    with pytest.raises(UnknownModelError, match="did you mean"):
        find_model(name)


def test_a_gguf_file_is_refused_with_the_reason():
    with pytest.raises(UnknownModelError, match="bytes per parameter are not known"):
        find_model("bartowski/Llama-3.1-8B-Instruct-GGUF")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("H100-80GB SXM", "h100"),
        ("NVIDIA H200", "h200"),
        ("H200-141GB", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("A100-SXM4-40GB", "a100-40gb"),
        ("L40S 48GB", "l40s"),
        ("DGX Spark GB10 128GB", "gb10"),
        ("RTX PRO 6000 96GB", "rtx-pro-6000"),
        ("H20 141GB", "h20"),
    ],
)
def test_gpu_names_as_logs_write_them_are_found(name, key):
    assert find_gpu(name).key == key


def test_an_unknown_gpu_is_refused_and_one_with_a_size_gets_a_stand_in():
    with pytest.raises(UnknownGpuError, match="not in the catalogue"):
        find_gpu("MI300X")
    with pytest.raises(UnknownGpuError, match="states no size"):
        gpu_from_size("some GPU")
    assert gpu_from_size("24GB GPU").visible_gib == pytest.approx(23.4)


def test_every_gpu_says_how_well_its_memory_is_known():
    for gpu in load_gpus().values():
        assert gpu.status
        assert gpu.visible_gib <= gpu.memory_gb * 1.03
        assert gpu.source
        assert gpu.as_of

"""Models from their own config.json: real files read or refused by name; catalogue models give the same numbers."""

from __future__ import annotations

import json
from pathlib import Path

import aiconfigurator_core
import pytest

from headwater.catalog.architecture import Attention
from headwater.catalog.models import UnknownModelError, find_model
from headwater.sizing.config_layers import READERS
from headwater.sizing.disk import checkpoint_bytes
from headwater.sizing.from_config import architecture_from_config
from headwater.sizing.kvcache import growth_bytes_per_token
from headwater.sizing.precision import format_of_name
from headwater.sizing.shards import Split
from headwater.sizing.units import SizingError
from headwater.sizing.weights import count_parameters, stage_weights

FOLDER = Path(aiconfigurator_core.__file__).parent / "model_configs"
FILES = sorted(p for p in FOLDER.glob("*_config.json") if "hf_quant" not in p.name)
REFUSED = ("DeepseekV4", "MiniMaxM3", "Step3p7")
NAMELESS_FORMATS = ("NVFP4", "Static-PerTensor")
"""Checkpoints whose name does not say which tensors are quantised; the config does."""

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}


def name_of(path):
    return path.name.removesuffix("_config.json").replace("--", "/")


def test_the_reference_wheel_still_holds_its_configs():
    assert len(FILES) >= 80


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_real_config_is_read_or_refused_by_name(path):
    cls = json.loads(path.read_text())["architectures"][0]
    if cls not in READERS:
        assert cls.startswith(REFUSED)
        with pytest.raises(SizingError, match=rf"{cls} is not modelled; the nearest we model is \w+"):
            architecture_from_config(path)
        return
    arch, fmt = architecture_from_config(path, name_of(path))
    assert fmt.repository == name_of(path)
    assert arch.name == cls
    try:
        known = find_model(name_of(path))
    except UnknownModelError:
        assert count_parameters(arch) > 0
        return
    same = known.architecture
    assert count_parameters(arch) == count_parameters(same)
    assert arch.layers == same.layers
    for dtype in ("bfloat16", "fp8"):
        assert growth_bytes_per_token(arch, dtype) == growth_bytes_per_token(same, dtype)
    assert (arch.tied, arch.state_dtype, arch.mtp_layers) == (same.tied, same.state_dtype, same.mtp_layers)
    assert arch.tower == same.tower
    if "MiniMax-M2.7-NVFP4" not in path.name:  # this copy states a shorter context than the publisher's
        assert (arch.max_position, arch.rotary, arch.rope_length) == (same.max_position, same.rotary, same.rope_length)
    if not any(word in path.name for word in NAMELESS_FORMATS):
        by_name = format_of_name(name_of(path))[1]
        for split in (Split(), Split(tp=8)):
            assert stage_weights(arch, fmt, split)[0].total == pytest.approx(
                stage_weights(same, by_name, split)[0].total
            )


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 120.7),
        ("nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8", 549.3),
        ("nvidia--Nemotron-H-56B-Base-8K", 56.3),
        ("nvidia--Llama-3_3-Nemotron-Super-49B-v1", 49.9),
        ("XiaomiMiMo--MiMo-V2-Flash", 308.8),
        ("nvidia--Gemma-4-31B-IT-NVFP4", 30.8),
        ("Qwen--Qwen3-VL-30B-A3B-Instruct", 30.5),
    ],
)
def test_models_outside_the_catalogue_come_near_their_label(name, billions):
    arch, _ = architecture_from_config(FOLDER / f"{name}_config.json")
    assert count_parameters(arch) / 1e9 == pytest.approx(billions, rel=2e-3)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("moonshotai--Kimi-K2.5", {"attention": "bf16", "shared": "bf16", "experts": "int4-g32"}),
        ("nvidia--Kimi-K2.5-NVFP4", {"attention": "bf16", "shared": "nvfp4", "experts": "nvfp4"}),
        ("nvidia--GLM-5.2-NVFP4", {"attention": "bf16", "shared": "bf16", "experts": "nvfp4"}),
        ("nvidia--Qwen3.6-27B-NVFP4", {"attention": "fp8-tensor", "mlp": "nvfp4", "head": "nvfp4"}),
        ("openai--gpt-oss-120b", {"attention": "bf16", "experts": "mxfp4"}),
        ("Qwen--Qwen3-32B-FP8", {"attention": "fp8-block", "mlp": "fp8-block", "head": "bf16"}),
    ],
)
def test_quantisation_blocks_say_which_tensors_shrink(name, parts):
    _, fmt = architecture_from_config(FOLDER / f"{name}_config.json")
    assert {k: getattr(fmt, k).name for k in parts} == parts


def test_modelopt_files_beside_the_config_are_read():
    _, fmt = architecture_from_config(FOLDER / "nvidia--Llama-3.1-70B-Instruct-FP8_config.json")
    assert (fmt.attention.name, fmt.kv_cache, fmt.head.name) == ("fp8-tensor", "fp8", "bf16")


def test_a_plain_config_gives_shapes_and_format():
    arch, fmt = architecture_from_config(LLAMA, "me/mine")
    assert count_parameters(arch) == 8_030_261_248
    assert (fmt.name, fmt.repository, arch.rotary) == ("bf16", "me/mine", (128, 1))


def test_head_size_is_stated_or_hidden_over_heads():
    arch, _ = architecture_from_config({**LLAMA, "head_dim": 64})
    assert isinstance(arch.layers[0].mixer, Attention)
    assert arch.layers[0].mixer.head_dim == 64


def test_rope_scaling_lengthens_context_and_table():
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}
    arch, _ = architecture_from_config({**LLAMA, "max_position_embeddings": 32_768, "rope_scaling": yarn})
    assert (arch.max_position, arch.rope_length) == (131_072, 131_072)


def test_per_layer_attention_lists_decide_windows():
    kinds = ["sliding_attention", "full_attention"] * 16
    arch, _ = architecture_from_config(
        {**LLAMA, "architectures": ["MistralForCausalLM"], "layer_types": kinds, "sliding_window": 512}
    )
    assert arch.local_layers == 16
    with pytest.raises(SizingError, match="'strange_attention' is not modelled"):
        architecture_from_config({**LLAMA, "layer_types": ["strange_attention"] * 32})
    with pytest.raises(SizingError, match="names 3 layers"):
        architecture_from_config({**LLAMA, "layer_types": ["full_attention"] * 3})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"architectures": ["LlamaForCausalLLM"]}, "the nearest we model is LlamaForCausalLM"),
        ({"architectures": None}, "`architectures` is missing"),
        ({"vocab_size": None}, "`vocab_size` is missing"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "bitsandbytes"),
        ({"quantization_config": {"quant_method": "hqq"}}, "'hqq' is not modelled"),
        ({"quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 64]}}, "only \\[128, 128\\]"),
    ],
)
def test_a_config_we_cannot_read_is_refused_with_the_reason(change, match):
    with pytest.raises(SizingError, match=match):
        architecture_from_config({**LLAMA, **change})


def test_awq_and_gptq_blocks_are_read():
    awq = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
    _, fmt = architecture_from_config({**LLAMA, "quantization_config": awq})
    assert fmt.attention.bytes == pytest.approx(0.5 + 2.5 / 128)
    assert fmt.marlin
    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True, "lm_head": True}
    _, fmt = architecture_from_config({**LLAMA, "quantization_config": gptq})
    assert fmt.head.bytes == pytest.approx(0.5 + 2 / 128)


def test_precision_applies_to_plain_weights_only():
    assert architecture_from_config(LLAMA, precision="fp8")[1].online
    fp8 = {**LLAMA, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    assert architecture_from_config(fp8, precision="fp8")[1].name.startswith("fp8-block")
    with pytest.raises(SizingError, match="contradicts"):
        architecture_from_config(fp8, precision="int4")
    with pytest.raises(SizingError, match="of its own"):
        architecture_from_config(LLAMA, precision="int4")


def test_the_index_files_total_checks_the_count(tmp_path):
    arch, fmt = architecture_from_config(LLAMA)
    right = round(checkpoint_bytes(arch, fmt))
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))

    def read(total):
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": total}}))
        return architecture_from_config(tmp_path)[1]

    assert read(right).notes == ()
    assert "shapes give -4." in read(round(right * 1.05)).notes[0]
    with pytest.raises(SizingError, match="not what its config"):
        read(right * 2)


def test_a_missing_or_broken_file_is_named(tmp_path):
    with pytest.raises(SizingError, match="cannot be read"):
        architecture_from_config(tmp_path / "none.json")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(SizingError, match="not JSON"):
        architecture_from_config(tmp_path)

"""Architectures outside the catalogue, from configs as published: parameter totals and cache bytes by hand."""

from __future__ import annotations

import pytest

from headwater.sizing.config_layers import READERS
from headwater.sizing.from_config import architecture_from_config
from headwater.sizing.kvcache import Cell, growth_bytes_per_token, plan_kv
from headwater.sizing.units import SizingError
from headwater.sizing.weights import count_parameters


def config(cls, hidden, layers, heads, kv, width, vocabulary, **more):
    made = {
        "architectures": [cls],
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "intermediate_size": width,
        "vocab_size": vocabulary,
        "max_position_embeddings": 32768,
    }
    return made | more


PUBLISHED = {
    "Qwen2.5-Coder-7B": (7.616, 57_344, config("Qwen2ForCausalLM", 3584, 28, 28, 4, 18944, 152064)),
    "Mistral-Nemo": (12.248, 163_840, config("MistralForCausalLM", 5120, 40, 32, 8, 14336, 131072, head_dim=128)),
    "Phi-3-medium": (13.960, 204_800, config("Phi3ForCausalLM", 5120, 40, 40, 10, 17920, 32064)),
    "Yi-34B": (34.389, 245_760, config("LlamaForCausalLM", 7168, 60, 56, 8, 20480, 64000)),
    "Llama-7B": (6.738, 524_288, config("LlamaForCausalLM", 4096, 32, 32, None, 11008, 32000)),
    "Command-R": (34.981, 1_310_720, config("CohereForCausalLM", 8192, 40, 64, 64, 22528, 256000)),
    "OLMo-2-7B": (7.299, 524_288, config("Olmo2ForCausalLM", 4096, 32, 32, 32, 11008, 100352)),
    "GLM-4-9B": (
        9.400,
        40_960,
        config("Glm4ForCausalLM", 4096, 40, 32, 2, 13696, 151552, head_dim=128, attention_bias=True),
    ),
    "Seed-OSS-36B": (
        36.151,
        262_144,
        config("SeedOssForCausalLM", 5120, 64, 80, 8, 27648, 155136, head_dim=128, attention_bias=True),
    ),
    "InternLM2-7B": (7.738, 131_072, config("InternLM2ForCausalLM", 4096, 32, 32, 8, 14336, 92544, bias=False)),
    "SmolLM3-3B": (3.075, 73_728, config("SmolLM3ForCausalLM", 2048, 36, 16, 4, 11008, 128256)),
    "OLMoE-1B-7B": (
        6.919,
        131_072,
        config("OlmoeForCausalLM", 2048, 16, 16, 16, 1024, 50304, num_experts=64, num_experts_per_tok=8),
    ),
    "Ling-lite": (
        16.8,
        57_344,
        config(
            "BailingMoeForCausalLM",
            2048,
            28,
            16,
            4,
            5632,
            126464,
            num_experts=64,
            num_experts_per_tok=6,
            num_shared_experts=2,
            moe_intermediate_size=1408,
        ),
    ),
    "ERNIE-4.5-21B-A3B": (
        21.83,
        57_344,
        config(
            "Ernie4_5_MoeForCausalLM",
            2560,
            28,
            20,
            4,
            12288,
            103424,
            moe_num_experts=64,
            moe_k=6,
            moe_intermediate_size=1536,
            moe_num_shared_experts=2,
            moe_layer_start_index=1,
        ),
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_totals_and_cache_bytes_of_models_outside_the_catalogue(name):
    billions, growth, content = PUBLISHED[name]
    arch, _ = architecture_from_config({k: v for k, v in content.items() if v is not None})
    assert count_parameters(arch) / 1e9 == pytest.approx(billions, rel=2e-3)
    assert growth_bytes_per_token(arch) == growth


def test_qwen2_5_vl_counts_its_tower():
    content = config("Qwen2_5_VLForConditionalGeneration", 3584, 28, 28, 4, 18944, 152064)
    content["vision_config"] = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "out_hidden_size": 3584}
    arch, _ = architecture_from_config(content)
    assert arch.tower is not None
    total = count_parameters(arch) + arch.tower.parameters + arch.tower.projector
    assert total / 1e9 == pytest.approx(8.292, rel=1e-3)


def test_every_fourth_layer_of_command_a_has_the_whole_context():
    content = config("Cohere2ForCausalLM", 12288, 64, 96, 8, 36864, 256000, head_dim=128, sliding_window=4096)
    arch, _ = architecture_from_config(content)
    assert arch.local_layers == 48
    assert growth_bytes_per_token(arch) == 16 * 2 * 8 * 128 * 2
    plan = plan_kv(arch, Cell("bfloat16"))
    assert (plan.group_count, plan.block_bytes[0]) == (4, 16 * 16 * 2 * 8 * 128 * 2)


@pytest.mark.parametrize(
    ("cls", "more", "nearest"),
    [
        ("JambaForCausalLM", {"mamba_d_state": 16, "num_experts": 16}, "NemotronHForCausalLM"),
        ("FalconH1ForCausalLM", {"mamba_d_ssm": 4096}, "NemotronHForCausalLM"),
        ("LongcatFlashForCausalLM", {"kv_lora_rank": 512}, "DeepseekV3ForCausalLM"),
        ("HunYuanMoEV1ForCausalLM", {"num_experts": 64}, "Qwen3MoeForCausalLM"),
        ("Starcoder2ForCausalLM", {}, "LlamaForCausalLM"),
    ],
)
def test_an_unknown_class_is_refused_with_the_class_of_the_same_structure(cls, more, nearest):
    assert cls not in READERS
    with pytest.raises(SizingError, match=f"{cls} is not modelled; the nearest we model is {nearest}"):
        architecture_from_config(config(cls, 2048, 8, 16, 8, 8192, 32000, **more))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_hidden_layers", 10**8),
        ("hidden_size", 0),
        ("num_attention_heads", "32"),
        ("vocab_size", 0),
        ("quantization_config", "fp8"),
        ("rope_scaling", [1]),
    ],
)
def test_a_config_no_model_has_is_refused_at_once(key, value):
    with pytest.raises(SizingError, match=r"config\.json"):
        architecture_from_config(config("LlamaForCausalLM", 4096, 32, 32, 8, 14336, 128256) | {key: value})

"""Layers from a model's ``config.json``: one reader per family of architecture classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headwater.catalog.architecture import (
    Attention,
    GatedDelta,
    Indexer,
    Kda,
    Layer,
    Mamba2,
    Mixer,
    Mla,
    Mlp,
    Moe,
)
from headwater.catalog.shapes import indexer_layers
from headwater.sizing.config_values import Config, ConfigValueError, head_dim, inside, listed, number, real
from headwater.sizing.units import SizingError

Reader = Callable[[Config, str], tuple[Layer, ...]]


def _count(c: Config) -> int:
    return number(c, "num_hidden_layers", "n_layers", "num_layers")


def _kinds(c: Config, cls: str) -> list[str]:
    """``full``, ``sliding``, ``chunked`` or ``linear`` for each layer."""
    n = _count(c)
    stated = listed(c, "layer_types", "layers_block_type")
    if stated:
        names = {
            "attention": "full",
            "full_attention": "full",
            "sliding_attention": "sliding",
            "chunked_attention": "chunked",
            "linear_attention": "linear",
        }
        if len(stated) < n:
            raise SizingError(f"config.json: `layer_types` names {len(stated)} layers, `num_hidden_layers` says {n}")
        unknown = sorted({t for t in stated[:n] if t not in names})
        if unknown:
            raise SizingError(
                f"config.json: layer type {unknown[0]!r} is not modelled; known: {', '.join(sorted(names))}"
            )
        return [names[t] for t in stated[:n]]
    if cls.startswith("Llama4"):
        every = 4
        return ["full" if (i + 1) % every == 0 else "chunked" for i in range(n)]
    if cls.startswith("Gemma2"):
        return ["sliding" if i % 2 == 0 else "full" for i in range(n)]
    if cls.startswith(("Gemma3", "Gemma4")):
        every = number(c, "sliding_window_pattern", default=6)
        return ["full" if (i + 1) % every == 0 else "sliding" for i in range(n)]
    if cls.startswith("GptOss"):
        return ["sliding" if i % 2 == 0 else "full" for i in range(n)]
    if cls.startswith(("Qwen3Next", "Qwen3_5")):
        every = number(c, "full_attention_interval", default=4)
        return ["full" if (i + 1) % every == 0 else "linear" for i in range(n)]
    if cls.startswith("Qwen") and c.get("use_sliding_window") and c.get("sliding_window"):
        first = number(c, "max_window_layers", default=0, least=0)
        return ["sliding" if i >= first else "full" for i in range(n)]
    if cls.startswith("Cohere2"):
        every = number(c, "sliding_window_pattern", default=4)
        return ["full" if (i + 1) % every == 0 else "sliding" for i in range(n)]
    if cls.startswith("Mistral") and c.get("sliding_window"):
        return ["sliding"] * n
    return ["full"] * n


_BIASED = ("Qwen2", "GptOss", "PhiFor")
_NORMED = ("Qwen3", "Gemma3", "Gemma4", "Olmo", "HunYuan")
_GATED = ("Qwen3Next", "Qwen3_5")


def _attention(c: Config, cls: str, kind: str) -> Attention:
    d, kv = head_dim(c), number(c, "num_key_value_heads", "num_attention_heads")
    value = number(c, "v_head_dim", default=d)
    if kind == "full" and c.get("global_head_dim"):
        d = value = number(c, "global_head_dim")
        kv = number(c, "num_global_key_value_heads", default=kv)
    if kind == "sliding" and c.get("swa_num_key_value_heads"):
        kv, d, value = (
            number(c, "swa_num_key_value_heads"),
            number(c, "swa_head_dim", default=d),
            number(c, "swa_v_head_dim", default=value),
        )
    normed = cls.startswith(_NORMED) or bool(c.get("use_qk_norm") and not cls.startswith("Llama4"))
    return Attention(
        heads=number(c, "num_attention_heads"),
        kv_heads=kv,
        head_dim=d,
        value_dim=value,
        bias=cls.startswith(_BIASED) or bool(c.get("attention_bias")),
        output_bias=cls.startswith("PhiFor"),
        qk_norm=normed,
        gated=cls.startswith(_GATED) or bool(c.get("attn_output_gate")),
        window=number(c, "sliding_window") if kind == "sliding" else None,
        chunk=number(c, "attention_chunk_size") if kind == "chunked" else None,
    )


def _gated_delta(c: Config) -> GatedDelta:
    return GatedDelta(
        number(c, "linear_num_key_heads"),
        number(c, "linear_num_value_heads"),
        number(c, "linear_key_head_dim"),
        number(c, "linear_value_head_dim"),
        number(c, "linear_conv_kernel_dim", default=4),
    )


def _mixers(c: Config, cls: str) -> list[Mixer]:
    delta = _gated_delta(c) if c.get("linear_num_key_heads") else None
    shared = number(c, "num_kv_shared_layers", default=0, least=0)
    cache: dict[str, Mixer] = {}
    found: list[Mixer] = []
    kinds = _kinds(c, cls)
    for i, kind in enumerate(kinds):
        if kind == "linear":
            if delta is None:
                raise SizingError(f"config.json: {cls} has linear-attention layers but no `linear_num_key_heads`")
            found.append(delta)
            continue
        mixer = cache.setdefault(kind, _attention(c, cls, kind))
        if shared and i >= len(kinds) - shared and isinstance(mixer, Attention):
            mixer = replace(mixer, stores_kv=False)
        found.append(mixer)
    return found


def _moe(c: Config, cls: str) -> Moe | None:
    experts = number(c, "num_experts", "num_local_experts", "n_routed_experts", default=0, least=0)
    if not experts:
        return None
    width = number(c, "moe_intermediate_size", "expert_intermediate_size", "intermediate_size")
    one_shared = ("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "share_expert_dim")
    shared = number(c, *one_shared, default=0, least=0)
    if not shared:
        shared = number(c, "n_shared_experts", "num_shared_experts", default=0, least=0) * width
    if cls.startswith("Llama4"):
        shared = width
    return Moe(
        experts=experts,
        active=number(
            c, "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts", "moe_topk"
        ),
        intermediate=width,
        shared=shared,
        shared_gate=cls.startswith(("Qwen2Moe", "Qwen3Next", "Qwen3_5Moe")),
        gated=not cls.startswith("NemotronH"),
        bias=cls.startswith("GptOss"),
        latent=number(c, "moe_latent_size", "routed_expert_hidden_size", default=0, least=0) or None,
    )


def _per_layer(key: str, entries: list[Any], n: int) -> list[Any]:
    if len(entries) < n:
        raise ConfigValueError(key, f"{len(entries)} entries", f"one for each of the {n} layers")
    return entries[:n]


def _is_sparse(c: Config, cls: str, n: int) -> list[bool]:
    """Which layers hold experts."""
    frequency = c.get("moe_layer_freq")
    if isinstance(frequency, list):
        return [bool(x) for x in _per_layer("moe_layer_freq", frequency, n)]
    if types := listed(c, "mlp_layer_types"):
        return [t == "sparse" for t in _per_layer("mlp_layer_types", types, n)]
    if cls.startswith("Llama4"):
        step = number(c, "interleave_moe_layer_step", default=1)
        holding = listed(c, "moe_layers")
        return [(i in holding) if holding else (i + 1) % step == 0 for i in range(n)]
    first = number(c, "first_k_dense_replace", default=0, least=0)
    step = number(c, "decoder_sparse_step", default=1, least=0) or 1
    every = number(c, "moe_layer_freq", default=1)
    dense = listed(c, "mlp_only_layers")
    return [i >= first and i % every == 0 and (i + 1) % step == 0 and i not in dense for i in range(n)]


def read_attention(c: Config, cls: str) -> tuple[Layer, ...]:
    """Grouped attention of any window, recurrent layers between, dense or mixture-of-experts feed-forward."""
    if number(c, "hidden_size_per_layer_input", default=0, least=0):
        raise SizingError(f"{cls} with per-layer embeddings (`hidden_size_per_layer_input`) is not modelled")
    if isinstance(c.get("intermediate_size"), list):
        raise SizingError(f"{cls} with a feed-forward width per layer (a list as `intermediate_size`) is not modelled")
    n, moe = _count(c), _moe(c, cls)
    width = "intermediate_size_mlp" if cls.startswith("Llama4") else "intermediate_size"
    dense_width = number(c, width, default=0, least=0)
    plain = cls.startswith("PhiFor")
    mlp = Mlp(dense_width, gated=not plain, bias=plain or bool(c.get("mlp_bias"))) if dense_width else None
    sparse = _is_sparse(c, cls, n) if moe else [False] * n
    beside = cls.startswith("Gemma4") and moe is not None
    norms = 4 if cls == "Glm4ForCausalLM" else 1 if plain or cls.startswith("Cohere") else 2
    layers = []
    for mixer, holds in zip(_mixers(c, cls), sparse, strict=True):
        if not holds and mlp is None:
            raise SizingError("config.json: `intermediate_size` is missing for a dense layer")
        layers.append(Layer(mixer, mlp if not holds or beside else None, moe if holds else None, norms))
    return tuple(layers)


def read_mimo(c: Config, cls: str) -> tuple[Layer, ...]:
    """MiMo-V2: ``hybrid_layer_pattern`` marks sliding layers with 1."""
    pattern = listed(c, "hybrid_layer_pattern")
    return read_attention({**c, "layer_types": ["sliding_attention" if x else "full_attention" for x in pattern]}, cls)


def _latent(c: Config, indexer: bool) -> Mla:
    sparse = number(c, "index_topk", default=0, least=0) > 0
    return Mla(
        heads=number(c, "num_attention_heads"),
        q_lora=number(c, "q_lora_rank", default=0, least=0) or None,
        kv_lora=number(c, "kv_lora_rank"),
        rope=number(c, "qk_rope_head_dim", least=0),
        nope=number(c, "qk_nope_head_dim"),
        value_dim=number(c, "v_head_dim"),
        indexer=Indexer(number(c, "index_n_heads"), number(c, "index_head_dim"), number(c, "index_topk"))
        if sparse and indexer
        else None,
        sparse=sparse,
        gated=bool(c.get("mla_use_output_gate")),
    )


def _indexed(c: Config, n: int) -> tuple[bool, ...]:
    if types := listed(c, "indexer_types"):
        return tuple(t == "full" for t in _per_layer("indexer_types", types, n))
    offset = number(c, "index_skip_topk_offset", default=2, least=0)
    return indexer_layers(n, number(c, "index_topk_freq", default=1), offset, c.get("index_topk_pattern"))


def read_latent(c: Config, cls: str) -> tuple[Layer, ...]:
    """Multi-head latent attention, with or without a sparse indexer; Kimi delta attention between where listed."""
    n, moe = _count(c), _moe(c, cls)
    width = number(c, "intermediate_size", default=0, least=0)
    mlp = Mlp(width) if width else None
    sparse = _is_sparse(c, cls, n) if moe else [False] * n
    linear, kda = c.get("linear_attn_config") or {}, None
    with inside("linear_attn_config"):
        full = {i - 1 for i in listed(linear, "full_attn_layers")}
        if linear:
            conv, heads = number(linear, "short_conv_kernel_size", default=4), number(linear, "num_heads")
            kda = Kda(heads, number(linear, "head_dim"), conv, bool(linear.get("use_full_rank_gate")))
    indexed = _indexed(c, n)
    latent = {flag: _latent(c, flag) for flag in set(indexed)}
    layers = []
    for i in range(n):
        mixer: Mixer = kda if kda is not None and i not in full else latent[indexed[i]]
        layers.append(Layer(mixer, None if sparse[i] else mlp, moe if sparse[i] else None))
    return tuple(layers)


def read_nemotron_h(c: Config, cls: str) -> tuple[Layer, ...]:
    """Mamba-2, attention, experts and dense layers, one thing a layer."""
    letters = {"mamba": "M", "attention": "*", "moe": "E", "mlp": "-"}
    stated = listed(c, "layers_block_type")
    pattern = "".join(letters.get(t, "?") for t in stated) if stated else c.get("hybrid_override_pattern", "")
    unknown = sorted(set(pattern) - set("M*E-"))
    if unknown or not pattern:
        raise SizingError(f"config.json: block pattern {pattern!r} of {cls} is empty or has unknown blocks")
    moe = _moe(c, cls)
    table = {
        "M": lambda: Layer(
            Mamba2(
                number(c, "mamba_num_heads"),
                number(c, "mamba_head_dim"),
                number(c, "ssm_state_size"),
                number(c, "n_groups"),
                number(c, "conv_kernel", default=4),
            ),
            norms=1,
        ),
        "*": lambda: Layer(_attention(c, cls, "full"), norms=1),
        "E": lambda: Layer(None, moe=moe, norms=1),
        "-": lambda: Layer(None, mlp=Mlp(number(c, "intermediate_size"), gated=False), norms=1),
    }
    made = {letter: table[letter]() for letter in sorted(set(pattern))}
    return tuple(made[letter] for letter in pattern)


def read_blocks(c: Config, cls: str) -> tuple[Layer, ...]:
    """Puzzle models (DeciLM): every layer states its own KV sharing and width, or drops a part."""
    heads, h = number(c, "num_attention_heads"), number(c, "hidden_size")
    layers = []
    for i, block in enumerate(listed(c, "block_configs")):
        attention, ffn = block["attention"], block["ffn"]
        if attention.get("replace_with_linear") or ffn.get("replace_with_linear"):
            raise SizingError(f"{cls} with a part replaced by a linear layer is not modelled")
        mixer = None
        if not attention.get("no_op"):
            d = head_dim(c)
            with inside(f"block_configs[{i}].attention"):
                shared = number(attention, "n_heads_in_group")
                if shared > heads:
                    raise ConfigValueError("n_heads_in_group", shared, f"at most the {heads} query heads")
            mixer = Attention(heads, heads // shared, d, d)
        mlp = None
        if not ffn.get("no_op"):
            with inside(f"block_configs[{i}].ffn"):
                width = int(2 * real(ffn, "ffn_mult", 1.0, 1024) * h / 3)
            mlp = Mlp(-(-width // 256) * 256)
        layers.append(Layer(mixer, mlp, norms=(mixer is not None) + (mlp is not None)))
    if not layers:
        raise SizingError(f"config.json: {cls} states no `block_configs`")
    return tuple(layers)


READERS: dict[str, Reader] = {
    **dict.fromkeys(
        (
            "LlamaForCausalLM",
            "MistralForCausalLM",
            "Mistral3ForConditionalGeneration",
            "Qwen2ForCausalLM",
            "Qwen3ForCausalLM",
            "Qwen3VLForConditionalGeneration",
            "Qwen2_5_VLForConditionalGeneration",
            "Phi3ForCausalLM",
            "PhiForCausalLM",
            "GraniteForCausalLM",
            "SeedOssForCausalLM",
            "SmolLM3ForCausalLM",
            "InternLM2ForCausalLM",
            "InternLM3ForCausalLM",
            "CohereForCausalLM",
            "Cohere2ForCausalLM",
            "Olmo2ForCausalLM",
            "Glm4ForCausalLM",
            "OlmoeForCausalLM",
            "BailingMoeForCausalLM",
            "BailingMoeV2ForCausalLM",
            "Ernie4_5ForCausalLM",
            "Ernie4_5_MoeForCausalLM",
            "HunYuanDenseV1ForCausalLM",
            "MiMoForCausalLM",
            "GemmaForCausalLM",
            "Gemma2ForCausalLM",
            "Gemma3ForCausalLM",
            "Gemma3ForConditionalGeneration",
            "Gemma4ForCausalLM",
            "Gemma4ForConditionalGeneration",
            "MixtralForCausalLM",
            "Qwen2MoeForCausalLM",
            "Qwen3MoeForCausalLM",
            "Qwen3VLMoeForConditionalGeneration",
            "MiniMaxM2ForCausalLM",
            "Glm4MoeForCausalLM",
            "GptOssForCausalLM",
            "Llama4ForCausalLM",
            "Llama4ForConditionalGeneration",
            "Qwen3NextForCausalLM",
            "Qwen3_5ForCausalLM",
            "Qwen3_5MoeForCausalLM",
            "Qwen3_5ForConditionalGeneration",
            "Qwen3_5MoeForConditionalGeneration",
        ),
        read_attention,
    ),
    **dict.fromkeys(
        (
            "DeepseekV2ForCausalLM",
            "DeepseekV3ForCausalLM",
            "DeepseekV32ForCausalLM",
            "KimiVLForConditionalGeneration",
            "KimiK25ForConditionalGeneration",
            "KimiLinearForCausalLM",
            "KimiK3ForConditionalGeneration",
            "GlmMoeDsaForCausalLM",
            "Glm4MoeLiteForCausalLM",
            "MistralLarge3ForCausalLM",
        ),
        read_latent,
    ),
    "MiMoV2FlashForCausalLM": read_mimo,
    "NemotronHForCausalLM": read_nemotron_h,
    "DeciLMForCausalLM": read_blocks,
}
"""Architecture classes we model, as vLLM names them."""

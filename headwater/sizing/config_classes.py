"""What differs between architecture classes in how they write the same facts, and the class nearest to one unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

Config = dict[str, Any]

TIED_BY_DEFAULT = ("Gemma", "Cohere", "SmolLM3", "Ernie4_5")
"""Classes whose config leaves `tie_word_embeddings` out when the table is shared."""

_RENAMED: dict[str, dict[str, str]] = {
    "Ernie4_5": {
        "moe_num_experts": "num_experts",
        "moe_k": "num_experts_per_tok",
        "moe_num_shared_experts": "n_shared_experts",
        "moe_layer_start_index": "first_k_dense_replace",
        "use_bias": "attention_bias",
    },
    "Bailing": {"use_qkv_bias": "attention_bias"},
    "InternLM2": {"bias": "attention_bias"},
}
"""Keys of a family on the left, the usual ones on the right."""


def usual_keys(c: Config, cls: str) -> Config:
    """The config with a family's own key names under the usual ones; nothing is overwritten."""
    found = dict(c)
    for prefix, names in _RENAMED.items():
        if cls.startswith(prefix):
            found |= {usual: c[own] for own, usual in names.items() if own in c and usual not in c}
    return found


def own_key(key: str, c: Config, cls: str) -> str:
    """A usual key as the file spells it."""
    families = (names for prefix, names in _RENAMED.items() if cls.startswith(prefix))
    return next((own for names in families for own, usual in names.items() if usual == key and own in c), key)


def _stem(cls: str) -> str:
    return cls.split("For", 1)[0]


def nearest_class(cls: str, c: Config, modelled: Iterable[str]) -> str:
    """The modelled class most like ``cls``: by its name when that is close, else by what its config holds."""
    stems: dict[str, str] = {}
    for name in modelled:
        stems.setdefault(_stem(name), name)
    close = difflib.get_close_matches(_stem(cls), list(stems), 1, 0.75)
    if close:
        return stems[close[0]]
    keys = set(c)
    if any(k.startswith(("mamba", "ssm", "attn_layer_")) for k in keys):
        return "NemotronHForCausalLM"
    if any(k.startswith("linear_") for k in keys):
        return "Qwen3NextForCausalLM"
    if "kv_lora_rank" in keys:
        return "DeepseekV32ForCausalLM" if "index_topk" in keys else "DeepseekV3ForCausalLM"
    if any("expert" in k for k in keys):
        return "Qwen3MoeForCausalLM"
    return "LlamaForCausalLM"

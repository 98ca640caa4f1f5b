"""Vision encoders from a ``vision_config``: parameters counted from shapes where the layout is known."""

from __future__ import annotations

from typing import Any

from headwater.catalog.architecture import Tower

Config = dict[str, Any]

LLAMA4 = Tower(900_000_000, 0, 2465, 17 * 336 * 336, exact=False)
"""Llama-4's encoder, about 0.9 B; used when the config leaves it out."""


def _block(d: int, inner: int, matrices: int = 2, biased: bool = True) -> int:
    biases = 4 * d + inner + d if biased else 0
    return 4 * d * d + matrices * d * inner + biases + (4 if biased else 2) * d


def _qwen(v: Config, out: int) -> Tower:
    d, inner, depth = v["hidden_size"], v["intermediate_size"], v["depth"]
    patch, merge = v.get("patch_size", 16), v.get("spatial_merge_size", 2)
    wide = merge * merge * d
    embed = 3 * v.get("temporal_patch_size", 2) * patch * patch * d + d + v.get("num_position_embeddings", 0) * d
    merger = wide * wide + wide + wide * out + out
    deep = len(v.get("deepstack_visual_indexes") or ())
    projector = 2 * d + merger + deep * (2 * wide + merger)
    return Tower(depth * _block(d, inner) + embed, projector, 16384, 4096 * 4096)


def _qwen25(v: Config, hidden: int) -> Tower:
    """Gated feed-forward with biases, one scale per norm; windows inside, so large images cost activation besides."""
    d, inner, depth = v.get("hidden_size", 1280), v.get("intermediate_size", 3420), v.get("depth", 32)
    patch, merge = v.get("patch_size", 14), v.get("spatial_merge_size", 2)
    wide = merge * merge * d
    block = 4 * d * d + 4 * d + 3 * d * inner + 2 * inner + d + 2 * d
    merger = d + wide * wide + wide + wide * hidden + hidden
    return Tower(
        depth * block + 3 * v.get("temporal_patch_size", 2) * patch * patch * d, merger, 16384, 3584 * 3584, exact=False
    )


def _siglip(v: Config, hidden: int) -> Tower:
    d, inner, depth = v.get("hidden_size", 1152), v.get("intermediate_size", 4304), v.get("num_hidden_layers", 27)
    side, patch = v.get("image_size", 896), v.get("patch_size", 14)
    embed = 3 * patch * patch * d + d + (side // patch) ** 2 * d + 2 * d
    return Tower(depth * _block(d, inner) + embed, d * hidden + d, 256, side * side)


def _pixtral(v: Config, hidden: int, merge: int) -> Tower:
    d, inner, depth = v.get("hidden_size", 1024), v.get("intermediate_size", 4096), v.get("num_hidden_layers", 24)
    side, patch = v.get("image_size", 1540), v.get("patch_size", 14)
    tower = depth * _block(d, inner, 3, biased=False) + 3 * patch * patch * d + d
    projector = merge * merge * d * d + d + d * hidden + hidden * hidden
    return Tower(tower, projector, (side // (patch * merge)) ** 2, side * side)


def _moon(v: Config, hidden: int) -> Tower:
    d, inner, depth = v["vt_hidden_size"], v["vt_intermediate_size"], v["vt_num_hidden_layers"]
    grid, patch = v.get("init_pos_emb_height", 64) * v.get("init_pos_emb_width", 64), v.get("patch_size", 14)
    wide = 4 * d
    tower = depth * _block(d, inner) + 3 * patch * patch * d + grid * d
    return Tower(tower, wide * wide + wide * hidden, 4096, 1792 * 1792, exact=False)


def tower_from_config(v: Config | None, cls: str, hidden: int, merge: int = 2) -> Tower | None:
    """The encoder a ``vision_config`` describes, None without one.

    ``exact`` is False where the layout is approximate.
    """
    if cls == "Llama4ForConditionalGeneration":
        return LLAMA4
    if not v:
        return None
    if "vt_hidden_size" in v:
        return _moon(v, hidden)
    if cls.startswith("Qwen2_5_VL"):
        return _qwen25(v, v.get("out_hidden_size", hidden))
    if "depth" in v:
        return _qwen(v, v.get("out_hidden_size", hidden))
    if cls.startswith("Gemma3"):
        return _siglip(v, hidden)
    if cls.startswith("Mistral3"):
        return _pixtral(v, hidden, merge)
    d, inner, depth = v.get("hidden_size", 1152), v.get("intermediate_size", 4304), v.get("num_hidden_layers", 27)
    patch, side = v.get("patch_size", 16), v.get("image_size", 768)
    side = side if isinstance(side, int) else max(side)
    embed = 3 * patch * patch * d + v.get("position_embedding_size", 0) * d * 2
    tokens = v.get("default_output_length") or max(1, (side // patch) ** 2 // 4)
    return Tower(depth * _block(d, inner, 3, biased=False) + embed, d * hidden, tokens, side * side, exact=False)

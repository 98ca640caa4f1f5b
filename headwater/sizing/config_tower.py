"""Vision encoders from a ``vision_config``: parameters counted from shapes where the layout is known."""

from __future__ import annotations

from headwater.catalog.architecture import Tower
from headwater.sizing.config_values import Config, inside, listed, number

LLAMA4 = Tower(900_000_000, 0, 2465, 17 * 336 * 336, exact=False)
"""Llama-4's encoder, about 0.9 B; used when the config leaves it out."""


def _sizes(v: Config, **defaults: int | None) -> list[int]:
    """Several sizes at once: key and what transformers takes when it is missing."""
    return [number(v, key, default=default) for key, default in defaults.items()]


def _block(d: int, inner: int, matrices: int = 2, biased: bool = True) -> int:
    biases = 4 * d + inner + d if biased else 0
    return 4 * d * d + matrices * d * inner + biases + (4 if biased else 2) * d


def _qwen(v: Config, out: int) -> Tower:
    d, inner, depth = _sizes(v, hidden_size=None, intermediate_size=None, depth=None)
    patch, merge = _sizes(v, patch_size=16, spatial_merge_size=2)
    wide = merge * merge * d
    places = number(v, "num_position_embeddings", default=0, least=0)
    embed = 3 * number(v, "temporal_patch_size", default=2) * patch * patch * d + d + places * d
    merger = wide * wide + wide + wide * out + out
    deep = len(listed(v, "deepstack_visual_indexes"))
    projector = 2 * d + merger + deep * (2 * wide + merger)
    return Tower(depth * _block(d, inner) + embed, projector, 16384, 4096 * 4096)


def _qwen25(v: Config, hidden: int) -> Tower:
    """Gated feed-forward with biases, one scale per norm; windows inside, so large images cost activation besides."""
    d, inner, depth = _sizes(v, hidden_size=1280, intermediate_size=3420, depth=32)
    patch, merge = _sizes(v, patch_size=14, spatial_merge_size=2)
    wide = merge * merge * d
    block = 4 * d * d + 4 * d + 3 * d * inner + 2 * inner + d + 2 * d
    merger = d + wide * wide + wide + wide * hidden + hidden
    embed = 3 * number(v, "temporal_patch_size", default=2) * patch * patch * d
    return Tower(depth * block + embed, merger, 16384, 3584 * 3584, exact=False)


def _siglip(v: Config, hidden: int) -> Tower:
    d, inner, depth = _sizes(v, hidden_size=1152, intermediate_size=4304, num_hidden_layers=27)
    side, patch = _sizes(v, image_size=896, patch_size=14)
    embed = 3 * patch * patch * d + d + (side // patch) ** 2 * d + 2 * d
    return Tower(depth * _block(d, inner) + embed, d * hidden + d, 256, side * side)


def _pixtral(v: Config, hidden: int, merge: int) -> Tower:
    d, inner, depth = _sizes(v, hidden_size=1024, intermediate_size=4096, num_hidden_layers=24)
    side, patch = _sizes(v, image_size=1540, patch_size=14)
    tower = depth * _block(d, inner, 3, biased=False) + 3 * patch * patch * d + d
    projector = merge * merge * d * d + d + d * hidden + hidden * hidden
    return Tower(tower, projector, (side // (patch * merge)) ** 2, side * side)


def _moon(v: Config, hidden: int) -> Tower:
    d, inner, depth = _sizes(v, vt_hidden_size=None, vt_intermediate_size=None, vt_num_hidden_layers=None)
    high, wide, patch = _sizes(v, init_pos_emb_height=64, init_pos_emb_width=64, patch_size=14)
    grid = high * wide
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
    with inside("vision_config"):
        return _tower(v, cls, hidden, merge)


def _tower(v: Config, cls: str, hidden: int, merge: int) -> Tower:
    if "vt_hidden_size" in v:
        return _moon(v, hidden)
    if cls.startswith("Qwen2_5_VL"):
        return _qwen25(v, number(v, "out_hidden_size", default=hidden))
    if "depth" in v:
        return _qwen(v, number(v, "out_hidden_size", default=hidden))
    if cls.startswith("Gemma3"):
        return _siglip(v, hidden)
    if cls.startswith("Mistral3"):
        return _pixtral(v, hidden, merge)
    d, inner, depth = _sizes(v, hidden_size=1152, intermediate_size=4304, num_hidden_layers=27)
    sides = listed(v, "image_size") if isinstance(v.get("image_size"), list) else [v.get("image_size")]
    patch = number(v, "patch_size", default=16)
    side = max(number({"image_size": x}, "image_size", default=768) for x in sides)
    embed = 3 * patch * patch * d + number(v, "position_embedding_size", default=0, least=0) * d * 2
    tokens = number(v, "default_output_length", default=0, least=0) or max(1, (side // patch) ** 2 // 4)
    return Tower(depth * _block(d, inner, 3, biased=False) + embed, d * hidden, tokens, side * side, exact=False)

"""Size of a checkpoint on disk, from the same shapes as its weights in memory."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from headwater.catalog.architecture import Architecture
from headwater.sizing.precision import WeightFormat, weight_format
from headwater.sizing.shards import Split
from headwater.sizing.weights import stage_weights


@lru_cache(maxsize=512)
def checkpoint_bytes(arch: Architecture, weights: WeightFormat) -> float:
    """Bytes of the files: no second copies, no rotary tables; draft layers are in the files even when not loaded.

    Weights that are quantised while loading lie on disk in 16 bit.
    """
    stored = replace(weight_format("bf16"), repository=weights.repository) if weights.online else weights
    drafts = arch.mtp_layers if any(layer.mixer is not None for layer in arch.layers) else 0
    stage = stage_weights(arch, stored, Split(), kernel="files", draft_layers=drafts)[0]
    return stage.total - stage.absorbed - stage.rotary

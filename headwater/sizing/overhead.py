"""What is neither weights nor activation nor cache.

Non-torch memory, CUDA graphs, the reserve before the first snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.catalog.architecture import Architecture
from headwater.catalog.gpus import Gpu
from headwater.sizing.defaults import table
from headwater.sizing.shards import Split
from headwater.sizing.units import ZERO, Band
from headwater.sizing.version import Version, since, within


@dataclass(frozen=True, slots=True)
class NonTorch:
    """Non-torch GiB per GPU and whether a start-up of this cell was measured."""

    band: Band
    measured: bool
    status: str


def non_torch(version: Version, gpu: Gpu, split: Split) -> NonTorch:
    """The first row of the calibration table that covers (version, GPU, TP, PP)."""
    experts = split.dp > 1 and split.ep
    for row in table()["non_torch"]:
        if not within(version, row["from"], row["to"]) or row["gpu"] not in {gpu.key, "any"}:
            continue
        if not (row["tp"][0] <= split.tp <= row["tp"][1] and row["pp"][0] <= split.pp <= row["pp"][1]):
            continue
        band = Band(row["low"], row["gib"], row["high"])
        measured = row["status"] == "measured" and split.dp == 1
        if experts:
            extra = table()["margins"]["data_parallel_experts"]
            return NonTorch(
                Band(band.low, band.expected, band.high + extra), False, "prior, all-to-all buffers unknown"
            )
        return NonTorch(band, measured, row["status"])
    raise AssertionError("the calibration table ends with rows for any GPU")


def graph_prior(arch: Architecture) -> Band:
    """Memory of CUDA graphs, GiB: a prior when nothing was measured."""
    g = table()["graphs"]
    middle = g["moe"] if arch.moe else g["dense_base"] + g["dense_per_layer"] * len(arch.layers)
    return Band.around(middle, g["below"], g["recurrent_above"] if arch.recurrent else g["above"])


def graphs(arch: Architecture, version: Version, eager: bool) -> tuple[Band, Band]:
    """``(subtracted before the KV cache, taken at capture)``, GiB; both zero with ``--enforce-eager``."""
    if eager:
        return ZERO, ZERO
    prior = graph_prior(arch)
    return (prior if since(version, table()["graphs_subtracted_from"]) else ZERO), prior


def context_reserve(arch: Architecture, split: Split) -> float:
    """CUDA context and NCCL before the first snapshot, GiB; lives in what utilization leaves free."""
    r = table()["context_reserve"]
    if split.tp * split.pp * (split.dp if split.ep else 1) == 1:
        return float(r["single"])
    return float(r["parallel_moe" if arch.moe else "parallel"])

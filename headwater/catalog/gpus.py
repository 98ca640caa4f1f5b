"""GPUs: the memory CUDA sees, streaming multiprocessors, speeds. Vendor figures unless an entry says measured."""

from __future__ import annotations

import re
from functools import lru_cache

from pydantic import BaseModel, ConfigDict

from headwater.catalog.source import load_yaml
from headwater.refusal import did_you_mean


class UnknownGpuError(ValueError):
    """No such GPU; the message names the nearest one and what to give instead."""


class Gpu(BaseModel):
    """One GPU type.

    Attributes:
        key: what the stack file calls it.
        memory_gb: size on the label; never used for arithmetic.
        visible_gib: what CUDA reports as total, GiB.
        visible_low_gib: a lower figure that is possible, when the reading is unverified.
        n_sm: streaming multiprocessors.
        sm: compute capability times ten.
        bf16_tflops: dense, without sparsity; ``fp8_tflops`` likewise, None when there are no FP8 tensor cores.
        hbm_tb_s: memory bandwidth, TB/s (decimal).
        small_batch: vLLM gives this GPU the small batch defaults whatever its memory.
        excludes: names that contain an alias but mean another board (``GH200`` is no H200).
        status: how well ``visible_gib`` is known: measured, weak, unverified.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    name: str
    memory_gb: int
    visible_gib: float
    visible_low_gib: float | None = None
    n_sm: int
    sm: int
    bf16_tflops: float | None = None
    fp8_tflops: float | None = None
    hbm_tb_s: float | None = None
    small_batch: bool = False
    status: str
    aliases: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    source: str
    as_of: str


@lru_cache(maxsize=1)
def load_gpus() -> dict[str, Gpu]:
    """Every GPU, by key."""
    document = load_yaml("gpus")
    common = {"source": document["source"], "as_of": str(document["as_of"])}
    return {key: Gpu(**{"key": key, **common, **entry}) for key, entry in document["gpus"].items()}


LABEL_TOLERANCE = 0.1
"""Share by which a size in a GPU's name may differ from the catalogue's label (B200 is sold as 180 and as 192 GB)."""


def _squeeze(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


@lru_cache(maxsize=512)
def find_gpu(name: str) -> Gpu:
    """The GPU people mean by ``name``: ``H100-80GB SXM``, ``NVIDIA H200``, ``h100``; the longest alias found wins.

    Raises:
        UnknownGpuError: for a name without a listed GPU, or one whose stated size is that of another board.
    """
    squeezed = _squeeze(name)
    found: list[tuple[int, str]] = []
    for key, gpu in load_gpus().items():
        if any(_squeeze(other) in squeezed for other in gpu.excludes):
            continue
        for alias in (key, gpu.name, *gpu.aliases):
            if (short := _squeeze(alias)) and short in squeezed:
                found.append((len(short), key))
    if not found:
        raise UnknownGpuError(
            f"GPU {name!r} is not in the catalogue; give its visible memory (gpu_mem_gib) or use a known one. "
            + did_you_mean(name, load_gpus())
        )
    gpu = load_gpus()[max(found)[1]]
    sizes = _sizes(name)
    if sizes and not any(abs(size / gpu.memory_gb - 1) <= LABEL_TOLERANCE for size in sizes):
        raise UnknownGpuError(
            f"GPU {name!r} says {sizes[0]} GB, the catalogue's {gpu.name} has {gpu.memory_gb} GB: another board; "
            "give its visible memory (gpu_mem_gib)"
        )
    return gpu


def _sizes(name: str) -> list[int]:
    return [int(s) for s in re.findall(r"(?<![a-z0-9])(\d{2,3})\s*Gi?B(?![a-z])", name, flags=re.IGNORECASE)]


def gpu_from_size(name: str) -> Gpu:
    """A stand-in for an unlisted GPU whose name carries its size (``24GB GPU``); memory is then a rough guess.

    Seen on listed GPUs: between 0.91 and 0.995 of the label is visible (ECC on GDDR costs most); 0.975 is used.
    """
    sizes = _sizes(name)
    if not sizes:
        raise UnknownGpuError(f"GPU {name!r} is not in the catalogue and its name states no size; give gpu_mem_gib")
    return Gpu(
        key=re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"),
        name=name,
        memory_gb=sizes[0],
        visible_gib=sizes[0] * 0.975,
        n_sm=100,
        sm=80,
        status="guessed",
        source="label times 0.975",
        as_of=str(load_yaml("gpus")["as_of"]),
    )

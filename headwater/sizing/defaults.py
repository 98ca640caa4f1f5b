"""What vLLM fills in by itself: batch sizes, utilization, KV type, block size, per version and GPU.

Source: vLLM `engine/arg_utils.py::get_batch_defaults`, `config/cache.py`, attention backend choices.
"""

from __future__ import annotations

from typing import Any

from headwater.catalog.architecture import Architecture
from headwater.catalog.gpus import Gpu
from headwater.catalog.source import load_yaml
from headwater.sizing.kvcache import FP8
from headwater.sizing.precision import WeightFormat
from headwater.sizing.version import Version, since


def table() -> dict[str, Any]:
    """The calibration file."""
    document: dict[str, Any] = load_yaml("calibration")
    return document


def utilization(version: Version) -> float:
    """Default of ``--gpu-memory-utilization``."""
    rows = [row for row in table()["utilization"] if since(version, row["from"])]
    return float(rows[-1]["value"])


def batch_defaults(
    gpu_name: str, visible_gib: float, small: bool, version: Version, max_model_len: int
) -> tuple[int, int]:
    """``(max_num_batched_tokens, max_num_seqs)`` of ``vllm serve`` when neither is given.

    The oldest engines had no chunked prefill, so the budget reached the context and 256 sequences.
    """
    if not since(version, table()["chunked_prefill_from"]):
        return max(2048, max_model_len), 256
    if small or visible_gib < 70 or "a100" in gpu_name.lower():
        return 2048, 256
    return (16384, 1024) if visible_gib >= 160 else (8192, 1024)


def kv_dtype(asked: str, arch: Architecture, fmt: WeightFormat, version: Version, gpu: Gpu) -> str:
    """The element type of the cache after ``auto`` is resolved; bytes follow from it."""
    model = {4: "float32"}.get(fmt.dtype_bytes, "bfloat16")
    if asked in {"auto", ""}:
        if fmt.kv_cache:
            return fmt.kv_cache
        older = not since(version, table()["sparse_mla_auto_is_fp8_before"])
        if arch.sparse and (older or (gpu.sm >= 100 and arch.name.startswith("Glm"))):
            return "fp8"
        return model
    words = {"bf16": "bfloat16", "half": "float16", "fp16": "float16", "fp32": "float32"}
    return words.get(asked, asked)


def block_size(arch: Architecture, dtype: str, gpu: Gpu) -> int:
    """Tokens per block that the attention backend of this GPU wants; hybrids raise it further."""
    if arch.sparse:
        return 64
    if arch.mla is not None:
        if gpu.sm >= 100:
            return 32
        return 64 if dtype in FP8 else 16
    return 16


def mxfp4_kernel(gpu: Gpu, version: Version) -> str:
    """Kernel of mxfp4 experts, which decides padding: Triton on Hopper, Marlin before, native on Blackwell."""
    if gpu.sm == 90:
        return "triton" if since(version, table()["triton_mxfp4_padded_from"]) else "triton-old"
    return "native" if 100 <= gpu.sm < 110 else "marlin"

"""Shorthand for asking the engine in tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headwater.catalog.gpus import find_gpu
from headwater.catalog.models import find_model
from headwater.sizing.engine import Sizing, SizingRequest, size
from headwater.sizing.precision import parse_format

Ask = Callable[..., Sizing]


def ask(model: str, precision: str | None = None, gpu: str = "h100", **options: Any) -> Sizing:
    """Size a catalogue model; options as in :class:`SizingRequest`."""
    known = find_model(model)
    return size(SizingRequest(known.architecture, parse_format(known, precision), find_gpu(gpu), **options))


@pytest.fixture
def measured_run() -> dict[str, Any]:
    """Options of the measured campaign: version, utilization, batch sizes and context all stated."""
    return {
        "vllm_version": "0.19.0",
        "gpu_memory_utilization": 0.95,
        "max_model_len": 8192,
        "max_num_seqs": 1024,
        "max_num_batched_tokens": 8192,
    }

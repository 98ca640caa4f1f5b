"""Layouts vLLM refuses, and those it accepts."""

from __future__ import annotations

import re

import pytest

from headwater.catalog.gpus import find_gpu
from headwater.catalog.models import find_model
from headwater.sizing.engine import SizingRequest
from headwater.sizing.precision import parse_format
from headwater.sizing.validity import problems


def found(key, precision=None, gpus_per_node=8, version="0.31.0", **options):
    model = find_model(key)
    request = SizingRequest(
        model.architecture, parse_format(model, precision), find_gpu("h100"), vllm_version=version, **options
    )
    return problems(request, gpus_per_node)


@pytest.mark.parametrize(
    ("key", "precision", "options", "reason"),
    [
        ("phi-4", None, {"tp": 4}, "10 KV heads do not split"),
        ("phi-4", None, {"tp": 8}, "10 KV heads do not split"),
        ("qwen2.5-7b", None, {"tp": 8}, r"attention heads \(28\) must be divisible"),
        ("qwen3-14b", None, {"tp": 5}, "vocabulary 151936"),
        ("qwen3-235b-a22b", "fp8", {"tp": 8}, r"1536/8 = 192\) is not a multiple; use expert parallelism"),
        ("minimax-m2", None, {"tp": 8}, "1536/8 = 192"),
        ("qwen3-30b-a3b", "fp8", {"tp": 4}, "768/4 = 192"),
        ("qwen3-32b", None, {"tp": 2, "ep": True}, "model is dense"),
        ("qwen3-32b", None, {"tp": 16}, "exceeds the 8 GPUs of a node"),
        ("llama-3.1-8b", None, {"pp": 40}, "exceeds the 32 layers"),
        ("mixtral-8x7b", None, {"tp": 8, "dp": 2, "ep": True}, "8 experts cannot be spread over 16"),
        ("qwen3-32b", None, {"tp": 8, "dcp": 2}, "needs tensor parallel above 8 KV heads"),
        ("gpt-oss-120b", None, {"tp": 8, "dcp": 2}, "sliding-window"),
        ("kimi-k2.5", None, {"tp": 8, "dcp": 16}, "must divide tensor parallel"),
        ("qwen3.5-27b", None, {"tp": 5}, "linear layers do not split"),
    ],
)
def test_layouts_are_refused_with_the_rule_they_break(key, precision, options, reason):
    reasons = found(key, precision, **options)
    assert any(re.search(reason, r) for r in reasons), reasons


@pytest.mark.parametrize(
    ("key", "precision", "options"),
    [
        ("phi-4", None, {"tp": 2}),
        ("qwen3-235b-a22b", "fp8", {"tp": 4}),
        ("qwen3-235b-a22b", "fp8", {"tp": 8, "ep": True}),
        ("minimax-m2", None, {"tp": 8, "ep": True}),
        ("glm-5", "fp8", {"tp": 8, "pp": 2}),
        ("kimi-k2.5", "int4", {"tp": 8, "dcp": 8}),
        ("deepseek-v3.1", None, {"tp": 8}),
        ("deepseek-v3.1", None, {"dp": 8, "ep": True}),
        ("qwen3-32b", "fp8", {"tp": 8}),
        ("qwen3-32b", "int4", {"tp": 4}),
        ("gpt-oss-120b", None, {"tp": 8}),
        ("llama-3.3-70b", "fp8", {"tp": 8}),
        ("qwen3-next-80b", "fp8", {"tp": 4}),
        ("qwen3-30b-a3b", None, {"tp": 8}),
    ],
)
def test_layouts_in_common_use_are_accepted(key, precision, options):
    assert found(key, precision, **options) == ()


def test_newer_releases_refine_blocks_instead_of_refusing():
    assert found("qwen3-235b-a22b", "fp8", tp=8, version="0.31.0")
    assert not found("qwen3-235b-a22b", "fp8", tp=8, version="0.33.0")


def test_bigger_nodes_allow_more_tensor_parallelism():
    assert not found("qwen3-32b", tp=8)
    assert found("qwen3-32b", tp=8, gpus_per_node=4)

"""Requests as people and machines really send them: one line each, never a trace, never another board's memory."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from headwater.catalog.gpus import UnknownGpuError, find_gpu
from headwater.cli.app import app
from headwater.sizing.records import size_record
from tests.sizing.test_config import LLAMA

PLAIN = {"model": "Qwen/Qwen3-8B", "gpu": "H100", "vllm_version": "0.19.0"}


def lines(text: str | bytes) -> list[dict]:
    result = CliRunner().invoke(app, ["size"], input=text)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tp", 10**10),
        ("tp", 10**400),
        ("gpu", ["H100"]),
        ("gpu_mem_gib", 1e300),
        ("gpu_memory_utilization", True),
        ("kv_cache_dtype", ["fp8"]),
        ("kv_cache_dtype", {"a": 1}),
        ("vllm_version", {"a": 1}),
        ("quantization", ["fp8"]),
        ("config", 5),
    ],
)
def test_a_value_of_the_wrong_kind_is_an_error_that_names_the_key(key, value):
    answer = size_record({**PLAIN, key: value})
    assert answer["error"].startswith(f"{key} = ")
    assert "report" not in answer["error"]


@pytest.mark.parametrize("value", [0, -1, 1.5, "7", True])
def test_an_impossible_size_in_a_config_is_one_sentence_with_key_value_bound_and_remedy(value):
    answer = size_record({"config": {**LLAMA, "hidden_size": value}, "gpu": "H100", "tp": 1})
    assert answer == {
        "error": f"config.json: `hidden_size` = {value}: expected a whole number from 1 to 1,000,000; the model's own "
        "config.json on the hub has the right one"
    }


def test_one_strange_line_does_not_end_the_stream():
    good = json.dumps(PLAIN).encode()
    strange = [
        b"\xff\xfe bad",
        b'{"model": "\\ud800", "gpu": "H100"}',
        b'{"error": "x"}',
        b"[1]",
        b"null",
        json.dumps({**PLAIN, "tp": 200}).encode(),
        json.dumps({**PLAIN, "vllm_version": "2026.1"}).encode(),
    ]
    answers = lines(b"\n".join([*strange, good, b""]))
    assert len(answers) == len(strange) + 1
    assert all("error" in a for a in answers[:5])
    assert answers[2]["error"].startswith("model is missing")
    assert answers[5]["fits"] is False
    assert answers[6]["kv_gib"] > 0
    assert answers[7]["kv_gib"] > 0


@pytest.mark.parametrize("name", ["H100 NVL", "NVIDIA GH200 480GB", "GH200", "H20-96GB", "RTX 4090 48GB", "A10G"])
def test_a_board_that_only_shares_letters_with_a_listed_one_is_not_taken_for_it(name):
    with pytest.raises(UnknownGpuError):
        find_gpu(name)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("H100-80GB SXM", "h100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H200", "h200"),
        ("H200-141GB", "h200"),
        ("A100 80GB PCIe", "a100"),
        ("NVIDIA A100-SXM4-40GB", "a100-40gb"),
        ("GB200", "b200"),
        ("B200 192GB", "b200"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090"),
        ("DGX Spark GB10 128GB", "gb10"),
    ],
)
def test_names_of_boards_as_people_write_them(name, key):
    assert find_gpu(name).key == key


def test_the_size_of_an_unlisted_board_is_never_read_out_of_its_model_number():
    assert "states no size" in size_record({**PLAIN, "gpu": "A10G"})["error"]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("cpatonn/Qwen3-30B-A3B-Instruct-2507-AWQ-4bit", "int4"),
        ("QuantTrio/Qwen3-235B-A22B-Instruct-2507-AWQ", ""),
        ("nvidia/DeepSeek-R1-0528-NVFP4-v2", ""),
    ],
)
def test_suffixes_of_repackagers_are_read(name, form):
    answer = size_record({"model": name, "gpu": "H200", "tp": 8, "vllm_version": "0.31.0"})
    assert "error" not in answer
    assert any("group size" in n for n in answer["notes"]) is bool(form)


def test_activation_and_non_torch_follow_the_log_of_the_version():
    old, new = (size_record({"model": "llama-3.1-8b", "gpu": "A100", "vllm_version": v}) for v in ("0.26.0", "0.31.0"))
    assert old["activation_gib"] == old["activation_transient_gib"]
    assert new["activation_gib"] == pytest.approx(
        new["activation_transient_gib"] + new["cuda_graph_subtracted_gib"], abs=1e-3
    )
    assert new["activation_gib"] == pytest.approx(1.44, abs=0.05)  # as that release logged it
    assert new["non_torch_gib"] == pytest.approx(0.26, abs=0.02)
    total = sum(new[k] for k in ("weights_gib", "activation_gib", "non_torch_gib", "kv_gib"))
    assert total == pytest.approx(new["budget_gib"], abs=1e-3)

"""`headwater size` and `headwater calibrate` as people and scripts run them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import aiconfigurator_core
import pytest
import typer
from typer.testing import CliRunner

from headwater.cli.calibrate import calibrate_command
from headwater.cli.size import size_command
from headwater.sizing.records import size_record
from tests.sizing.test_startup_log import NEW, OLD

RECORD = {
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "quantization": None,
    "gpu": "H100-80GB SXM",
    "gpu_mem_gib": 79.19,
    "num_gpus": 1,
    "tp": 1,
    "pp": 1,
    "dp": 1,
    "enable_expert_parallel": False,
    "gpu_memory_utilization": 0.95,
    "max_model_len": 8192,
    "kv_cache_dtype": "auto",
    "max_num_batched_tokens": None,
    "max_num_seqs": None,
    "vllm_version": "0.19.0",
    "enforce_eager": False,
    "block_size": None,
    "prefix_caching": None,
}
ANSWER = {
    "weights_gib",
    "activation_gib",
    "non_torch_gib",
    "cuda_graph_gib",
    "kv_gib",
    "kv_gib_low",
    "kv_gib_high",
    "kv_tokens",
    "kv_tokens_printed",
    "kv_blocks",
    "max_concurrency",
    "fits",
    "calibrated",
    "notes",
}


def app(command):
    made = typer.Typer()
    made.command()(command)
    return made


def run(command, *arguments, stdin=""):
    return CliRunner().invoke(app(command), list(arguments), input=stdin)


def test_a_record_is_answered_with_every_key():
    answer = size_record(RECORD)
    assert set(answer) >= ANSWER
    assert answer["kv_tokens_printed"] == 476_016
    assert answer["kv_blocks"] == 29_751
    assert answer["fits"] is True
    assert answer["calibrated"] is True


def test_absent_keys_mean_vllms_own_defaults():
    full = size_record(RECORD)
    short = size_record({k: v for k, v in RECORD.items() if v is not None and k not in {"tp", "pp", "dp", "num_gpus"}})
    assert short == full


def test_lines_in_lines_out_errors_in_place():
    lines = [
        json.dumps(RECORD),
        "",
        "{broken",
        json.dumps({**RECORD, "model": "qwen3-31b", "id": 7}),
        json.dumps([1]),
        json.dumps({**RECORD, "model": "qwen3-8b", "colour": "red"}),
    ]
    result = run(size_command, stdin="\n".join(lines))
    assert result.exit_code == 0
    out = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(out) == 5
    assert out[0]["kv_blocks"] == 29_751
    assert "not JSON" in out[1]["error"]
    assert out[2]["id"] == 7
    assert "did you mean" in out[2]["error"]
    assert "expected an object" in out[3]["error"]
    assert "ignored unknown keys: colour" in out[4]["notes"]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"model": None}, "model is missing"),
        ({"gpu": None, "gpu_mem_gib": None}, "gpu is missing"),
        ({"gpu": "MI300X", "gpu_mem_gib": None}, "states no size"),
        ({"tp": "two"}, "whole number"),
        ({"tp": 0}, "at least 1"),
        ({"gpu_memory_utilization": 1.5}, "at most 1"),
        ({"gpu_memory_utilization": float("nan")}, "above 0"),
        ({"kv_cache_dtype": "fp3"}, "not sized"),
        ({"vllm_version": "main"}, "not a version"),
        ({"num_gpus": 2, "tp": 4}, "below tp × pp"),
        ({"enforce_eager": "perhaps"}, "true or false"),
        ({"quantization": "gguf"}, "not sized"),
        ({"quantization": "compressed-tensors"}, "does not say how"),
    ],
)
def test_a_wrong_value_is_named(change, match):
    error = size_record({**RECORD, **change})["error"]
    assert re.search(match, error), error


def test_an_unlisted_gpu_needs_its_memory_and_says_what_was_assumed():
    answer = size_record({**RECORD, "gpu": "MI300X", "gpu_mem_gib": 191.5})
    assert answer["kv_gib"] > 100
    assert any("SM count assumed" in n for n in answer["notes"])


def test_a_refused_layout_does_not_fit():
    answer = size_record({**RECORD, "model": "microsoft/phi-4", "tp": 4, "num_gpus": 4})
    assert answer["fits"] is False
    assert any("KV heads" in n for n in answer["notes"])


def test_pipeline_answers_show_every_stage_and_their_span():
    answer = size_record({**RECORD, "pp": 4, "num_gpus": 4})
    assert len(answer["stages"]) == 4
    assert answer["kv_gib"] == min(s["kv_gib"] for s in answer["stages"])
    assert answer["kv_gib_low"] <= 68.89 <= 69.80 <= answer["kv_gib_high"]


def test_one_engine_from_options():
    result = run(size_command, "--model", "kimi-k2.5", "--gpu", "h200", "--tp", "8", "--vllm-version", "0.26.0")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["fits"] is True


def test_explain_prints_every_addend():
    result = run(
        size_command,
        "--model",
        "qwen3-32b",
        "--gpu",
        "h100",
        "--quantization",
        "fp8",
        "--vllm-version",
        "0.26.0",
        "--explain",
    )
    assert result.exit_code == 0
    for word in ("budget", "weights", "activation", "non-torch", "KV cache"):
        assert word in result.stdout


def test_a_config_file_instead_of_a_model():
    config = Path(aiconfigurator_core.__file__).parent / "model_configs" / "XiaomiMiMo--MiMo-V2-Flash_config.json"
    result = run(size_command, "--config", str(config), "--gpu", "h200", "--tp", "8", "--vllm-version", "0.31.0")
    assert result.exit_code == 0
    assert 35 < json.loads(result.stdout)["weights_gib"] < 45
    piped = run(
        size_command, "--config", str(config), stdin=json.dumps({"gpu": "h200", "tp": 8, "vllm_version": "0.31.0"})
    )
    assert json.loads(piped.stdout)["weights_gib"] == json.loads(result.stdout)["weights_gib"]


def test_an_unmodelled_config_is_refused_with_exit_code_2():
    config = Path(aiconfigurator_core.__file__).parent / "model_configs" / "MiniMaxAI--MiniMax-M3_config.json"
    result = run(size_command, "--config", str(config), "--gpu", "h200")
    assert result.exit_code == 2
    assert "not modelled" in result.output


def test_calibrate_prints_predicted_against_measured_and_writes_an_entry(tmp_path):
    path = tmp_path / "calibration.yaml"
    result = run(calibrate_command, "--gpu", "h100", "--write", str(path), stdin=OLD)
    assert result.exit_code == 0, result.output
    assert "KV cache" in result.stdout
    assert "calibration: h100-vllm0.19.0-tp1" in result.stdout
    answer = run(
        size_command, "--model", "qwen3-8b", "--gpu", "h100", "--vllm-version", "0.19.0", "--calibration", str(path)
    )
    assert json.loads(answer.stdout)["calibrated"] is True


def test_calibrate_for_machines():
    result = run(calibrate_command, "--gpu", "a100", "--json", stdin=NEW)
    found = json.loads(result.stdout)
    assert found["kv_gib_after"] == pytest.approx(56.21, abs=0.02)
    assert {r["term"] for r in found["rows"]} >= {"weights", "activation", "KV cache", "tokens printed"}


def test_calibrate_refuses_what_is_no_log():
    result = run(calibrate_command, stdin="nothing here")
    assert result.exit_code == 2
    assert "no line" in result.output

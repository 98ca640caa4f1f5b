"""Worked examples of the method, and the four rows of the reference table people start from."""

from __future__ import annotations

import pytest

from tests.sizing.conftest import ask

NEW = "0.33.0"


def test_a_dense_model_on_one_gpu(measured_run):
    s = ask("llama-3.1-8b", **measured_run)
    assert s.budget_gib == pytest.approx(75.2305, abs=1e-4)
    assert s.weights.expected == pytest.approx(14.99, abs=0.01)
    assert s.activation.expected == pytest.approx(1.884, abs=0.005)
    assert s.kv.expected == pytest.approx(58.11, abs=0.01)
    assert (s.num_blocks, s.kv_tokens_printed, s.bytes_per_block) == (29_751, 476_016, 2_097_152)
    assert f"{s.max_concurrency:.2f}" == "58.11"
    assert s.calibrated
    assert ask("llama-3.1-8b", kv_cache_dtype="fp8", **measured_run).kv_tokens_printed == 952_032


def test_b_fp8_weights_on_four_gpus(measured_run):
    s = ask("llama-3.3-70b", "fp8", tp=4, **measured_run)
    assert s.weights.expected == pytest.approx(16.96, abs=0.02)
    assert s.activation.expected == pytest.approx(1.97, abs=0.02)
    assert s.kv.expected == pytest.approx(54.09, abs=0.1)
    assert s.bytes_per_block == 1_310_720
    assert s.kv_tokens_printed == pytest.approx(708_992, rel=2e-3)


def test_c_a_mixture_of_experts_on_one_and_four_gpus(measured_run):
    one, four = (ask("qwen3-30b-a3b", tp=tp, **measured_run) for tp in (1, 4))
    assert one.weights.expected == pytest.approx(56.88, abs=0.02)
    assert one.activation.expected == pytest.approx(2.68, abs=0.02)
    assert one.kv.expected == pytest.approx(15.41, abs=0.05)
    assert one.kv_tokens_printed == pytest.approx(168_288, rel=5e-3)
    assert four.weights.expected == pytest.approx(14.25, abs=0.02)
    assert four.kv_tokens_printed == pytest.approx(2_454_064, rel=1e-3)


def test_d_latent_attention_gains_only_what_the_weights_free(measured_run):
    one, four = (ask("deepseek-v2-lite", tp=tp, **measured_run) for tp in (1, 4))
    assert one.weights.expected == pytest.approx(29.43, abs=0.05)
    assert one.activation.expected == pytest.approx(1.93, abs=0.01)
    assert one.bytes_per_block == four.bytes_per_block == 497_664
    assert one.kv_tokens_printed == pytest.approx(1_505_552, rel=2e-3)
    assert four.kv_tokens_printed == pytest.approx(2_199_888, rel=2e-3)


def test_e_the_last_pipeline_stage_limits(measured_run):
    s = ask("llama-3.1-8b", pp=4, **measured_run)
    assert [round(x.weights_gib.expected, 2) for x in s.stages] == [4.26, 3.28, 3.28, 4.26]
    assert [round(x.activation.expected, 2) for x in s.stages] == pytest.approx([1.10, 1.05, 1.05, 2.01], abs=0.03)
    assert s.limiting == 3
    assert s.num_blocks == pytest.approx(141_079, abs=20)
    assert s.stages[0].kv.expected == pytest.approx(69.80, abs=0.02)  # what the INFO line shows
    two = ask("llama-3.1-8b", pp=2, **measured_run)
    assert two.num_blocks == pytest.approx(67_207, abs=15)


@pytest.mark.parametrize(
    ("version", "activation", "outside", "kv"),
    [("0.16.0", 5.64, 0.13, 41.94), ("0.17.0", 2.23, 0.13, 45.34), ("0.18.0", 2.23, 0.25, 45.23)],
)
def test_f_releases_profile_differently(measured_run, version, activation, outside, kv):
    s = ask("qwen3-14b", **{**measured_run, "vllm_version": version})
    assert s.activation.expected == pytest.approx(activation, abs=0.01)
    assert s.non_torch.expected == outside
    assert s.kv.expected == pytest.approx(kv, abs=0.02)


def test_g_a_recent_release_with_all_defaults():
    s = ask("llama-3.1-8b", gpu="a100", vllm_version="0.31.0")
    assert (s.utilization, s.max_num_seqs, s.max_num_batched_tokens, s.max_model_len) == (0.92, 256, 2048, 131_072)
    assert s.budget_gib == pytest.approx(72.91, abs=0.01)
    assert s.state.expected == pytest.approx(0.126, abs=0.001)
    assert s.activation.expected == pytest.approx(0.48, abs=0.01)
    assert s.kv.expected == pytest.approx(56.21, abs=0.1)
    assert s.kv_tokens_printed == pytest.approx(460_496, rel=2e-3)
    assert f"{s.max_concurrency:.1f}" == "3.5"


def test_h_a_prediction_without_a_measurement():
    s = ask("llama-3.3-70b", "bf16", tp=4, vllm_version=NEW, max_model_len=32_768)
    assert s.budget_gib == pytest.approx(72.85, abs=0.01)
    assert s.weights.expected == pytest.approx(32.89, abs=0.02)
    assert s.activation.expected == pytest.approx(1.90, abs=0.02)
    assert s.state.expected == pytest.approx(0.50, abs=0.01)
    assert s.cuda_graph.expected == pytest.approx(1.69, abs=0.01)
    assert s.kv.expected == pytest.approx(33.8, abs=0.1)
    assert s.kv_tokens == pytest.approx(443_000, rel=0.005)
    assert not s.calibrated
    assert s.concurrency_at(131_072) == pytest.approx(3.4, abs=0.05)


def test_gemma3_on_the_measured_release(measured_run):
    s = ask("gemma-3-27b", **measured_run)
    assert s.tokens_of(15_997) == 36_560
    assert 15_997 / s.blocks_per_request == pytest.approx(4.46, abs=0.005)


@pytest.mark.parametrize("version", ["0.26.0", "0.31.0", NEW])
def test_reference_row_qwen3_32b_fp8_fits_one_h100(version):
    s = ask("qwen3-32b", "fp8", max_model_len=40_960, vllm_version=version)
    assert s.fits
    assert s.weights.expected == pytest.approx(32, abs=0.5)
    assert 33 < s.kv.expected < 38
    assert 3 <= s.concurrency_at(40_960) <= 4


@pytest.mark.parametrize("version", ["0.26.0", "0.31.0", NEW])
def test_reference_row_llama_70b_bf16_needs_four_h100(version):
    options = {"vllm_version": version, "max_model_len": 8192}
    assert ask("llama-3.3-70b", "bf16", tp=4, **options).fits
    two = ask("llama-3.3-70b", "bf16", tp=2, **options)
    assert not two.fits
    assert two.max_concurrency < 1  # not even one request
    assert ask("llama-3.3-70b", "bf16", gpu="h200", tp=2, **options).kv.expected == pytest.approx(57, abs=1)
    assert ask("llama-3.3-70b", "fp8", tp=2, **options).kv.expected == pytest.approx(33, abs=1)


@pytest.mark.parametrize("version", ["0.26.0", "0.31.0", NEW])
def test_reference_row_kimi_k25_int4_needs_eight_h200(version):
    options = {"tp": 8, "max_model_len": 131_072, "vllm_version": version}
    h100 = ask("kimi-k2.5", "int4", **options)
    assert not h100.fits
    assert not h100.tight
    assert h100.shortfall_gib > 0
    h200 = ask("kimi-k2.5", "int4", gpu="h200", **options)
    assert h200.fits
    spread = ask("kimi-k2.5", "int4", gpu="h200", dcp=8, **options)
    assert spread.kv_tokens == pytest.approx(8 * h200.kv_tokens, rel=1e-3)


@pytest.mark.parametrize("version", ["0.26.0", "0.31.0", NEW])
def test_reference_row_glm5_fp8_fits_two_nodes_of_h100_or_one_of_h200(version):
    options = {"max_model_len": 65_536, "vllm_version": version, "tp": 8}
    assert ask("glm-5", "fp8", pp=2, **options).fits
    one = ask("glm-5", "fp8", **options)
    assert one.weights.expected > 80
    assert not one.fits
    assert ask("glm-5", "fp8", gpu="h200", **options).fits


def test_kv_of_batch_256_on_a_70b_is_640_gib_not_40():
    s = ask("llama-3.3-70b", "bf16", tp=8, vllm_version=NEW)
    assert 256 * s.plan.blocks_per_request(8192, s.inflight) * s.bytes_per_block * 8 / 2**30 == pytest.approx(640)

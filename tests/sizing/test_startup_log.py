"""Start-up logs of every format: what is read, what a calibration entry learns, what is rejected."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from headwater.catalog.calibration import Calibration, CalibrationError, load_calibrations, save_calibration
from headwater.catalog.gpus import find_gpu
from headwater.catalog.models import find_model
from headwater.sizing.calibrate import learn
from headwater.sizing.engine import SizingRequest, size
from headwater.sizing.precision import parse_format
from headwater.sizing.startup_log import parse_log
from headwater.sizing.units import SizingError
from tests.sizing.conftest import ask

LOGS = Path(__file__).parent / "logs"
OLD, NEW, OLDEST, RANKS = (
    (LOGS / f"{name}.txt").read_text(encoding="utf-8") for name in ("three_way", "two_way", "oldest", "pipeline")
)


def test_the_three_way_split_is_read_with_its_flags():
    log = parse_log(OLD)
    assert (log.version, log.model, log.tp, log.max_model_len) == (
        "0.19.0",
        "meta-llama/Llama-3.1-8B-Instruct",
        1,
        8192,
    )
    assert (log.max_num_batched_tokens, log.utilization, log.blocks, log.tokens) == (8192, 0.95, 29_751, 476_016)
    lines = log.fullest
    assert (lines.weights, lines.activation, lines.non_torch, lines.kv) == (14.99, 1.89, 0.25, 58.11)
    assert (lines.graph_estimate, lines.graph_actual, lines.free, lines.total) == (0.84, 0.91, 78.68, 79.19)
    assert not lines.includes_estimate


def test_the_two_way_split_folds_the_estimate_into_the_activation():
    log = parse_log(NEW)
    lines = log.fullest
    assert (lines.consumed, lines.activation, lines.non_torch, lines.kv) == (15.26, 1.44, None, 56.21)
    assert lines.includes_estimate
    assert lines.graph_estimate == pytest.approx(0.96, abs=0.01)  # from the two utilizations
    assert (log.tokens, log.concurrency_tokens, log.max_concurrency) == (460_496, 131_072, 3.51)


def test_the_oldest_engines_are_read():
    log = parse_log(OLDEST)
    lines = log.fullest
    assert (log.version, log.blocks, lines.total, lines.utilization) == ("0.6.4.post1", 27_284, 79.22, 0.9)
    assert (lines.weights, lines.non_torch, lines.activation, lines.kv) == (14.96, 1.79, 1.26, 53.29)


def test_ranks_are_kept_apart_and_the_fullest_counts():
    log = parse_log(RANKS)
    assert sorted(log.ranks) == [(0, 0, 0), (1, 0, 0), (3, 0, 0)]
    assert log.fullest.kv == 68.89


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: "".join(f"2026-04-22T00:00:01.123Z stdout F {line}\n" for line in t.splitlines()),
        lambda t: t.replace("GiB;", " GiB;"),
        lambda t: "\n".join(line.split("] ", 1)[-1] for line in t.splitlines()),
    ],
    ids=["crlf", "container prefix", "spaced units", "no prefixes"],
)
def test_logs_are_read_whatever_wraps_them(change):
    log = parse_log(change(OLD))
    lines = log.fullest
    assert (lines.weights, lines.activation, lines.non_torch, lines.kv, log.tokens) == (
        14.99,
        1.89,
        0.25,
        58.11,
        476_016,
    )


def test_refusals_are_kept():
    text = (
        "ERROR 04-22 00:00:01 [core.py:1] EngineCore failed to start.\n"
        "ValueError: To serve at least one request with the model's max seq len (262144), (24.0 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (3.18 GiB). Based on the available memory, the "
        "estimated maximum model length is 34736."
    )
    assert "34736" in (parse_log(text).refusal or "")
    assert parse_log("ValueError: No available memory for the cache blocks. Try").refusal


def test_calibrating_compares_every_term_and_learns_an_entry():
    lesson = learn(parse_log(OLD), "h100", today=dt.date(2026, 11, 30))
    assert [r.name for r in lesson.rows] == [
        "weights",
        "activation",
        "non-torch",
        "CUDA graphs at capture",
        "KV cache",
        "blocks",
        "tokens printed",
        "concurrency",
    ]
    assert all(r.inside for r in lesson.rows)
    entry = lesson.entry
    assert entry is not None
    assert entry.name == "h100-vllm0.19.0-tp1"
    assert (entry.non_torch, entry.context_reserve, entry.graph_actual) == (0.25, 0.51, 0.91)
    assert entry.graph_estimate is None  # not subtracted by this release
    assert entry.sampler_q == pytest.approx(3.5, abs=0.05)
    assert entry.as_of == "2026-11-30"


def test_a_two_way_log_splits_transient_estimate_and_state():
    lesson = learn(parse_log(NEW), "a100")
    entry = lesson.entry
    assert entry is not None
    assert entry.graph_estimate == pytest.approx(0.96, abs=0.01)
    assert entry.non_torch == pytest.approx(0.26 - 0.126, abs=0.01)  # persistent sampler state taken out
    assert lesson.after is not None
    assert lesson.after.kv.expected == pytest.approx(56.21, abs=0.02)
    assert lesson.after.calibrated
    assert lesson.after.kv.width < lesson.before.kv.width / 3


def test_an_entry_narrows_another_model_of_the_same_cell_and_not_of_another():
    entry = learn(parse_log(NEW), "a100").entry
    assert entry is not None
    model = find_model("qwen3-8b")
    request = SizingRequest(model.architecture, parse_format(model, None), find_gpu("a100"), vllm_version="0.31.1")
    prior, taught = size(request), size(request, entry)
    assert taught.kv.width < prior.kv.width / 2
    assert taught.calibrated
    elsewhere = size(
        SizingRequest(model.architecture, parse_format(model, None), find_gpu("h100"), vllm_version="0.31.1"), entry
    )
    assert not elsewhere.calibrated
    assert any("was not used" in n for n in elsewhere.notes)


def test_pipeline_ranks_are_compared_with_their_own_stage():
    lesson = learn(parse_log(RANKS), "h100")
    rows = {r.name: r for r in lesson.rows}
    assert rows["KV cache"].measured == 68.89
    assert rows["weights"].predicted.expected == pytest.approx(4.26, abs=0.02)
    assert lesson.entry is None  # INFO lines alone have no split


def test_an_inconsistent_log_says_how_much_is_unexplained():
    lesson = learn(
        parse_log(OLD.replace("Available KV cache memory: 58.11", "Available KV cache memory: 50.00")), "h100"
    )
    assert any("unexplained" in n for n in lesson.notes)


@pytest.mark.parametrize(
    ("text", "options", "match"),
    [
        ("hello world", {}, "no line of a vLLM start-up log"),
        (OLD, {"gpu_name": "h100", "model": "qwen3-8b"}, "the log is about meta-llama"),
        ("Model loading took 14.99 GiB memory and 3.4 seconds", {"gpu_name": "h100"}, "vLLM version"),
        ("Model loading took 14.99 GiB memory and 3.4 seconds", {}, "which GPU"),
    ],
)
def test_logs_that_say_too_little_or_contradict_are_rejected(text, options, match):
    with pytest.raises(SizingError, match=match):
        learn(parse_log(text), **options)


def test_entries_survive_the_file(tmp_path):
    entry = learn(parse_log(OLD), "h100").entry
    assert entry is not None
    path = tmp_path / "calibration.yaml"
    assert load_calibrations(path) == {}
    assert save_calibration(path, entry) == entry.name
    first = path.read_text()
    save_calibration(path, entry)
    assert path.read_text() == first
    assert load_calibrations(path) == {entry.name: entry}


def test_a_malformed_entry_is_refused(tmp_path):
    with pytest.raises(CalibrationError, match="unknown keys sampler"):
        Calibration.from_dict({"version": "0.31.0", "gpu": "h100", "visible_gib": 79.19, "sampler": 3})
    with pytest.raises(CalibrationError, match="missing version"):
        Calibration.from_dict({"gpu": "h100", "visible_gib": 79.19})
    path = tmp_path / "c.yaml"
    path.write_text("- a\n")
    with pytest.raises(CalibrationError, match="expected a mapping"):
        load_calibrations(path)


def test_a_measured_cell_needs_no_entry():
    assert ask("llama-3.1-8b", vllm_version="0.19.0").calibrated
    assert not ask("llama-3.1-8b", vllm_version="0.31.0").calibrated
    assert not ask("llama-3.1-8b", gpu="h200", vllm_version="0.19.0").calibrated


@pytest.mark.parametrize(("key", "tp"), [("qwen3.5-27b", 1), ("nemotron-3-nano", 1), ("glm-5.1", 4)])
def test_a_measured_cell_is_not_claimed_for_attention_nobody_measured_there(key, tp):
    assert not ask(key, tp=tp, vllm_version="0.19.0", max_num_seqs=64).calibrated


def test_a_log_cut_at_the_terminal_width_reads_as_before():
    width = 80
    cut = "\n".join(line[i : i + width] for line in OLD.splitlines() for i in range(0, max(1, len(line)), width))
    whole, wrapped = parse_log(OLD), parse_log(cut)
    assert (wrapped.version, wrapped.model, wrapped.tokens, wrapped.blocks) == (
        whole.version,
        whole.model,
        whole.tokens,
        whole.blocks,
    )
    assert wrapped.fullest == whole.fullest


def test_what_only_one_rank_printed_holds_for_the_rank_with_less_cache():
    text = (
        "(EngineCore pid=7) INFO Initializing a V1 LLM engine (v0.33.0) with config: model='Qwen/Qwen3-32B-FP8', "
        "max_seq_len=40960, tensor_parallel_size=2\n"
        "(Worker_TP0 pid=9) INFO Model loading took 16.30 GiB memory and 5.2 seconds\n"
        "(Worker_TP0 pid=9) INFO Available KV cache memory: 50.00 GiB\n"
        "(Worker_TP1 pid=10) INFO Available KV cache memory: 49.90 GiB\n"
        "(Worker_TP0 pid=9) INFO Free memory on device (77.66/79.19 GiB) on startup. Desired GPU memory utilization is "
        "(0.92, 72.85 GiB). Actual usage is 18.50 GiB for consumed memory (weights + non-torch), 4.35 GiB for peak "
        "activation, and 1.20 GiB for CUDAGraph memory.\n"
    )
    lesson = learn(parse_log(text), "h100")
    assert lesson.entry is not None
    assert lesson.entry.tp == 2
    assert {r.name: r.measured for r in lesson.rows}["KV cache"] == 49.90
    assert learn(parse_log(text)).before.request.gpu.visible_gib == pytest.approx(79.2, abs=0.1)


def test_a_gpu_that_the_log_contradicts_is_rejected():
    with pytest.raises(SizingError, match="not the GPU of this log"):
        learn(parse_log(OLD), "h200")


def test_bytes_that_are_no_text_are_no_log():
    assert parse_log("\udc82\udcff nothing").empty

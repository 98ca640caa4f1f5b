"""A calibrations file that was written by hand, and wrongly: said in words by whoever reads it."""

import pytest

from headwater.catalog.calibration import CalibrationError, load_calibrations
from headwater.plan import build_plan
from headwater.refusal import Refusal
from headwater.settings import settings_from_config

GOOD = "gpu: h100, version: 0.31.0, visible_gib: 79.2"
WRONG = {
    "calibrations: [": "not YAML",
    "[]": "expected a mapping `calibrations`",
    "calibrations: {x: 1}": "expected a mapping of keys to values",
    "calibrations: {x: {1: 1}}": "unknown keys 1",
    "calibrations: {x: {gpu: h100}}": "missing version, visible_gib",
    f"calibrations: {{x: {{{GOOD}, tp: -1}}}}": "tp = -1: expected a whole number above zero",
    f"calibrations: {{x: {{{GOOD}, tp: true}}}}": "tp = True: expected a whole number above zero",
    f"calibrations: {{x: {{{GOOD}, ep: 1}}}}": "ep = 1: expected true or false",
    f"calibrations: {{x: {{{GOOD}, non_torch: .nan}}}}": "non_torch = nan: expected a number",
    "calibrations: {x: {gpu: 1, version: 0.31.0, visible_gib: 79.2}}": "gpu = 1: expected text",
    "calibrations: {x: {gpu: h100, version: 0.31.0, visible_gib: -3}}": "visible_gib = -3: expected more than 0",
}


@pytest.mark.parametrize("text", sorted(WRONG))
def test_what_is_wrong_with_a_file_is_said(text, tmp_path):
    file = tmp_path / "calibrations.yaml"
    file.write_text(text)
    with pytest.raises(CalibrationError, match=WRONG[text].replace("(", r"\(")):
        load_calibrations(file)


def test_bytes_that_are_no_text_are_said(tmp_path):
    file = tmp_path / "calibrations.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CalibrationError, match="not text in UTF-8"):
        load_calibrations(file)


def test_a_day_without_quotes_is_taken(tmp_path):
    file = tmp_path / "calibrations.yaml"
    file.write_text(f"calibrations: {{x: {{{GOOD}, as_of: 2026-11-30}}}}")
    assert load_calibrations(file)["x"].as_of == "2026-11-30"


def test_a_plan_says_so_too(tmp_path):
    (tmp_path / "calibrations.yaml").write_text("calibrations: {x: 1}")
    serving = {"models": [{"name": "q", "model": "qwen3-32b", "accelerator": "h100"}]}
    with pytest.raises(Refusal) as refused:
        build_plan(
            settings_from_config({"aws:region": "us-east-2", "headwater:serving": serving}, "test"), project=tmp_path
        )
    assert [fault.path for fault in refused.value.faults] == ["calibrations.yaml"]
    assert str(tmp_path) not in refused.value.text()


def test_a_calibration_that_is_not_there_is_not_passed_over(run, tmp_path):
    said = run("size", "--model", "qwen3-32b", "--gpu", "h100", "--calibration", str(tmp_path / "nope.yaml"))
    assert (said.code, "there is no such file" in said.err) == (2, True)

"""A Hugging Face token is never repeated, wherever it was put and whoever speaks."""

from __future__ import annotations

import io
import sys

import pytest

from headwater.cli.streams import masked_stream
from headwater.refusal import Fault, Refusal, masked
from headwater.settings import settings_from_config

TOKEN = "hf_" + "AbCdEfGh12" * 3 + "wxyz"
GOOD = {"aws:region": "us-east-2", "headwater:serving": {"models": [{"name": "q", "model": "qwen3-32b"}]}}


@pytest.mark.parametrize(
    "change",
    [
        ("accelerator: h100", f"accelerator: h100, calibration: {TOKEN}"),
        ("accelerator: h100", f"accelerator: h100, precision: {TOKEN}"),
        ("accelerator: h100", f"accelerator: {TOKEN}"),
        ("accelerator: h100", f"{TOKEN}: h100"),
        ("accelerator: h100", f"accelerator: h100, engine: {{served-model-name: {TOKEN}}}"),
        ("accelerator: h100", f"accelerator: h100, engine: {{tokenizer: org/{TOKEN}}}"),
        ("model: qwen3-32b", f"model: {TOKEN}"),
        ("config:\n", f"config:\n  headwater:tags: {{team: {TOKEN}}}\n"),
        ("config:\n", f"config:\n  headwater:{TOKEN}: 1\n"),
        ("config:\n", f"config:\n  {TOKEN}: 1\n"),
    ],
)
def test_a_misplaced_token_is_refused_and_not_repeated(run, variant, change):
    said = run("plan", variant("dev", change))
    assert (said.code, said.out) == (2, "")
    assert TOKEN[3:12] not in said.err


def test_a_misplaced_token_is_found_by_the_program_too():
    config = GOOD | {"headwater:tags": {"team": f"Bearer {TOKEN}"}, "headwater:huggingFace": {"token": TOKEN}}
    config |= {"aws:profile": TOKEN}
    with pytest.raises(Refusal) as refused:
        settings_from_config(config, "dev")
    assert [fault.path for fault in refused.value.faults] == ["headwater:tags.team", "aws:profile"]


def test_a_token_in_its_place_is_no_fault():
    found = settings_from_config(GOOD | {"headwater:huggingFace": {"token": TOKEN}}, "dev")
    assert found.hugging_face is not None


@pytest.mark.parametrize("field", ["path", "value", "why", "remedy"])
def test_no_part_of_a_refusal_repeats_even_half_a_token(field):
    parts = {"path": "p", "value": "v", "why": "w", "remedy": "r"}
    refusal = Refusal([Fault(**(parts | {field: f"x `{TOKEN[:12]}` y"}))])
    assert TOKEN[3:12] not in refusal.text() + str(refusal) + refusal.at("f").text()


@pytest.mark.parametrize("text", ["hf_overrides", "hf_quant_config.json", "hf_mistral7b", "half_abcdefghijklmnopqrstu"])
def test_what_only_looks_like_a_token_stays(text):
    assert masked(text) == text
    assert "hf_overrides" in Fault("engine.hf_overrides", "1", "why", "").text()


@pytest.mark.parametrize("words", [("plan", "dev"), ("plan", "dev", "--json"), ("models",)])
def test_no_screen_shows_a_token(run, monkeypatch, words):
    monkeypatch.setattr("headwater.cli.places.planned", lambda _: sys.stdout.write(f"{TOKEN}\n") and 1 / 0)
    monkeypatch.setattr("headwater.cli.models_screen.models_screen", lambda screen: screen.print(f"x {TOKEN}"))
    said = run(*words)
    assert TOKEN not in said.out + said.err
    assert "hf_***" in said.out


def test_lines_written_at_once_are_masked_too():
    stream = io.StringIO()
    masked_stream(stream).writelines([f"{TOKEN}\n", "x\n"])
    assert stream.getvalue() == "hf_***\nx\n"


def test_a_bug_report_does_not_carry_a_token(run, monkeypatch):
    def broken(_):
        raise RuntimeError(TOKEN)

    monkeypatch.setattr("headwater.cli.places.planned", broken)
    for words in (("plan", "dev"), ("plan", "dev", "--debug")):
        said = run(*words)
        assert said.code == 70
        assert "hf_***" in said.err
        assert TOKEN not in said.err

"""No, in words: exit code 2, the file, the key, the bound, the remedy; never a trace, nothing half-done."""

from __future__ import annotations

import pytest

from headwater.cli import app as commands
from headwater.preview.errors import ProgramError


def test_a_refusal_names_file_key_value_bound_and_remedy(run, variant):
    file = variant("dev", ("context: 32768", "context: 327680"))
    said = run("preview", file)
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines()[0] == f"{file}, headwater:serving.models[0].context = 327680"
    assert "40,960" in said.err
    assert "Traceback" not in said.err


def test_all_faults_are_said_at_once(run, variant):
    file = variant("dev", ("accelerator: h100", "acclerator: h100"), ("stack: llm-d", "stack: llmd"))
    said = run("plan", file)
    assert said.code == 2
    assert "`accelerator`" in said.err
    assert "`llm-d`" in said.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("plan", "deb"), "`dev`"),
        (("plan", "no/such.yaml"), "no such file"),
        (("explain", "prod", "gml"), "`glm`"),
        (("plan",), "Missing argument"),
        (("plan", "dev", "--jsn"), "--json"),
        (("preview", "--full"), "Missing argument"),
        (("diff", "prod", "no-such-revision"), "stack files"),
        (("diff", "no-such-revision", "nor-this"), "revision"),
        (("diff", "prod", "dev", "--stack", "prod"), "--stack"),
        (("render", "dev"), "--out"),
    ],
)
def test_bad_words_are_answered_with_code_2(run, words, hint):
    said = run(*words)
    assert said.code == 2
    assert hint in said.err
    assert "Traceback" not in said.err


def test_a_bug_is_owned_up_to(run, monkeypatch):
    def broken(*_):
        raise ProgramError(RuntimeError("boom"), "components/deploy.py:1 in deploy")

    monkeypatch.setattr("headwater.preview.engine.evaluate", broken)
    said = run("preview", "dev")
    assert said.code == 70
    assert "bug of Headwater's" in said.err
    assert "boom" in said.err
    assert "Traceback" not in said.err


def test_what_pulumi_would_refuse_of_the_file_is_refused(run, variant):
    file = variant("dev", ("config:\n", "config:\n  pulumi:disable-default-providers: ['*']\n"))
    said = run("preview", file)
    assert (said.code, said.out) == (2, "")
    assert "pulumi:disable-default-providers = *" in said.err


def test_an_interruption_says_that_nothing_is_left(run, monkeypatch, tmp_path):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("headwater.preview.engine.evaluate", stopped)
    said = run("render", "dev", "--out", str(tmp_path / "out"))
    assert (said.code, said.err) == (130, "Stopped; nothing was left half-done.\n")
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_the_trace_of_a_bug(run, monkeypatch):
    monkeypatch.setattr("headwater.preview.engine.evaluate", lambda *_: 1 / 0)
    assert "Traceback" in run("preview", "dev", "--debug").err


def test_every_command_is_documented(root):
    readme = (root / "README.md").read_text(encoding="utf-8")
    named = {c.name or c.callback.__name__ for c in commands.app.registered_commands}
    assert {name for name in named if f"headwater {name}" not in readme} == set()

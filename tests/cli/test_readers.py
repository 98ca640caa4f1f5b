"""Who reads the answer: a pipe that closes early, a machine without UTF-8, a terminal of the usual width."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from headwater.cli.places import planned
from headwater.cli.plan_screen import plan_screen
from tests.conftest import ROOT

COMMAND = [sys.executable, "-c", "from headwater.cli import main; main()"]


def test_a_reader_that_has_seen_enough_is_no_failure():
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run([*COMMAND, "models"], cwd=ROOT, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("words", [["models"], ["models", "--json"], ["--help"], ["plan", "dev"]])
def test_a_full_disk_is_said(words):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*COMMAND, *words], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, b"cannot be written" in ended.stderr) == (2, True)


def test_nobody_who_reads_is_no_failure():
    ended = subprocess.run(
        ["/bin/sh", "-c", '"$0" "$@" models >&-', *COMMAND], cwd=ROOT, capture_output=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_the_answer_is_utf_8_where_the_locale_is_not():
    plain = {**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run([*COMMAND, "plan", "dev"], cwd=ROOT, env=plain, capture_output=True, check=False)
    assert ended.returncode == 0
    assert "32,768 × 4" in ended.stdout.decode("utf-8")


def test_columns_that_do_not_fit_break_where_the_machine_begins():
    text = io.StringIO()
    plan_screen(planned("prod")[0], Console(file=text, width=120, force_terminal=True, no_color=True))
    assert "1 p5en.48xlarge" in [line.strip() for line in text.getvalue().splitlines()]

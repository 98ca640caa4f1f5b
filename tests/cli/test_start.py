"""A command loads what it needs and no more."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

PROBE = """
import sys
from headwater.cli import main
try:
    main({words!r})
except SystemExit as ended:
    print("code", ended.code, file=sys.stderr)
loaded = {{name.partition(".")[0] for name in sys.modules}}
print(sorted(loaded & {{"pulumi", "pulumi_aws", "grpc", "components"}}), file=sys.stderr)
"""


@pytest.mark.parametrize("words", [["plan", "prod"], ["explain", "prod", "glm"], ["models"], ["--help"]])
def test_commands_without_resources_do_not_load_pulumi(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(words=words)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines() == ["code 0", "[]"]


def test_the_list_of_commands_cuts_no_sentence_short(run):
    listed = run("--help").out.partition("Commands:")[2]
    assert "resume" in listed
    assert "..." not in listed

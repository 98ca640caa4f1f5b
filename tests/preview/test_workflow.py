"""The pull request's workflow: least rights, one comment, and a script that says what happened."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

FAKE = """#!/bin/sh
echo "$@" >> calls.txt
case "$FAKE" in
  refuse) echo 'stacks/Pulumi.prod.yaml, a.b = 1' >&2; exit 2 ;;
  long) printf '### prod: cost unchanged\\n\\n<details><summary>every resource</summary>\\n\\n```\\n'
        i=0; while [ $i -lt 4000 ]; do echo "+ aws:sqs/queue:Queue number-$i"; i=$((i+1)); done
        printf '```\\n\\n</details>\\n' ;;
  *) echo '### prod: no change' ;;
esac
"""


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    return yaml.safe_load((ROOT / ".github/workflows/preview.yml").read_text(encoding="utf-8"))


def step(workflow: dict[Any, Any], identity: str) -> dict[str, Any]:
    """The step with that id or name."""
    (job,) = workflow["jobs"].values()
    (found,) = [s for s in job["steps"] if identity in (s.get("id"), s.get("name"))]
    return found


def test_it_may_read_code_and_write_comments_and_nothing_else(workflow: dict[Any, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert list(workflow[True]) == ["pull_request"], "never pull_request_target: it runs the pull request's own code"
    assert "{{ secrets." not in (ROOT / ".github/workflows/preview.yml").read_text(encoding="utf-8")


def test_every_action_is_pinned(workflow: dict[Any, Any]) -> None:
    uses = [s["uses"] for job in workflow["jobs"].values() for s in job["steps"] if "uses" in s]
    assert uses
    assert [u for u in uses if not re.search(r"@(v\d+\.\d+\.\d+|[0-9a-f]{40})$", u)] == []


def test_a_fork_gets_no_comment_but_the_summary(workflow: dict[Any, Any]) -> None:
    comment = step(workflow, "One comment, updated in place")
    assert comment["if"] == "github.event.pull_request.head.repo.full_name == github.repository"
    assert "GITHUB_STEP_SUMMARY" in step(workflow, "diff")["run"]


@pytest.fixture
def compare(workflow: dict[Any, Any], tmp_path: Path) -> Any:
    """Run the comparing step with a stand-in for headwater; gives the folder it worked in."""

    def run(fake: str) -> Path:
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"]):
            subprocess.run([*git, *words], cwd=tmp_path, check=True)
        command = tmp_path / ".venv/bin/headwater"
        command.parent.mkdir(parents=True)
        command.write_text(FAKE)
        command.chmod(0o755)
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True)
        outputs = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GITHUB_OUTPUT": str(tmp_path / "output")}
        commits = dict.fromkeys(("BASE", "HEAD"), head.stdout.strip())
        environment = {"PATH": os.environ["PATH"], "FAKE": fake, **outputs, **commits}
        script = step(workflow, "diff")["run"]
        subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, check=True, env=environment)
        return tmp_path

    return run


def test_the_comment_carries_its_mark_and_the_diff(compare: Any) -> None:
    folder = compare("")
    assert (folder / "cut.md").read_text() == "<!-- headwater diff -->\n### prod: no change\n"
    assert (folder / "summary").read_text() == (folder / "cut.md").read_text()
    assert (folder / "output").read_text() == "code=0\n"


def test_a_refusal_becomes_the_comment_and_fails_the_check_later(compare: Any) -> None:
    folder = compare("refuse")
    assert "cannot preview this change" in (folder / "cut.md").read_text()
    assert "stacks/Pulumi.prod.yaml, a.b = 1" in (folder / "cut.md").read_text()
    assert (folder / "output").read_text() == "code=2\n"


def test_a_long_diff_is_cut_for_the_comment_and_whole_in_the_summary(compare: Any) -> None:
    folder = compare("long")
    cut = (folder / "cut.md").read_text()
    assert len(cut.encode()) < 65536
    assert cut.count("```") == 2
    assert cut.count("<details>") == cut.count("</details>") == 1
    assert "number-3999" in (folder / "summary").read_text()

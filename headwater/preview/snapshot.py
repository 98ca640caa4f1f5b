"""A stack as it was or will be: its plan and its graph, from a file here or from a git revision's own code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from headwater.plan import build_plan
from headwater.preview.engine import evaluate
from headwater.preview.graph import Graph
from headwater.refusal import Fault, Refusal
from headwater.settings import load_stack, shown_path

REFUSED = 2
RUN = "from headwater.cli import main; main()"


@dataclass(frozen=True)
class Snapshot:
    """Plan (as JSON, so that an older plan's form may differ) and graph of a stack; empty where it does not exist.

    Attributes:
        label: for people: the file or the revision.
        stack: the environment's name.
    """

    label: str
    stack: str
    plan: Mapping[str, Any]
    graph: Graph

    @property
    def exists(self) -> bool:
        """Whether the stack is there at all."""
        return bool(self.plan)


def missing(label: str, stack: str) -> Snapshot:
    """A stack that does not exist on this side."""
    return Snapshot(label, stack, {}, Graph("headwater", stack, ()))


def of_file(file: Path, project: Path, environment: str | None = None) -> Snapshot:
    """The stack of a file, by the code of this checkout.

    Args:
        file: the stack file.
        project: the checkout.
        environment: take the file as this environment's, so that names are comparable; default is the file's own.

    Raises:
        Refusal: the stack file asks for what cannot be.
    """
    settings = load_stack(file)
    own = settings.environment
    if environment is not None:
        settings = settings.model_copy(update={"environment": environment})
    try:
        plan = build_plan(settings, project=project)
    except Refusal as refusal:
        raise refusal.at(shown_path(file)) from None
    return Snapshot(str(file), own, plan.model_dump(mode="json"), evaluate(file, project, settings.environment))


def stacks_of(revision: str, project: Path) -> tuple[str, ...]:
    """Environments that a revision has.

    Raises:
        Refusal: no such revision.
    """
    listed = _git(
        project, "ls-tree", "--name-only", "--full-tree", _commit(revision, project), f"{_prefix(project)}stacks/"
    )
    names = (Path(line).name for line in listed.decode().splitlines())
    return tuple(sorted(n.removeprefix("Pulumi.").removesuffix(".yaml") for n in names if n.startswith("Pulumi.")))


def of_revision(revision: str, stack: str, project: Path) -> Snapshot:
    """The stack as a revision's own files and own code make it, in a process of its own.

    Raises:
        Refusal: no such revision, or that revision's stack file is refused by its code.
    """
    if stack not in stacks_of(revision, project):
        return missing(revision, stack)
    with tempfile.TemporaryDirectory(prefix="headwater-revision-") as folder:
        tree = Path(folder)
        archive = _git(
            project, "archive", "--format=tar", f"{_commit(revision, project)}:{_prefix(project)}".rstrip(":")
        )
        with tarfile.open(fileobj=BytesIO(archive)) as tar:
            tar.extractall(tree, filter="data")
        environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", RUN, "preview", stack, "--json"],
            cwd=tree, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode == REFUSED:
        raise Refusal([Fault(f"{revision}: {stack}", "", done.stderr.strip(), "Mend the stack file of that revision.")])
    if done.returncode != 0:
        why = f"The code of that revision cannot preview it: {_last_line(done.stderr)}"
        raise Refusal([Fault(f"{revision}: {stack}", "", why, "Compare two stack files instead.")])
    found = json.loads(done.stdout)
    return Snapshot(revision, stack, found["plan"], Graph.from_json(found["graph"]))


def _commit(revision: str, project: Path) -> str:
    try:
        return (
            _git(project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
            .decode()
            .strip()
        )
    except Refusal:
        why = "There is no such stack file and no such git revision."
        raise Refusal([Fault("diff", revision, why, "Give two stack files, or two revisions.")]) from None


def _prefix(project: Path) -> str:
    """The project's folder inside its repository, with a slash at the end; empty at the top."""
    return _git(project, "rev-parse", "--show-prefix").decode().strip()


def _git(project: Path, *words: str) -> bytes:
    try:
        return subprocess.run(["git", *words], cwd=project, capture_output=True, check=True).stdout
    except FileNotFoundError:
        raise Refusal(
            [Fault("diff", "", "git is not installed, and revisions need it.", "Compare two files.")]
        ) from None
    except subprocess.CalledProcessError as error:
        why = f"git {words[0]} failed: {_last_line(error.stderr.decode())}"
        raise Refusal([Fault("diff", "", why, "Give two stack files, or two revisions.")]) from None


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and "--debug" not in line]
    return lines[-1].removeprefix("Please report this line: ") if lines else "it said nothing"

"""Where things are: the project, a stack's file; and how the answer is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from headwater.plan import Plan, build_plan
from headwater.refusal import Fault, Refusal
from headwater.settings import load_stack, shown_path, stack_path

WIDE = 110
"""Columns from which a table is easier to read than lines."""


def project_folder() -> Path:
    """The nearest folder upwards from here that holds ``Pulumi.yaml``, else the checkout this code lies in.

    Raises:
        Refusal: there is none.
    """
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (folder / "Pulumi.yaml").is_file():
            return folder
    raise Refusal([Fault("the project", "", f"There is no Pulumi.yaml in {here} or above.", "Run this in a checkout.")])


def stack_file(stack: str) -> Path:
    """The file of a stack, from an environment's name or a path.

    Raises:
        Refusal: there is none.
    """
    return stack_path(stack, project_folder())


def planned(stack: str) -> tuple[Plan, Path, Path]:
    """The plan of a stack, its file and the project; a refusal says which file it is about.

    Raises:
        Refusal: the stack file asks for what cannot be.
    """
    file, project = stack_file(stack), project_folder()
    settings = load_stack(file)
    try:
        return build_plan(settings, project=project), file, project
    except Refusal as refusal:
        raise refusal.at(shown_path(file)) from None


class _Screen(Console):
    """A reader that has seen enough (``| head -1``) is no failure."""

    def on_broken_pipe(self) -> None:
        """Say so to the command, which ends with success."""
        raise BrokenPipeError


def console() -> Console:
    """The terminal; colour only on a terminal, never a wrapped line in a pipe."""
    terminal = sys.stdout.isatty()
    return _Screen(highlight=False, soft_wrap=not terminal, no_color=not terminal, width=None if terminal else 400)


def wide(screen: Console) -> bool:
    """Whether columns fit: a terminal of 110 columns or more."""
    return screen.is_terminal and screen.width >= WIDE


def write_json(value: Any) -> None:
    """Stable JSON for machines."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")

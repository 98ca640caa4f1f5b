"""Small Pulumi projects, made on the spot and evaluated in the embedded engine."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.preview.engine import evaluate
from headwater.preview.graph import Graph, Resource

Evaluate = Callable[..., Graph]


@pytest.fixture
def preview(tmp_path: Path) -> Evaluate:
    """Evaluate a program text: ``preview(program, config="…", project="…")``."""

    def run(program: str, config: str = "{}", project: str = "", stack: str = "dev") -> Graph:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        text = textwrap.dedent(project) or "name: demo\nruntime: python\n"
        (folder / "Pulumi.yaml").write_text(text)
        (folder / "__main__.py").write_text(textwrap.dedent(program))
        file = folder / f"Pulumi.{stack}.yaml"
        file.write_text("config:\n" + textwrap.indent(textwrap.dedent(config), "  "))
        return evaluate(file, folder)

    return run


def one(graph: Graph, name: str) -> Resource:
    """The only resource of that name."""
    (found,) = [resource for resource in graph.resources if resource.name == name]
    return found

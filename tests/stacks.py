"""The shipped stacks, each on a serving stack of one's choice, evaluated once a process."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import yaml

from headwater.preview.engine import evaluate
from headwater.preview.graph import Graph
from tests.conftest import ROOT

STACKS = ("dev", "staging", "prod")
SERVING = ("llm-d", "dynamo")


@cache
def stack_file(stack: str, serving: str) -> Path:
    """A committed stack file with ``serving.stack`` set."""
    document = yaml.safe_load((ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    document["config"]["headwater:serving"]["stack"] = serving
    file = Path(tempfile.mkdtemp(prefix="headwater-test-")) / f"Pulumi.{stack}.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return file


@cache
def graph(stack: str, serving: str) -> Graph:
    """What a first preview of the stack shows."""
    return evaluate(stack_file(stack, serving), ROOT)


def names(found: Graph) -> list[str]:
    """``type name`` of every resource, sorted: the public interface of an environment's state."""
    return sorted(f"{urn.split('::')[2]} {urn.split('::')[3]}" for urn in (r.urn for r in found.resources))

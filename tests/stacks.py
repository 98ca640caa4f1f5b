"""The shipped stacks, each on a serving stack of one's choice, evaluated once a process."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from headwater.preview.engine import evaluate
from headwater.preview.graph import Graph
from tests.conftest import ROOT

STACKS = ("dev", "staging", "prod")
SERVING = ("llm-d", "dynamo")


@cache
def stack_file(stack: str, serving: str) -> Path:
    """A committed stack file with ``serving.stack`` set."""
    return _written(stack, serving, {})


def varied(stack: str, serving: str, change: Mapping[str, Any]) -> Graph:
    """What a first preview shows of the stack with sections of its file changed key by key."""
    return evaluate(_written(stack, serving, change), ROOT)


def _written(stack: str, serving: str, change: Mapping[str, Any]) -> Path:
    document = yaml.safe_load((ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    config = document["config"]
    config["headwater:serving"]["stack"] = serving
    for section, keys in change.items():
        config[section] = config.get(section, {}) | keys
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

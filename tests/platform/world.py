"""The platform of a stack file, evaluated in the embedded engine, with no serving stack on it."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from headwater.plan import Plan, build_plan
from headwater.preview.engine import evaluate
from headwater.preview.graph import Graph, Resource
from headwater.settings import settings_from_config
from tests.validators.assume import assumed_outputs

PROGRAM = Path(__file__).parent / "program"

PART: dict[str, Any] = {
    "aws:region": "us-east-2",
    "headwater:serving": {
        "stack": "llm-d",
        "models": [
            {
                "name": "qwen",
                "model": "qwen3-32b",
                "precision": "fp8",
                "accelerator": "h100",
                "context": 32768,
                "concurrency": 4,
            }
        ],
    },
}
"""One model on a part of the smallest thing that serves."""

GROUP: dict[str, Any] = {
    "aws:region": "us-east-2",
    "headwater:cluster": {"admins": ["arn:aws:iam::123456789012:role/platform"], "protect": True},
    "headwater:serving": {
        "stack": "llm-d",
        "models": [
            *PART["headwater:serving"]["models"],
            {
                "name": "glm",
                "model": "glm-5",
                "precision": "fp8",
                "accelerator": "h100",
                "context": 65536,
                "concurrency": 4,
            },
        ],
    },
}
"""A model over two whole nodes beside one on a part of a node."""


def config(base: dict[str, Any], **sections: Any) -> dict[str, Any]:
    """A stack file's content with sections replaced: ``config(PART, network={...})``."""
    merged = copy.deepcopy(base)
    for name, value in sections.items():
        merged[f"headwater:{name}"] = value
    return merged


def with_capacity(base: dict[str, Any], **accelerators: Any) -> dict[str, Any]:
    """A stack file's content with what may be bought."""
    return config(base, capacity=accelerators)


@cache
def _graph(text: str, known: bool) -> Graph:
    file = Path(tempfile.mkdtemp(prefix="headwater-test-")) / "Pulumi.test.yaml"
    file.write_text(yaml.safe_dump({"config": json.loads(text)}, sort_keys=True), encoding="utf-8")
    if not known:
        return evaluate(file, PROGRAM)
    with assumed_outputs():
        return evaluate(file, PROGRAM)


class World:
    """Everything a stack file's platform makes."""

    def __init__(self, content: dict[str, Any], *, known: bool = False) -> None:
        self.graph = _graph(json.dumps(content, sort_keys=True), known)
        self.content = content

    @property
    def plan(self) -> Plan:
        """The plan it was made from."""
        return build_plan(settings_from_config(self.content, "test"))

    @property
    def resources(self) -> tuple[Resource, ...]:
        """Every resource, by URN."""
        return tuple(self.graph.resources)

    def all(self, type_: str, where: Callable[[Resource], bool] = lambda _: True) -> list[Resource]:
        """Resources whose type ends with the text, by name."""
        found = [r for r in self.resources if r.type.endswith(type_) and where(r)]
        return sorted(found, key=lambda r: r.name)

    def one(self, type_: str, name: str = "") -> Resource:
        """The only resource of a type (with that in its name)."""
        found = self.all(type_, lambda r: name in r.name)
        assert len(found) == 1, [r.name for r in found]
        return found[0]

    def values(self, chart: str) -> dict[str, Any]:
        """Values of a chart's release."""
        found = self.all(":Release", lambda r: r.inputs["name"] == chart)
        assert len(found) == 1, f"{chart}: {[r.name for r in found]}"
        return dict(found[0].inputs["values"])

    def spec(self, kind: str, name: str) -> dict[str, Any]:
        """Spec of a custom resource by its object's name."""
        found = [r for r in self.all(f":{kind}") if r.inputs["metadata"]["name"] == name]
        assert len(found) == 1, [r.name for r in found]
        return dict(found[0].inputs["spec"])

    def below(self, urn: str) -> set[str]:
        """Everything a resource stands on: dependencies, parents' and provider included, transitively."""
        by_urn = {r.urn: r for r in self.resources}
        seen: set[str] = set()
        open_ = [urn]
        while open_:
            here = by_urn.get(open_.pop())
            if here is None:
                continue
            for other in (*here.dependencies, here.provider):
                if other and other not in seen:
                    seen.add(other)
                    open_.append(other)
        return seen

    def stands_on(self, upper: Resource, lower: Resource) -> bool:
        """Whether ``upper`` is made after ``lower``, and so goes before it."""
        return lower.urn in self.below(upper.urn)

"""The table of properties that replace a resource covers what the program creates, and names real properties."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

from headwater.preview.engine import evaluate
from headwater.preview.force_new import AWS, FROZEN, KUBERNETES, force_new
from tests.conftest import ROOT


@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
@pytest.mark.graph
def test_every_aws_type_the_program_creates_is_in_the_table(stack: str) -> None:
    graph = evaluate(ROOT / "stacks" / f"Pulumi.{stack}.yaml", ROOT)
    types = {r.type for r in graph.resources if r.package == "aws" and not r.is_provider}
    assert len(types) > 20
    assert sorted(types - AWS.keys()) == []


@pytest.mark.parametrize("token", sorted(AWS))
def test_every_property_in_the_table_is_an_input_of_its_type(token: str) -> None:
    module, kind = re.fullmatch(r"aws:(\w+)/\w+:(\w+)", token).groups()  # type: ignore[union-attr]
    source = inspect.getsource(getattr(importlib.import_module(f"pulumi_aws.{module}"), f"{kind}Args"))
    words = set(re.findall(r'@pulumi\.getter\(name="(\w+)"\)', source)) | set(
        re.findall(r"    def (\w+)\(self\)", source)
    )
    assert {path.split(".")[0] for path in AWS[token]} - words == set()


def test_a_kind_is_known_by_its_group() -> None:
    assert "spec.selector" in force_new("kubernetes:apps/v1:Deployment")
    assert force_new("kubernetes:example.com/v1:Deployment") == ("metadata.name", "metadata.namespace")


def test_nothing_is_both_replaced_and_refused() -> None:
    assert [kind for kind, paths in FROZEN.items() if set(paths) & set(KUBERNETES.get(kind, ()))] == []


def test_a_mutable_secret_is_replaced_for_its_type_alone() -> None:
    assert "stringData" in force_new("kubernetes:core/v1:Secret")
    mutable = force_new("kubernetes:core/v1:Secret", frozenset({"Secret"}))
    assert "stringData" not in mutable
    assert "type" in mutable

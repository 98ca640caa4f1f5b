"""Every stack on both serving stacks, rendered whole and put before the judges: AWS, IAM, the API server, CRDs, Helm.

A first preview knows no id and no ARN, and so no policy; the same stacks are judged in the world after `up`, too.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.preview.engine import evaluate
from headwater.preview.graph import Graph
from tests.conftest import ROOT
from tests.stacks import SERVING, STACKS, graph, stack_file
from tests.validators import iam
from tests.validators.assume import assumed_outputs
from tests.validators.graph import NO_CRD, judges, resource_findings, validate_graph
from tests.validators.unknown import is_unknown

pytestmark = pytest.mark.graph
each = pytest.mark.parametrize("stack", STACKS)
both = pytest.mark.parametrize("serving", SERVING)


@cache
def after_up(stack: str, serving: str) -> Graph:
    """The stack with made-up ids and ARNs in place of what only the cloud can tell."""
    with assumed_outputs():
        return evaluate(stack_file(stack, serving), ROOT)


@each
@both
def test_the_judges_find_nothing_in_a_preview(shared: Path, stack: str, serving: str) -> None:
    found = validate_graph(graph(stack, serving), shared)
    assert found == [], "\n" + "\n".join(found)


@each
@both
def test_the_judges_find_nothing_after_up(shared: Path, stack: str, serving: str) -> None:
    found = validate_graph(after_up(stack, serving), shared)
    assert found == [], "\n" + "\n".join(found)


OPEN = re.compile(r"labels|annotations|matchLabels|tags|tagsAll|data|parameters|nodeSelector|limits|requests", re.I)


def misspelt(value: Any, path: tuple[str, ...] = ()) -> Iterator[Any]:
    """Copies of a value, in each of which one key has two letters too many; keys of open maps are left alone."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            for changed in misspelt(item, path):
                yield [*value[:index], changed, *value[index + 1 :]]
    elif isinstance(value, dict) and not (path and OPEN.search(path[-1])):
        for key, item in value.items():
            yield {f"{k}Xx" if k == key else k: v for k, v in value.items()}
            for changed in misspelt(item, (*path, key)):
                yield {**value, key: changed}


@pytest.mark.parametrize("serving", SERVING)
def test_the_judges_are_awake(shared: Path, serving: str) -> None:
    """Nearly every misspelt key of nearly every object is noticed; the rest lies in maps that are open upstream."""
    bench, seen, noticed = judges(shared), 0, 0
    for resource in after_up("dev", serving).resources:
        group = resource.type.split(":")[1].split("/")[0]
        package = resource.type.split(":")[0]
        if package not in ("aws", "kubernetes") or group in NO_CRD | {"yaml", "helm.sh"}:
            continue
        for inputs in misspelt(dict(resource.inputs)):
            seen += 1
            noticed += bool(resource_findings(replace(resource, inputs=inputs), bench))
    assert seen > 500
    assert noticed / seen > 0.98


@both
def test_the_longest_name_of_a_cluster_still_fits(shared: Path, tmp_path: Path, serving: str) -> None:
    document = yaml.safe_load(stack_file("prod", serving).read_text(encoding="utf-8"))
    document["config"]["headwater:cluster"]["name"] = "a" * 40
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    with assumed_outputs():
        found = validate_graph(evaluate(file, ROOT), shared)
    assert found == [], "\n" + "\n".join(found)


@each
@both
def test_no_policy_document_stays_unread(stack: str, serving: str) -> None:
    documents = [
        (resource.name, text)
        for resource in after_up(stack, serving).resources
        for _, _, text in iam.documents(resource.type, dict(resource.inputs))
    ]
    assert len(documents) > 10
    assert [name for name, text in documents if is_unknown(text)] == []

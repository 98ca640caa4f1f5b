"""The graph's JSON form is a promise."""

from __future__ import annotations

import dataclasses
import json

import pytest

from headwater.preview.graph import FORMAT, Graph, Hooks, Message, Question, Resource
from tests.conftest import ROOT

FULL = Resource(
    urn="urn:pulumi:s::p::a:b:C::n",
    type="a:b:C",
    name="n",
    custom=True,
    parent="urn:parent",
    provider="urn:provider",
    inputs={"a": [1, {"b": "<unknown>"}]},
    outputs={"c": "<secret>"},
    external=True,
    remote=True,
    dependencies=("urn:d",),
    property_dependencies={"a": ("urn:d",)},
    protect=True,
    retain_on_delete=True,
    delete_before_replace=True,
    deleted_with="urn:w",
    replace_with=("urn:r",),
    ignore_changes=("a",),
    replace_on_changes=("b",),
    additional_secrets=("c",),
    aliases=("urn:old",),
    timeouts={"delete": "45m"},
    import_id="i-1",
    hooks=Hooks(before_delete=("wait",)),
    version="1.2.3",
)
BARE = Resource(urn="urn:pulumi:s::p::a:b:C::m", type="a:b:C", name="m", custom=False)


@pytest.fixture
def graph() -> Graph:
    return Graph("p", "s", (BARE, FULL), {"o": 1}, (Question("t", "{}", answered=False),), (Message("", "text"),))


def test_every_field_survives_the_json_form(graph: Graph) -> None:
    assert Graph.from_json(json.loads(graph.dumps())) == graph
    assert all(getattr(FULL, f.name) != getattr(BARE, f.name) for f in dataclasses.fields(Resource) if f.name != "type")


def test_what_is_at_its_default_is_left_out(graph: Graph) -> None:
    assert BARE.to_json() == {"urn": BARE.urn, "type": "a:b:C", "name": "m", "custom": False, "parent": ""}


def test_every_key_is_documented(graph: Graph) -> None:
    text = (ROOT / "docs/preview.md").read_text(encoding="utf-8")
    assert FORMAT in text
    keys = {*graph.to_json(), *FULL.to_json()} - {"format"}
    assert (
        sorted(key for key in keys if f"{key}`" not in text and f"{key}[]" not in text and f"{key}{{}}" not in text)
        == []
    )


def test_a_document_without_newer_keys_is_read() -> None:
    old = {"format": FORMAT, "project": "p", "stack": "s", "outputs": {}, "questions": [], "messages": []}
    resource = {"urn": "urn:x", "type": "a:b:C", "name": "x", "custom": True, "parent": ""}
    assert Graph.from_json({**old, "resources": [resource]}).resources[0].hooks == Hooks()


def test_descendants_are_found_below_components(graph: Graph) -> None:
    top = dataclasses.replace(BARE, urn="urn:top", name="top")
    middle = dataclasses.replace(BARE, urn="urn:middle", name="middle", parent="urn:top")
    low = dataclasses.replace(BARE, urn="urn:low", name="low", parent="urn:middle")
    found = Graph("p", "s", (low, middle, top))
    assert [r.name for r in found.descendants("urn:top")] == ["middle", "low"]
    assert [r.name for r in found.children[""]] == ["top"]

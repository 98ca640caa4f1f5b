"""What must hold of everything a serving stack renders, whichever it is."""

from __future__ import annotations

from pathlib import Path

from tests.llmd.world import World
from tests.validators.graph import judges, resource_findings


def assert_judges_find_nothing(made: World, shared: Path) -> None:
    """The API server, Helm and the custom resources' schemas take every object."""
    bench = judges(shared)
    found = {r.urn: f for r in made.resources if (f := resource_findings(r, bench))}
    assert not found


def assert_same(first: World, second: World) -> None:
    """Two evaluations ask for the same things."""
    by_name = [sorted((r.urn, str(r.inputs)) for r in w.resources) for w in (first, second)]
    assert by_name[0] == by_name[1]


def assert_names_fit_once(made: World) -> None:
    """Every object has a name of its own, short enough for a label."""
    names = [
        (r.type, r.inputs["metadata"].get("namespace"), r.inputs["metadata"]["name"])
        for r in made.resources
        if isinstance(r.inputs.get("metadata"), dict)
    ]
    assert len(names) == len(set(names))
    assert all(len(name) <= 63 for _, _, name in names)

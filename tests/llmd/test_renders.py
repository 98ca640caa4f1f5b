"""Every path on both accelerators gives objects the API server, Helm and the router would take."""

from __future__ import annotations

import pytest

from tests.factories import disaggregated_model, make_model, make_plan, make_role, multi_node_model
from tests.llmd.world import world
from tests.validators.graph import judges, resource_findings

SHAPES = {
    "one-gpu": lambda gpu: make_model(roles=(make_role(accelerator=gpu),)),
    "two-nodes": multi_node_model,
    "disaggregated": disaggregated_model,
}


@pytest.mark.parametrize("accelerator", ["h100", "h200"])
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_every_object_passes_the_judges(shape, accelerator, shared):
    made = world(make_plan(models=(SHAPES[shape](accelerator),)))
    bench = judges(shared)
    found = {r.urn: f for r in made.resources if (f := resource_findings(r, bench))}
    assert not found

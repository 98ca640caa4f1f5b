"""Every shape on both accelerators gives objects the API server, Helm and the operator would take."""

from __future__ import annotations

import pytest

from tests.dynamo.shapes import ACCELERATORS, ALL, world
from tests.renders import assert_judges_find_nothing, assert_names_fit_once, assert_same


@pytest.mark.parametrize("accelerator", ACCELERATORS)
@pytest.mark.parametrize("case", sorted(ALL))
def test_every_object_passes_the_judges(case, accelerator, shared):
    assert_judges_find_nothing(world(ALL[case](accelerator)), shared)


@pytest.mark.parametrize("case", sorted(ALL))
def test_the_same_plan_gives_the_same_resources(case):
    assert_same(world(ALL[case]("h200")), world(ALL[case]("h200")))


@pytest.mark.parametrize("case", sorted(ALL))
def test_every_object_name_fits_and_is_made_once(case):
    assert_names_fit_once(world(ALL[case]("h100")))


@pytest.mark.parametrize("case", sorted(ALL))
def test_the_hub_token_is_only_ever_a_reference(case):
    made = world(ALL[case]("h100"), token_secret="hub-token-secret")
    for graph in made.all("DynamoGraphDeployment"):
        for component in graph.spec["components"]:
            for container in component["podTemplate"]["spec"]["containers"]:
                assert not any("hub-token-secret" in word for word in container.get("args", []))
                for variable in container.get("env", []):
                    assert variable["name"] != "HF_TOKEN" or "value" not in variable

"""Every path on both accelerators gives objects the API server, Helm and the router would take."""

from __future__ import annotations

import pytest

from tests.llmd.cases import ACCELERATORS, ALL
from tests.llmd.world import rendered, world
from tests.renders import assert_judges_find_nothing, assert_names_fit_once, assert_same


@pytest.mark.parametrize("accelerator", ACCELERATORS)
@pytest.mark.parametrize("case", sorted(ALL))
def test_every_object_passes_the_judges(case, accelerator, shared):
    assert_judges_find_nothing(rendered(case, accelerator), shared)


@pytest.mark.parametrize("case", sorted(ALL))
def test_the_same_plan_gives_the_same_resources(case):
    assert_same(world(ALL[case]("h200")), world(ALL[case]("h200")))


@pytest.mark.parametrize("case", sorted(ALL))
def test_every_object_name_fits_and_is_made_once(case):
    assert_names_fit_once(rendered(case, "h100"))

"""Every image of a graph, and what is pulled ahead, at the release that is asked for."""

from __future__ import annotations

import pytest

from headwater.catalog.dynamo_surface import dynamo_surface
from tests.dynamo.shapes import plan, world
from tests.dynamo.test_mistakes import GROUPED, main
from tests.factories import disaggregated_model
from tests.llmd.cases import one_server


def test_another_release_of_the_line_moves_chart_and_every_image():
    made = world(plan(disaggregated_model("h100"), version="1.6.2"))
    (release,) = [r for r in made.all("Release") if r.inputs["name"] == "dynamo-platform"]
    assert "1.6.2" in release.inputs["chart"]
    (graph,) = made.all("DynamoGraphDeployment")
    assert {main(c)["image"].rpartition(":")[2].removesuffix("-efa") for c in graph.spec["components"]} == {"1.6.2"}


@pytest.mark.parametrize("version", [None, "1.6.2"])
def test_what_is_pulled_ahead_is_what_workers_run(version):
    models = (one_server("h100"), disaggregated_model("h200"))
    named = {} if version is None else {"version": version}
    made = world(plan(*models, config={"headwater:weights": {"prepull": True}}, **named))
    pulled = {c["image"] for d in made.all("DaemonSet") for c in d.spec["template"]["spec"]["containers"]}
    graphs = [graph.spec for graph in made.all("DynamoGraphDeployment")]
    workers = [c for graph in graphs for c in graph["components"] if c["type"] in GROUPED]
    assert pulled == {main(worker)["image"] for worker in workers}
    assert {image.rpartition(":")[2] for image in pulled} == {
        version or dynamo_surface().version, f"{version or dynamo_surface().version}-efa",
    }  # fmt: skip

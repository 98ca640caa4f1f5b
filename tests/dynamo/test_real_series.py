"""Alerts, dashboard and autoscaling read series that Dynamo's own frontend shows: ``make test-dynamo``."""

from __future__ import annotations

import re

import pytest

from components.dynamo.alerts import OURS, model_alerts
from components.dynamo.dashboard import dashboard
from components.dynamo.frontend import frontend_arguments
from components.dynamo.scaling import scaled_object
from tests.dynamo.answering import series_after_one_answer
from tests.dynamo.shapes import elastic_disaggregated, plan, with_slo
from tests.dynamo.test_real import free_port
from tests.dynamo.wheels import Wheels, supported

pytestmark = [pytest.mark.dynamo, pytest.mark.timeout(1800)]

COPIED = {"namespace", "headwater_model", "dynamo_namespace", "dynamo_component_type"}
"""Labels that our monitors add."""
SELECTED = re.compile(r"(dynamo_\w+)\{([^}]*)\}")
MATCHED = re.compile(r'(\w+)(=~|!=|!~|=)"([^"]*)"')


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    if reason := supported():
        pytest.skip(reason)
    made = watched()
    arguments = frontend_arguments(made, made.models[0])
    series, _ = series_after_one_answer(Wheels(), arguments, free_port(), tmp_path_factory.mktemp("answering"))
    return series


def watched():
    return with_slo(plan(elastic_disaggregated(name="qwen")))


def queries():
    made = watched()
    model = made.models[0]
    found = [alert.expr for alert in model_alerts(made, model, "models", by_picker=False)]
    found += [t["expr"] for p in dashboard(made, "models")["panels"] for t in p.get("targets", ())]
    scaled = scaled_object(model, model.roles[0], "models", "http://prometheus")
    return [*found, *(trigger["metadata"]["query"] for trigger in scaled["triggers"])]


def unseen(query, series):
    """What a query selects that no series of the frontend has."""
    for metric, matchers in SELECTED.findall(query):
        if metric not in series:
            yield metric
        for label, operator, value in MATCHED.findall(matchers):
            values = {labels.get(label) for labels in series.get(metric, ())}
            if label not in COPIED and (values == {None} or (operator == "=" and value not in values)):
                yield f"{metric}: {label}{operator}{value}"


def test_every_series_we_read_is_one_the_frontend_shows(shown):
    read = {metric for query in queries() for metric, _ in SELECTED.findall(query)}
    assert len(read) >= 10
    assert [found for query in queries() for found in unseen(query, shown)] == []


def test_a_series_the_frontend_does_not_show_is_found_missing(shown):
    assert list(unseen('sum(dynamo_frontend_requests{namespace="models"})', shown)) == ["dynamo_frontend_requests"]
    assert list(unseen('dynamo_frontend_requests_total{kind="x"}', shown)) == ["dynamo_frontend_requests_total: kind=x"]


def test_the_frontends_series_have_no_label_that_the_monitors_add(shown):
    """What a series brings itself wins over what the monitor copies, so the copied name must be free."""
    for metric, all_labels in shown.items():
        if metric.startswith("dynamo_frontend_"):
            assert not any(COPIED & labels.keys() for labels in all_labels), metric


def test_every_kind_of_error_we_count_as_ours_is_one_the_frontend_counts(shown):
    known = set(Wheels().ask("words")["errors"])
    assert set(OURS.split("|")) < known

"""The reader of PromQL is seen refusing what Prometheus refuses, and telling one series from many."""

import json
from typing import Any

import pytest

from tests.validators import promql, queries


@pytest.mark.parametrize(
    "text",
    [
        "up",
        'sum(rate(vllm:request_success_total{namespace="serving", model_name=~"a|b"}[5m]))',
        "histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m])))",
        "avg(vllm:kv_cache_usage_perc) > 0.9 and on() sum(up) > 0",
        "sum without (pod) (a) / on (model) group_left (zone) b",
        "max_over_time(sum(a)[10m:1m]) offset 5m",
        "sum(a) or vector(0)",
        "1 + 2 * -3 ^ 2",
        'label_replace(a, "x", "$1", "y", "(.*)")',
        "topk(3, a) # the three worst",
        "a @ end()",
        '{__name__="a"}',
        "1 > bool 0",
        "sum by (model) (a) == 0 unless b",
    ],
)
def test_right_queries_are_read(text: str) -> None:
    assert promql.errors(text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sum(rate(a))", "rate takes a range vector"),
        ("rate(a[5])", "a duration expected"),
        ("sum(a[5m])", "sum takes a instant vector"),
        ("sum(a", r"'\)' expected"),
        ("sum(a))", r"unexpected '\)'"),
        ("a{b=c}", "a quoted value expected"),
        ("a{b='c'", "',' expected"),
        ('a{b=>"c"}', "a quoted value expected"),
        ("histogram_quantile(sum(a))", "2 to 2 arguments"),
        ("summ(a)", "no function 'summ'"),
        ("a ! b", "unreadable"),
        ("1 > 0", "needs bool"),
        ("a and 1", "takes vectors only"),
        ("{}", "matches everything"),
        ('{job=~".*"}', "matches everything"),
        ("", "an expression expected"),
        ("sum by model (a)", r"'\(' expected"),
        ('"a" + 1', "takes no string"),
        ("topk(a)", "topk takes a scalar"),
    ],
)
def test_wrong_queries_are_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        promql.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "sum(a)",
        "sum(rate(a[1m])) or vector(0)",
        "sum(a) / sum(b)",
        "max by () (a)",
        "histogram_quantile(0.9, sum by (le) (rate(b_bucket[5m])))",
        "clamp_max(avg(a), 1)",
        "scalar(a)",
        "absent(a)",
        "sum(a) > 3",
        "max_over_time(sum(a)[10m:])",
    ],
)
def test_one_series_is_seen(text: str) -> None:
    assert promql.parse(text).single


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "rate(a[1m])",
        "sum by (pod) (a)",
        "sum without (pod) (a)",
        "topk(1, a)",
        "sum(a) or b",
        "a / sum(b)",
        "histogram_quantile(0.9, sum by (le, pod) (rate(b_bucket[5m])))",
        "avg_over_time(a[5m])",
    ],
)
def test_several_series_are_seen(text: str) -> None:
    assert not promql.parse(text).single


def test_the_metrics_of_a_query_are_told() -> None:
    parsed = promql.parse('sum(rate(vllm:a_total[5m])) / sum({__name__="b"}) + scalar(c)')
    assert parsed.metrics == {"vllm:a_total", "b", "c"}


def alert(**rule: Any) -> dict[str, Any]:
    base = {"alert": "A", "expr": "sum(up) == 0", "annotations": {"summary": "Nothing is up."}}
    return {"kind": "PrometheusRule", "spec": {"groups": [{"name": "g", "rules": [base | rule]}]}}


def trigger(**given: Any) -> dict[str, Any]:
    base = {"serverAddress": "http://prometheus:9090", "query": "sum(queue)", "threshold": "8"}
    return {"kind": "ScaledObject", "spec": {"triggers": [{"type": "prometheus", "metadata": base | given}]}}


def config_map(key: str, text: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "data": {key: text}}


PANELS = {"panels": [{"targets": [{"expr": 'sum by (pod) (rate(a{ns="$namespace"}[$__rate_interval]))'}]}]}


@pytest.mark.parametrize(
    "obj",
    [alert(), trigger(), config_map("a.yaml", "a: 1\n---\nb: 2\n"), config_map("d.json", json.dumps(PANELS))],
    ids=lambda obj: obj["kind"],
)
def test_right_documents_pass(obj: dict[str, Any]) -> None:
    assert queries.findings(obj) == []


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        (alert(expr="sum(up"), "expected"),
        (alert(record="a:b"), "either an alert or a record"),
        (alert(annotations={}), "says nothing"),
        (trigger(query="queue"), "several series"),
        (trigger(query="sum(queue"), "expected"),
        (trigger(threshold="80%"), "no number"),
        (trigger(serverAddress=""), "missing"),
        (config_map("a.yaml", "a: [1"), "data[a.yaml]"),
        (config_map("d.json", "{"), "data[d.json]"),
        (config_map("d.json", json.dumps({"panels": [{"expr": "rate(a)"}]})), "takes a range vector"),
    ],
)
def test_wrong_documents_are_refused(obj: dict[str, Any], said: str) -> None:
    found = queries.findings(obj)
    assert any(said in finding for finding in found), found

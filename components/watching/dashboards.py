"""A Grafana dashboard as code: rows of charts, three abreast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

PROMETHEUS = {"type": "prometheus", "uid": "${source}"}
SOURCE = {"name": "source", "type": "datasource", "query": "prometheus", "current": {}}
WIDTH = HEIGHT = 8

Queries = tuple[tuple[str, str], ...]
"""Legend and expression of each line of a chart."""
Rows = Sequence[tuple[str, tuple[tuple[str, str, Queries], ...]]]
"""Title of each row, and its charts: name, unit, queries."""


def namespace_variable(namespace: str) -> dict[str, Any]:
    """The variable ``$namespace``: always the one the models are in."""
    shown = {"text": namespace, "value": namespace}
    return {"name": "namespace", "type": "constant", "query": namespace, "current": shown}


def query_variable(name: str, query: str) -> dict[str, Any]:
    """A variable of whose values, found by a query, any number may be chosen."""
    return {
        "name": name,
        "type": "query",
        "datasource": PROMETHEUS,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {},
    }


def dashboard_json(uid: str, title: str, rows: Rows, variables: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The dashboard's own JSON form; the data source is its first variable."""
    panels: list[dict[str, Any]] = []
    for row, (heading, charts) in enumerate(rows):
        top = row * (HEIGHT + 1)
        panels.append({"type": "row", "title": heading, "gridPos": {"x": 0, "y": top, "w": 24, "h": 1}, "panels": []})
        for column, (name, unit, queries) in enumerate(charts):
            panels.append(
                {
                    "type": "timeseries",
                    "title": name,
                    "datasource": PROMETHEUS,
                    "gridPos": {"x": column * WIDTH, "y": top + 1, "w": WIDTH, "h": HEIGHT},
                    "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                    "targets": [
                        {"refId": chr(ord("A") + n), "expr": expr, "legendFormat": legend, "datasource": PROMETHEUS}
                        for n, (legend, expr) in enumerate(queries)
                    ],
                }
            )
    for number, panel in enumerate(panels, start=1):
        panel["id"] = number
    return {
        "uid": uid,
        "title": title,
        "tags": ["headwater"],
        "timezone": "utc",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [SOURCE, *variables]},
        "panels": panels,
    }

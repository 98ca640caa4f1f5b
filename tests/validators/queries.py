"""Queries and documents inside objects: alert rules, autoscaling triggers, dashboards, and files of config maps."""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.validators import promql
from tests.validators.unknown import is_unknown

Object = dict[str, Any]
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def findings(obj: Object) -> list[str]:
    """Findings for what an object carries as text."""
    rule = {"PrometheusRule": _rules, "ScaledObject": _triggers, "ConfigMap": _files}.get(obj.get("kind", ""))
    return list(rule(obj)) if rule else []


def _rules(obj: Object) -> Iterator[str]:
    names = []
    for group in (obj.get("spec") or {}).get("groups") or []:
        for rule in group.get("rules") or []:
            name = rule.get("alert") or rule.get("record")
            where = f"rule {group.get('name')}/{name}"
            if ("alert" in rule) == ("record" in rule):
                yield f"{where}: must be either an alert or a record"
            if not is_unknown(rule.get("expr")):
                yield from promql.errors(str(rule.get("expr", "")), where)
            if "alert" in rule and not (rule.get("annotations") or {}).get("summary"):
                yield f"{where}: says nothing: annotations.summary is missing"
            if (group.get("name"), name) in names:
                yield f"{where}: a second one"
            names.append((group.get("name"), name))


def _triggers(obj: Object) -> Iterator[str]:
    for index, trigger in enumerate((obj.get("spec") or {}).get("triggers") or []):
        if trigger.get("type") != "prometheus":
            continue
        where, given = f"spec.triggers[{index}]", trigger.get("metadata") or {}
        for key in ("serverAddress", "query", "threshold"):
            if not given.get(key):
                yield f"{where}.metadata.{key}: missing"
        for key in ("threshold", "activationThreshold"):
            if key in given and not re.fullmatch(r"-?\d+(\.\d+)?", str(given[key])):
                yield f"{where}.metadata.{key}: {given[key]!r} is no number"
        query = str(given.get("query", ""))
        found = promql.errors(query, f"{where}.metadata.query")
        yield from found
        if query and not found and not promql.parse(query).single:
            yield f"{where}.metadata.query: may return several series, KEDA takes one: {query}"


def _files(obj: Object) -> Iterator[str]:
    for key, text in (obj.get("data") or {}).items() if isinstance(obj.get("data"), dict) else ():
        if not isinstance(text, str) or is_unknown(text):
            continue
        try:
            if key.endswith(".json"):
                yield from _dashboard(json.loads(text), f"data[{key}]")
            elif key.endswith((".yaml", ".yml")):
                list(yaml.load_all(text, _LOADER))
        except (ValueError, yaml.YAMLError) as error:
            yield f"data[{key}]: {str(error).splitlines()[0]}"


def _dashboard(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _dashboard(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "expr" and isinstance(item, str):
                yield from promql.errors(_filled(item), f"{path}.expr")
            else:
                yield from _dashboard(item, f"{path}.{key}")


def _filled(query: str) -> str:
    """The query with Grafana's variables filled in: durations where a window stands, a word elsewhere."""
    query = re.sub(r"\$__(rate_interval|interval|range)\b|\$\{__(rate_interval|interval|range)\}", "5m", query)
    return re.sub(r"\$\{\w+(:\w+)?\}|\$\w+|\[\[\w+\]\]", "x", query)

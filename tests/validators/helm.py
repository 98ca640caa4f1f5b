"""Helm values judged by the charts' own defaults: a chart swallows a misspelt path in silence, this does not."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from tests.validators import chart_notes
from tests.validators.chart_notes import Path_, covers
from tests.validators.unknown import is_unknown

Values = dict[str, Any]
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Maps that templates copy whole into a Kubernetes object: they take keys beside the default's own.
_COPIED = re.compile(
    r"(.*[aA]nnotations|.*[lL]abels|.*[nN]odeSelector|.*[rR]esources|limits|requests|.*[sS]ecurityContext)"
)
_COPIED_HERE: dict[str, frozenset[Path_]] = {
    "kube-prometheus-stack": frozenset({("grafana", "grafana.ini")}),
}


READ_UPSTREAM: dict[str, frozenset[str]] = {
    # Not in the reference data; read in istio/istio and in envoyproxy/ai-gateway at tag v0.7.0.
    "istiod": frozenset({"env.ENABLE_GATEWAY_API_INFERENCE_EXTENSION", "autoscaleMin", "global.hub"}),
    "ai-gateway-helm": frozenset({"controller.image.repository", "extProc.image.repository"}),
}


class Charts:
    """The charts under a folder: merged defaults, schemas, and what SOURCES.md says beyond the files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._notes = chart_notes.read(folder)
        self._defaults: dict[str, Values] = {}

    def names(self) -> list[str]:
        """Every chart with defaults here, sorted."""
        return sorted(p.name for p in self._folder.iterdir() if p.is_dir())

    def defaults(self, chart: str) -> Values:
        """The chart's default values with its subcharts' merged in under their keys."""
        if chart not in self._defaults:
            if chart not in self.names():
                raise KeyError(f"no default values are known for the chart {chart!r}")
            self._defaults[chart] = self._merged(self._folder / chart)
        return self._defaults[chart]

    def unknown_paths(self, chart: str, values: Values) -> list[str]:
        """Every value path that the chart does not know, or knows and reads nowhere."""
        known, valid, dead = self.defaults(chart), self._valid(chart), self._dead(chart)
        found = []
        for path in _leaves(values):
            if covers(dead, path):
                found.append(f"{_shown(path)}: in the chart's values, read by no template")
            elif not covers(valid, path) and not _exists(known, path, chart):
                found.append(f"{_shown(path)}: unknown to the chart {chart}, ignored in silence")
        return found

    def findings(self, chart: str, values: Values) -> list[str]:
        """Unknown paths, values of another type than the default's, and what a values.schema.json refuses."""
        if not values:
            return []
        if chart in READ_UPSTREAM:
            known = READ_UPSTREAM[chart]
            return [f"{p}: not among the paths read upstream" for p in map(_shown, _leaves(values)) if p not in known]
        try:
            found = self.unknown_paths(chart, values)
        except KeyError as error:
            return [str(error.args[0])]
        return found + list(_types(self.defaults(chart), values, ())) + self._schema_errors(chart, values)

    def _merged(self, folder: Path) -> Values:
        values = _read(next(f for f in (folder / "values.yaml", folder / "values.tmpl.yaml") if f.is_file()))
        merged: Values = {}
        for dependency in self._dependencies(folder):
            if (sub := self._subfolder(folder, dependency)) is not None:
                below = self._merged(sub)
                _merge(merged.setdefault("global", {}), below.get("global") or {})
                merged[_key(dependency)] = below
        _merge(merged, values)
        return merged

    def _dependencies(self, folder: Path) -> list[Values]:
        return _read(folder / "Chart.yaml").get("dependencies") or []

    def _subfolder(self, folder: Path, dependency: Values) -> Path | None:
        bundled, known = folder / "charts" / dependency["name"], self._folder / dependency["name"]
        return bundled if bundled.is_dir() else known if known.is_dir() else None

    def _valid(self, chart: str) -> frozenset[Path_]:
        paths = set(self._notes.valid.get(chart, ()))
        for dependency in self._dependencies(self._folder / chart):
            for condition in (dependency.get("condition") or "").split(","):
                paths |= {tuple(condition.strip().split("."))} if condition else set()
            paths |= {(_key(dependency), *path) for path in self._notes.valid.get(dependency["name"], ())}
        return frozenset(paths)

    def _dead(self, chart: str) -> frozenset[Path_]:
        paths = set(self._notes.dead.get(chart, ()))
        for dependency in self._dependencies(self._folder / chart):
            paths |= {(_key(dependency), *path) for path in self._notes.dead.get(dependency["name"], ())}
        return frozenset(paths)

    def _schema_errors(self, chart: str, values: Values) -> list[str]:
        whole: Values = json.loads(json.dumps(self.defaults(chart)))
        _merge(whole, values)
        folders = [((), self._folder / chart)]
        for dependency in self._dependencies(self._folder / chart):
            if (sub := self._subfolder(self._folder / chart, dependency)) is not None:
                folders.append(((_key(dependency),), sub))  # type: ignore[arg-type]
        found = []
        for prefix, folder in folders:
            file = folder / "values.schema.json"
            if not file.is_file():
                continue
            part = whole
            for segment in prefix:
                part = part.get(segment) or {}
            for error in _schema(file).iter_errors(part):
                if not is_unknown(error.instance):
                    found.append(f"{_shown((*prefix, *map(str, error.absolute_path)))}: {error.message[:200]}")
        return sorted(found)


@cache
def load(folder: Path) -> Charts:
    """The charts of a folder, read once a process."""
    return Charts(folder)


@cache
def _schema(file: Path) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(file.read_text(encoding="utf-8")))


def _read(file: Path) -> Values:
    return yaml.load(file.read_text(encoding="utf-8"), _LOADER) or {}


def _key(dependency: Values) -> str:
    return str(dependency.get("alias") or dependency["name"])


def _merge(into: Values, over: Values) -> None:
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _leaves(values: Values, path: Path_ = ()) -> list[Path_]:
    found = []
    for key, value in values.items():
        if isinstance(value, dict) and value:
            found += _leaves(value, (*path, str(key)))
        else:
            found.append((*path, str(key)))
    return found


def _exists(known: Any, path: Path_, chart: str) -> bool:
    for index, segment in enumerate(path):
        if known is None or known == {} or isinstance(known, list):
            return index > 0
        if not isinstance(known, dict):
            return False
        if segment not in known:
            copied = index > 0 and (_COPIED.fullmatch(path[index - 1]) or path[:index] in _COPIED_HERE.get(chart, ()))
            return bool(copied)
        known = known[segment]
    return True


def _types(known: Any, given: Any, path: Path_) -> list[str]:
    if known is None or is_unknown(given):
        return []
    if isinstance(given, dict) and isinstance(known, dict):
        return [e for k, v in given.items() for e in _types(known.get(k), v, (*path, str(k)))]
    kinds = {bool: "a boolean", dict: "a map", list: "a list"}
    want, have = kinds.get(type(known), "plain"), kinds.get(type(given), "plain")
    if given is None or want == have or (known in ("", 0) and have in ("a map", "a list")):
        return []
    return [f"{_shown(path)}: {have} ({str(given)[:40]}), where the default is {want}"]


def _shown(path: Path_) -> str:
    return ".".join(f'"{segment}"' if "." in segment else segment for segment in path)

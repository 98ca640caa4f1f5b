"""Custom resources judged by their CRDs: what the API server would refuse, drop or default, found without one."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.validators import cel_rules, metadata, structural
from tests.validators.unknown import is_unknown

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_GROUP = re.compile(r"^  group: [\"']?([^\s\"']+)", re.M)
_KIND = re.compile(r"^    kind: [\"']?([^\s\"']+)", re.M)


@dataclass(frozen=True)
class Crd:
    """One custom kind: its scope and the schema of each served version."""

    group: str
    kind: str
    namespaced: bool
    versions: dict[str, structural.Schema]


class CrdSet:
    """Every CustomResourceDefinition under a folder; each is parsed when first needed and kept."""

    def __init__(self, folder: Path) -> None:
        self._texts: dict[tuple[str, str], str] = {}
        self._crds: dict[tuple[str, str], Crd] = {}
        for file in sorted(folder.rglob("*.yaml")):
            for text in re.split(r"^---\s*$", file.read_text(encoding="utf-8"), flags=re.M):
                if re.search(r"^kind: CustomResourceDefinition\s*$", text, re.M):
                    key = (_only(_GROUP, text), _only(_KIND, text))
                    if key in self._texts:
                        raise ValueError(f"{file}: a second CRD for {key}")
                    self._texts[key] = text

    def kinds(self) -> list[tuple[str, str]]:
        """Every (group, kind), sorted."""
        return sorted(self._texts)

    def groups(self) -> set[str]:
        """Every API group that has a CRD here."""
        return {group for group, _ in self._texts}

    def knows(self, api_version: str, kind: str) -> bool:
        """Whether the kind has a CRD here, whatever the version."""
        return (api_version.partition("/")[0], kind) in self._texts

    def crd(self, group: str, kind: str) -> Crd:
        """The parsed definition; KeyError when there is none."""
        key = (group, kind)
        if key not in self._crds:
            spec = yaml.load(self._texts[key], _LOADER)["spec"]
            versions = {v["name"]: v["schema"]["openAPIV3Schema"] for v in spec["versions"] if v.get("served")}
            self._crds[key] = Crd(group, kind, spec["scope"] == "Namespaced", versions)
        return self._crds[key]

    def validate(self, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
        """Findings for one object; with ``old``, also the rules about what an update may change."""
        api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
        group, _, version = api_version.partition("/")
        if not self.knows(api_version, kind):
            return [f"apiVersion: no CRD for {kind!r} in {api_version!r}"]
        crd = self.crd(group, kind)
        if version not in crd.versions:
            return [f"apiVersion: {kind} of {group} is served as {', '.join(crd.versions)}, not {version}"]
        schema = _root(_Held(crd.versions[version]))
        found = metadata.errors(obj, namespaced=crd.namespaced)
        filled = structural.with_defaults(schema, obj)
        structure = structural.errors(schema, filled)
        found += [error.removeprefix(".") for error in structure]
        if not structure:
            before = {} if old is None else {"old": _rule_view(structural.with_defaults(schema, old))}
            found += cel_rules.errors(schema, _rule_view(filled), **before)
        return found

    def defaulted(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The object as the API server stores it: defaults filled in."""
        group, _, version = obj["apiVersion"].partition("/")
        filled: dict[str, Any] = structural.with_defaults(self.crd(group, obj["kind"]).versions[version], obj)
        return filled


class _Held:
    """A schema as a cache key: the same object, the same key."""

    def __init__(self, schema: structural.Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.schema is self.schema


@cache
def _root(held: _Held) -> structural.Schema:
    """The schema of the whole object: ``metadata`` is judged apart, ``apiVersion`` and ``kind`` always exist."""
    schema = held.schema
    known = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}} | (schema.get("properties") or {})
    known["metadata"] = {**known.get("metadata", {}), "type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {**schema, "type": "object", "properties": known}


def _rule_view(obj: dict[str, Any]) -> dict[str, Any]:
    meta = {k: v for k, v in (obj.get("metadata") or {}).items() if k in ("name", "generateName") and not is_unknown(v)}
    return {**obj, "metadata": meta}


def _only(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    if found is None:
        raise ValueError(f"a CRD without {pattern.pattern}")
    return found.group(1)

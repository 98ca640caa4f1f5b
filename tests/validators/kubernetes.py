"""Core Kubernetes objects: the API's own schema for one release, then the rules that no schema holds."""

import re
from functools import cache
from typing import Any

import jsonschema
import kubernetes_validate.utils as packaged
from referencing import Registry, Resource

from tests.validators import kinds, metadata, pods
from tests.validators.unknown import is_unknown, without_hidden_parts

VERSION = "1.36"
Object = dict[str, Any]


@cache
def _registry() -> tuple[str, Registry[Any]]:
    """The packaged schemas nearest below VERSION, read once: the package itself reads them anew for each object."""
    chosen = [v for v in packaged.all_versions() if packaged.major_minor(v) == VERSION][-1]
    folder = f"kubernetes-json-schema/v{chosen}-local-strict"
    definitions = packaged.schema_contents(f"{folder}/_definitions.json", VERSION)
    return folder, Resource.from_contents(definitions) @ Registry()


@cache
def _validator(api_version: str, kind: str) -> jsonschema.Draft202012Validator | None:
    folder, registry = _registry()
    short = re.sub(r"^([^./]*)(?:\.[^/]*)?/", r"\1-", api_version)
    try:
        schema = packaged.schema_contents(f"{folder}/{kind.lower()}-{short}.json", VERSION)
    except FileNotFoundError:
        return None
    return jsonschema.Draft202012Validator(schema, registry=Resource.from_contents(schema) @ registry)


def knows(api_version: str, kind: str) -> bool:
    """Whether the release has this kind."""
    return _validator(api_version, kind) is not None


def validate(obj: Object) -> list[str]:
    """Findings for one core object; every one, not the first."""
    api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    validator = _validator(api_version, kind)
    if validator is None:
        return [f"apiVersion: Kubernetes {VERSION} has no {kind} in {api_version}"]
    found = []
    for error in sorted(validator.iter_errors(obj), key=lambda e: e.json_path):
        if not is_unknown(error.instance):
            found.append(f"{error.json_path.removeprefix('$.')}: {_leaf(error)}")
    found += _nulls(obj, "")
    found += metadata.errors(obj, namespaced=kind not in kinds.CLUSTER_SCOPED)
    seen = without_hidden_parts(obj)
    if not found and ("spec" in seen) == ("spec" in obj):
        found += kinds.errors(seen)
    return found


def pod_template_errors(template: Object, path: str, *, partial: bool = False) -> list[str]:
    """Findings for a pod template inside any object, by the schema of PodTemplate and the rules of pods."""
    wrapped = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": template}
    validator = _validator("v1", "PodTemplate")
    if validator is None:
        raise LookupError("no schema for PodTemplate")
    found = [
        f"{path}{error.json_path.removeprefix('$.template')}: {_leaf(error)}"
        for error in sorted(validator.iter_errors(wrapped), key=lambda e: e.json_path)
        if not is_unknown(error.instance)
    ]
    seen = without_hidden_parts(template)
    return found or (pods.errors(seen, path, partial=partial) if "spec" in seen else [])


def definition_errors(name: str, value: Any, path: str) -> list[str]:
    """Findings for a value by one of the API's inner types, ``io.k8s.api.core.v1.Toleration`` say."""
    return [
        f"{path}{error.json_path.removeprefix('$')}: {_leaf(error)}"
        for error in sorted(_definition(name).iter_errors(value), key=lambda e: e.json_path)
        if not is_unknown(error.instance)
    ]


@cache
def _definition(name: str) -> jsonschema.Draft202012Validator:
    _, registry = _registry()
    reference = f"https://kubernetes.io/api/_definitions.json#/$defs/{name}"
    return jsonschema.Draft202012Validator({"$ref": reference}, registry=registry)


def _leaf(error: jsonschema.ValidationError) -> str:
    text = error.message
    return text if len(text) <= 200 else text[:120] + " ... " + text[-75:]


def _nulls(value: Any, path: str) -> list[str]:
    if value is None:
        return [f"{path}: null is dropped in silence"]
    if isinstance(value, dict):
        return [e for k, v in value.items() for e in _nulls(v, f"{path}.{k}" if path else str(k))]
    if isinstance(value, list):
        return [e for i, v in enumerate(value) for e in _nulls(v, f"{path}[{i}]")]
    return []

"""Write a graph as the files a reviewer reads: one Kubernetes object, Helm release or AWS resource each.

Layout under the folder::

    kubernetes/<group>/<Kind>/<namespace>-<name>.yaml    group ``core`` for the core group; no namespace, no dash
    helm/<release>.yaml                                  chart, version, repo, namespace, values
    bundles/<name>.yaml                                  files of CRDs that upstream publishes, by address
    aws/<service>.<Type>/<logical name>.json             inputs as the provider gets them

What only the cloud can tell is ``<unknown>``; what is secret is ``<secret>``.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from headwater.preview.graph import Graph, Resource
from headwater.refusal import Fault, Refusal

MARK = ".headwater-render"
"""Names the files of an earlier render; a folder without it and not empty is somebody else's."""
RELEASE = "kubernetes:helm.sh/v3:Release"
BUNDLES = ("kubernetes:yaml/v2:ConfigFile", "kubernetes:yaml/v2:ConfigGroup")


class _Dumper(yaml.SafeDumper):
    """Plain YAML: no anchors, long strings as blocks."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Write a repeated value again, not as a reference."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def rendered(graph: Graph) -> dict[str, str]:
    """Every file by its path under the folder, sorted.

    Raises:
        ValueError: two resources claim the same file; logical names would have to differ.
    """
    files: dict[str, str] = {}
    for resource in graph.resources:
        entry = _file(resource)
        if entry is None:
            continue
        path, text = entry
        if path in files:
            raise ValueError(f"two resources render to {path}; the second is {resource.urn}")
        files[path] = text
    return dict(sorted(files.items()))


def render(graph: Graph, out: Path) -> list[str]:
    """Write the files; the folder then holds this graph and nothing of an earlier one.

    Args:
        graph: what to write.
        out: a folder that is absent, empty, or written by an earlier render.

    Returns:
        The paths written, relative, sorted.

    Raises:
        Refusal: the folder holds something else, or cannot be written.
    """
    files = rendered(graph)
    try:
        if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / MARK).is_file())):
            why = "It holds files that no render wrote, which would be lost."
            raise Refusal([Fault("--out", str(out), why, "Name an empty or a new folder.")])
        out.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
        try:
            for path, text in {**files, MARK: "\n".join(files) + "\n"}.items():
                target = fresh / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
            fresh.chmod(0o755)
            if out.exists():
                shutil.rmtree(out)
            fresh.rename(out)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise Refusal([Fault("--out", str(out), f"It cannot be written: {error.strerror}.", "")]) from None
    return list(files)


def _file(resource: Resource) -> tuple[str, str] | None:
    if resource.external or resource.is_provider:
        return None
    if resource.type == RELEASE:
        name = _safe(resource.inputs.get("name", resource.name))
        return f"helm/{name}.yaml", _yaml(_release(resource.inputs))
    if resource.type in BUNDLES:
        return f"bundles/{_safe(resource.name)}.yaml", _yaml(dict(resource.inputs))
    if resource.custom and resource.package == "kubernetes":
        return _object(resource)
    if resource.custom and resource.package == "aws":
        service, kind = resource.type.split(":")[1].split("/")[0], resource.type.rsplit(":", 1)[1]
        text = json.dumps(resource.inputs, indent=2, sort_keys=True, ensure_ascii=False, default=dict) + "\n"
        return f"aws/{service}.{kind}/{_safe(resource.name)}.json", text
    return None


def _object(resource: Resource) -> tuple[str, str]:
    version, _, kind = resource.type.removeprefix("kubernetes:").rpartition(":")
    inputs = dict(resource.inputs)
    api = str(inputs.get("apiVersion", version.removeprefix("core/")))
    group = api.rpartition("/")[0] or "core"
    metadata = inputs.get("metadata")
    named: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    name = _safe(named.get("name", resource.name))
    space = named.get("namespace")
    file = f"{_safe(space)}-{name}" if space else name
    body = {"apiVersion": api, "kind": inputs.get("kind", kind), "metadata": metadata}
    rest = {key: value for key, value in inputs.items() if key not in body}
    return f"kubernetes/{group}/{kind}/{file}.yaml", _yaml({**body, **rest})


def _release(inputs: Mapping[str, Any]) -> dict[str, Any]:
    repository = inputs.get("repositoryOpts")
    known = {
        "chart": inputs.get("chart"),
        "version": inputs.get("version"),
        "repo": repository.get("repo") if isinstance(repository, Mapping) else repository,
        "namespace": inputs.get("namespace"),
        "values": inputs.get("values", {}),
    }
    options = {k: v for k, v in inputs.items() if k not in (*known, "repositoryOpts", "name", "compat")}
    return {"name": inputs.get("name"), **known, **({"options": options} if options else {})}


def _yaml(value: Any) -> str:
    plain = json.loads(json.dumps(value, default=dict))
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=120)


def _safe(name: Any) -> str:
    """A file name: angle brackets of unknown values and path separators go."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", str(name)).strip("-") or "unnamed"

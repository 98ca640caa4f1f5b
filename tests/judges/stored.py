"""What the program wrote against what the API server keeps, and what is in the API server at all."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from .world.charts import KEPT
from .world.kube import Kube

Object = dict[str, Any]
VOLATILE = {"Event", "Lease", "EndpointSlice", "Endpoints", "APIService", "ControllerRevision", "CSINode"}
"""Kinds that the control plane makes by itself."""

_UNITS = {"m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?")


def quantity(text: str) -> Decimal | None:
    """A Kubernetes quantity as a number; None when it is none."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return None
    unit = found.group(2) or ""
    factor = Decimal(2) ** _BINARY[unit] if unit in _BINARY else Decimal(10) ** _UNITS[unit]
    return Decimal(found.group(1)) * factor


def _same(written: Any, kept: Any) -> bool:
    if written == kept:
        return True
    first, second = quantity(str(written)), quantity(str(kept))
    return first is not None and first == second


def changed(path: str, written: Any, kept: Any) -> Iterator[str]:
    """Where the API server keeps something other than what was written; what it adds does not count."""
    if isinstance(written, dict) and isinstance(kept, dict):
        for key, value in written.items():
            if value is not None:
                yield from changed(f"{path}.{key}", value, kept.get(key))
    elif isinstance(written, list) and isinstance(kept, list) and len(written) == len(kept):
        for index, (one, other) in enumerate(zip(written, kept, strict=True)):
            yield from changed(f"{path}[{index}]", one, other)
    elif not _same(written, kept) and not (written in ({}, [], "") and kept is None):
        yield f"{path}: written {json.dumps(written)[:120]}, kept {json.dumps(kept)[:120]}"


def written_objects(resources: list[Object]) -> list[Object]:
    """The Kubernetes objects among the resources of a state: their inputs, secrets left as they are shown."""
    found = []
    for resource in resources:
        inputs = resource.get("inputs") or {}
        if resource["type"].startswith("kubernetes:") and inputs.get("apiVersion") and inputs.get("kind"):
            found.append(inputs)
    return found


def stored_otherwise(kube: Kube, resources: list[Object]) -> list[str]:
    """Every object that is missing or differs from what was written."""
    found = []
    for written in written_objects(resources):
        metadata = written["metadata"]
        kept = kube.get(written["apiVersion"], written["kind"], metadata["name"], metadata.get("namespace", "default"))
        where = f"{written['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
        if kept is None:
            found.append(f"{where}: not there")
            continue
        if metadata.get("namespace") == "default" and "namespace" not in kept["metadata"]:
            # the provider's guess of a kind it had not met yet: we write no namespace there, and never this one
            metadata = {key: value for key, value in metadata.items() if key != "namespace"}
        body = {
            key: value
            for key, value in {**written, "metadata": metadata}.items()
            if key not in {"stringData", "data"} or written["kind"] != "Secret"
        }
        found += [f"{where}{line}" for line in changed("", body, kept)]
    return found


def inventory(kube: Kube, *, owned: bool = True) -> set[str]:
    """Every object in the API server, ``Kind namespace/name``, but for what it makes by itself.

    Args:
        owned: also what another object owns: pods, launched nodes.
    """
    found = set()
    for version, kind in kube.kinds():
        if kind in VOLATILE:
            continue
        for item in kube.list(version, kind):
            metadata = item["metadata"]
            if metadata.get("ownerReferences") and not owned:
                continue
            found.add(f"{kind} {metadata.get('namespace', '')}/{metadata['name']}")
    return found


def kept_by_helm(entry: str, crd_groups: dict[str, tuple[str, ...]]) -> bool:
    """Whether the entry is a CRD that its chart carries in ``crds/``, which Helm leaves on purpose."""
    groups = [group for chart in KEPT for group in crd_groups[chart]]
    return entry.startswith("CustomResourceDefinition ") and any(entry.endswith(f".{group}") for group in groups)

"""Names, labels and annotations, by the rules every Kubernetes object obeys."""

import re
from typing import Any

from tests.validators.unknown import is_unknown

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PATH_SEGMENT_KINDS = {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}
_LABEL_KINDS = {"Namespace", "Service"}
_FIELDS = {"name", "namespace", "labels", "annotations", "finalizers", "ownerReferences", "generateName"}
ANNOTATIONS_BYTES = 256 * 1024


def is_dns_label(text: str) -> bool:
    """RFC 1123 label: at most 63 of a-z, 0-9 and ``-``."""
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    """RFC 1123 subdomain: at most 253, labels joined by dots."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def qualified_name_error(key: str) -> str | None:
    """Why a label or annotation key, or an extended resource's name, is refused; None when it is right."""
    prefix, slash, name = key.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return f"the prefix of {key!r} is no DNS subdomain"
    if not name or len(name) > 63 or not _NAME.fullmatch(name):
        return f"{name!r} is no name of at most 63 letters, digits, '-', '_' and '.'"
    return None


def label_value_error(value: Any) -> str | None:
    """Why a label's value is refused; None when it is right."""
    if not isinstance(value, str):
        return f"{value!r} must be text"
    if value and (len(value) > 63 or not _NAME.fullmatch(value)) and not is_unknown(value):
        return f"{value!r} is no label value (63 letters, digits, '-', '_', '.', starting and ending plain)"
    return None


def labels_errors(labels: Any, path: str) -> list[str]:
    """Findings for a map of labels, also a ``matchLabels`` or ``nodeSelector``."""
    if labels is None or is_unknown(labels):
        return []
    if not isinstance(labels, dict):
        return [f"{path}: {labels!r} is no map"]
    found = []
    for key, value in labels.items():
        if error := qualified_name_error(str(key)):
            found.append(f"{path}: {error}")
        if error := label_value_error(value):
            found.append(f"{path}[{key}]: {error}")
    return found


def annotations_errors(annotations: Any, path: str) -> list[str]:
    """Findings for a map of annotations: keys, text values, 256 KiB in all."""
    if annotations is None or is_unknown(annotations):
        return []
    if not isinstance(annotations, dict):
        return [f"{path}: {annotations!r} is no map"]
    found = []
    for key, value in annotations.items():
        if error := qualified_name_error(str(key).lower()):
            found.append(f"{path}: {error}")
        if not isinstance(value, str):
            found.append(f"{path}[{key}]: {value!r} must be text")
    size = sum(len(str(k).encode()) + len(str(v).encode()) for k, v in annotations.items())
    if size > ANNOTATIONS_BYTES:
        found.append(f"{path}: {size} bytes, at most {ANNOTATIONS_BYTES} are stored")
    return found


def meta_errors(meta: dict[str, Any], path: str = "metadata") -> list[str]:
    """Findings for labels and annotations of an object or a pod template."""
    found = [f"{path}.{key}: not ours to set" for key in sorted(set(meta) - _FIELDS)]
    found += labels_errors(meta.get("labels"), f"{path}.labels")
    found += annotations_errors(meta.get("annotations"), f"{path}.annotations")
    for finalizer in meta.get("finalizers") or []:
        if error := qualified_name_error(finalizer):
            found.append(f"{path}.finalizers: {error}")
    return found


def errors(obj: dict[str, Any], *, namespaced: bool | None = None) -> list[str]:
    """Findings for the whole ``metadata``; ``namespaced``: does the kind live in a namespace, None if not known."""
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        return ["metadata: missing"]
    found, name, kind = meta_errors(meta), meta.get("name"), obj.get("kind", "")
    if not name:
        found.append("metadata.name: missing")
    elif not is_unknown(name):
        found += _name_errors(str(kind), str(name))
    namespace = meta.get("namespace")
    if namespaced is False and namespace is not None:
        found.append(f"metadata.namespace: {kind} is cluster-scoped, yet has {namespace!r}")
    if namespaced is True and not namespace:
        found.append(f"metadata.namespace: missing: {kind} would land in whatever namespace the kubeconfig names")
    if namespace is not None and not is_unknown(namespace) and not is_dns_label(str(namespace)):
        found.append(f"metadata.namespace: {namespace!r} is no DNS label")
    return found


def _name_errors(kind: str, name: str) -> list[str]:
    if kind in _PATH_SEGMENT_KINDS:
        good, rule = "/" not in name and "%" not in name and name not in (".", ".."), "path segment"
    elif kind in _LABEL_KINDS:
        good, rule = is_dns_label(name), "DNS label"
    else:
        good, rule = is_dns_subdomain(name), "DNS subdomain"
    if kind == "Service" and name[:1].isdigit():
        good, rule = False, "DNS label that starts with a letter"
    return [] if good else [f"metadata.name: {name!r} is no {rule}"]

"""Kubernetes shapes inside Helm values and in custom resources without a CRD: parts that are copied whole.

A chart's `resources`, `tolerations` or `affinity` is an open map to Helm; to the API server it is not.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tests.validators import kubernetes, metadata, pods
from tests.validators.unknown import holds_unknown

_CORE = "io.k8s.api.core.v1"


def findings(value: Any, path: str = "") -> Iterator[str]:
    """Findings for every part that carries the name of a Kubernetes shape."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from findings(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            where = f"{path}.{key}" if path else str(key)
            shape = _SHAPES.get(key)
            if shape is not None and item and not holds_unknown(item):
                yield from shape(item, where)
            elif shape is None:
                yield from findings(item, where)


def _each(name: str) -> Callable[[Any, str], Iterator[str]]:
    def judge(value: Any, path: str) -> Iterator[str]:
        for index, item in enumerate(value if isinstance(value, list) else []):
            yield from kubernetes.definition_errors(f"{_CORE}.{name}", item, f"{path}[{index}]")

    return judge


def _whole(name: str) -> Callable[[Any, str], Iterator[str]]:
    def judge(value: Any, path: str) -> Iterator[str]:
        yield from kubernetes.definition_errors(f"{_CORE}.{name}", value, path)

    return judge


def _resources(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict) and set(value) != {"overrides"}:  # the metrics adapter's map of labels has this name too
        found = kubernetes.definition_errors(f"{_CORE}.ResourceRequirements", value, path)
        yield from found or pods.resources_errors(value, path)


def _security(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        pod = kubernetes.definition_errors(f"{_CORE}.PodSecurityContext", value, path)
        own = kubernetes.definition_errors(f"{_CORE}.SecurityContext", value, path)
        yield from min(pod, own, key=len)


def _node_selector(value: Any, path: str) -> Iterator[str]:
    yield from metadata.labels_errors(value, path)


_SHAPES: dict[str, Callable[[Any, str], Iterator[str]]] = {
    "resources": _resources,
    "tolerations": _each("Toleration"),
    "topologySpreadConstraints": _each("TopologySpreadConstraint"),
    "affinity": _whole("Affinity"),
    "env": _each("EnvVar"),
    "extraEnv": _each("EnvVar"),
    "volumes": _each("Volume"),
    "volumeMounts": _each("VolumeMount"),
    "securityContext": _security,
    "podSecurityContext": _security,
    "nodeSelector": _node_selector,
    "persistentVolumeClaimRetentionPolicy": lambda value, path: iter(
        kubernetes.definition_errors("io.k8s.api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", value, path)
    ),
    "volumeClaimTemplate": lambda value, path: iter(
        kubernetes.definition_errors(f"{_CORE}.PersistentVolumeClaimTemplate", value, path)
    ),
}

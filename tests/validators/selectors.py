"""Selectors and the pods they must find, and the ports by which those are asked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.validators.unknown import is_unknown

Object = dict[str, Any]
# Labels that controllers put on pods: a selector on them cannot be checked against a template.
ADDED = (
    "leaderworkerset.sigs.k8s.io/",
    "disaggregatedset.x-k8s.io/",
    "nvidia.com/",
    "grove.io/",
    "gateway.networking.k8s.io/",
)


@dataclass(frozen=True)
class Pod:
    """A pod that some template makes: where, its labels, the names and numbers of its ports."""

    namespace: str
    labels: dict[str, Any]
    ports: frozenset[Any]


def pods(objects: list[Object]) -> list[Pod]:
    """Every pod template of the objects, custom ones included."""
    return [pod for obj in objects for pod in _pods(obj)]


def findings(obj: Object, known: list[Pod]) -> Iterator[str]:
    """What an object's selector or port does not find."""
    kind, spec = obj.get("kind"), obj.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    namespace = str((obj.get("metadata") or {}).get("namespace") or "")
    selector = spec.get("selector")
    if kind in ("PodDisruptionBudget", "InferencePool", "PodMonitor"):
        selector = selector.get("matchLabels") if isinstance(selector, dict) else None
    elif kind != "Service":
        return
    if not isinstance(selector, dict) or not selector:
        return
    found = [pod for pod in known if pod.namespace == namespace and _matches(selector, pod.labels)]
    if not found and kind != "PodMonitor":
        yield f"selects no pod: {selector}"
    for port in _ports(str(kind), spec):
        if found and not is_unknown(port) and not any(port in pod.ports for pod in found):
            yield f"port {port!r}: none of the pods it selects has it"


def _pods(obj: Object) -> Iterator[Pod]:
    from tests.validators.graph import pod_templates

    namespace = str((obj.get("metadata") or {}).get("namespace") or "")
    for _, template in pod_templates({k: v for k, v in obj.items() if k != "metadata"}):
        labels = (template.get("metadata") or {}).get("labels") or {}
        spec = template["spec"]
        containers = [*(spec.get("initContainers") or []), *spec["containers"]]
        ports = [port for c in containers for port in c.get("ports") or [] if isinstance(port, dict)]
        yield Pod(
            namespace,
            labels if isinstance(labels, dict) else {},
            frozenset(p[key] for p in ports for key in ("name", "containerPort") if key in p),
        )


def _matches(selector: Object, labels: Object) -> bool:
    asked = {k: v for k, v in selector.items() if not k.startswith(ADDED)}
    return all(labels.get(k) == v or is_unknown(v) for k, v in asked.items())


def _ports(kind: str, spec: Object) -> list[Any]:
    """The ports by name; Services may name a number that no container declares."""
    if kind == "Service":
        return [p["targetPort"] for p in spec.get("ports") or [] if isinstance(p.get("targetPort"), str)]
    if kind == "PodMonitor":
        return [p["port"] for p in spec.get("podMetricsEndpoints") or [] if p.get("port")]
    if kind == "InferencePool":
        return [p["number"] for p in spec.get("targetPorts") or [] if p.get("number")]
    return []

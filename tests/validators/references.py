"""Objects that name each other: what is named must be there, or a pod waits for ever and nobody is told why."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.validators import selectors
from tests.validators.unknown import is_unknown

Object = dict[str, Any]
Key = tuple[str, str, str]  # kind, namespace, name
BUILT_IN = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
GIVEN: frozenset[Key] = frozenset(
    {("PriorityClass", "", "system-cluster-critical"), ("PriorityClass", "", "system-node-critical")}
)
_ROUTES = ("HTTPRoute", "GRPCRoute", "AIGatewayRoute")
# What a chart makes under its release's name.
MADE_BY_CHART: dict[str, tuple[tuple[str, str], ...]] = {
    "llm-d-router-gateway": (("InferencePool", "{name}"), ("Service", "{name}-epp")),
    "llm-d-router-standalone": (("InferencePool", "{name}"), ("Service", "{name}-epp")),
    "karpenter": (("ServiceAccount", "karpenter"),),
}


def findings(objects: list[Object], releases: list[Mapping[str, Any]]) -> list[str]:
    """Every dangling name, every doubled object, every selector that selects nothing."""
    keys = [_key(obj) for obj in objects]
    held = set(keys) | GIVEN | set(_made(releases)) | set(_written(objects))
    found = [f"{kind} {namespace}/{name}: rendered twice" for kind, namespace, name in sorted(set(_twice(keys)))]
    known = selectors.pods(objects)
    for obj in objects:
        kind, namespace, name = _key(obj)
        where = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
        for wanted in _named(obj):
            if wanted not in held and not any(is_unknown(part) for part in wanted):
                found.append(f"{where}: names {wanted[0]} {wanted[1]}/{wanted[2]}, which nothing makes")
        found += [f"{where}: {finding}" for finding in selectors.findings(obj, known)]
        found += [f"{where}: {finding}" for finding in _sections(obj, objects)]
    return found + _namespaces(objects, releases)


def _namespaces(objects: list[Object], releases: list[Mapping[str, Any]]) -> list[str]:
    made = {_key(o)[2] for o in objects if o.get("kind") == "Namespace"} | BUILT_IN
    made |= {str(r.get("namespace")) for r in releases if r.get("createNamespace")}
    used = {(f"{_key(o)[0]} {_key(o)[2]}", _namespace(o)) for o in objects if _namespace(o)}
    used |= {(f"Release {r.get('name')}", str(r.get("namespace"))) for r in releases if r.get("namespace")}
    return [f"{who}: no namespace {n!r} is made" for who, n in sorted(used) if n not in made and not is_unknown(n)]


def _key(obj: Object) -> Key:
    return str(obj.get("kind")), _namespace(obj), str((obj.get("metadata") or {}).get("name"))


def _namespace(obj: Object) -> str:
    return str((obj.get("metadata") or {}).get("namespace") or "")


def _twice(keys: list[Key]) -> Iterator[Key]:
    seen = set()
    for key in keys:
        if key in seen and not is_unknown(key[2]) and not key[0].endswith("Patch"):
            yield key
        seen.add(key)


def _made(releases: list[Mapping[str, Any]]) -> Iterator[Key]:
    for release in releases:
        chart = str(release.get("chart")).rpartition("/")[2]
        for kind, name in MADE_BY_CHART.get(chart, ()):
            yield kind, str(release.get("namespace")), name.format(name=release.get("name"))


def _named(obj: Object) -> Iterator[Key]:
    from tests.validators.graph import pod_templates

    namespace, spec = _namespace(obj), _dig(obj, "spec")
    for _, template in pod_templates({k: v for k, v in obj.items() if k != "metadata"}):
        yield from _of_pod(template["spec"], namespace)
    kind = obj.get("kind")
    if kind == "NodePool":
        reference = _dig(spec, "template", "spec", "nodeClassRef")
        yield str(reference.get("kind")), "", str(reference.get("name"))
    elif kind == "Gateway" and spec.get("gatewayClassName"):
        yield "GatewayClass", "", str(spec.get("gatewayClassName"))
    elif kind == "GatewayClass" and spec.get("parametersRef"):
        reference = _dig(spec, "parametersRef")
        yield str(reference.get("kind")), str(reference.get("namespace") or ""), str(reference.get("name"))
    elif kind == "PersistentVolumeClaim" and spec.get("storageClassName"):
        yield "StorageClass", "", str(spec["storageClassName"])
    elif kind in ("ClientTrafficPolicy", "BackendTrafficPolicy", "SecurityPolicy"):
        for target in spec.get("targetRefs") or []:
            yield str(target.get("kind")), namespace, str(target.get("name"))
    elif kind == "ExternalSecret" and spec.get("secretStoreRef"):
        store = _dig(spec, "secretStoreRef")
        yield str(store.get("kind", "SecretStore")), namespace, str(store.get("name"))
    elif kind in _ROUTES:
        usual = "AIServiceBackend" if kind == "AIGatewayRoute" else "Service"
        for parent in spec.get("parentRefs") or []:
            yield parent.get("kind", "Gateway"), parent.get("namespace", namespace), parent["name"]
        for rule in spec.get("rules") or []:
            for backend in rule.get("backendRefs") or []:
                yield backend.get("kind", usual), backend.get("namespace", namespace), backend["name"]
    elif kind == "AIServiceBackend":
        backend = _dig(spec, "backendRef")
        yield str(backend.get("kind")), namespace, str(backend.get("name"))
    elif kind == "InferencePool":
        picker = spec.get("endpointPickerRef") or {}
        yield picker.get("kind", "Service"), namespace, picker.get("name", "")
    elif kind in ("ScaledObject", "HorizontalPodAutoscaler"):
        target = spec.get("scaleTargetRef") or {}
        yield target.get("kind", "Deployment"), namespace, target.get("name", "")
    elif kind == "InferenceObjective":
        pool = spec.get("poolRef") or {}
        yield pool.get("kind", "InferencePool"), namespace, pool.get("name", "")
    elif kind in ("RoleBinding", "ClusterRoleBinding"):
        role = obj.get("roleRef") or {}
        yield role.get("kind", ""), namespace if role.get("kind") == "Role" else "", role.get("name", "")


def _written(objects: list[Object]) -> Iterator[Key]:
    """What controllers write under a name that an object gives: the Secret of an ExternalSecret."""
    for obj in objects:
        if obj.get("kind") == "ExternalSecret":
            target = _dig(obj, "spec", "target").get("name") or _key(obj)[2]
            yield "Secret", _namespace(obj), str(target)
        elif obj.get("kind") == "DynamoGraphDeployment":
            yield from _of_graph(obj)


def _of_graph(graph: Object) -> Iterator[Key]:
    """What Dynamo's operator makes of a graph, named after it and its components."""
    namespace, name = _key(graph)[1:]
    for component in _dig(graph, "spec").get("components") or []:
        yield "Service", namespace, f"{name}-{component['name'].lower()}"
        if "scalingAdapter" in component:
            yield "DynamoGraphDeploymentScalingAdapter", namespace, f"{name}-{component['name'].lower()}"
        if component.get("type") == "epp":
            yield "InferencePool", namespace, f"{name}-pool"


def _sections(route: Object, objects: list[Object]) -> Iterator[str]:
    """Listeners that a route names and its Gateway does not have."""
    if route.get("kind") not in _ROUTES:
        return
    for parent in _dig(route, "spec").get("parentRefs") or []:
        key = (parent.get("kind", "Gateway"), parent.get("namespace", _namespace(route)), parent.get("name"))
        gateway = next((o for o in objects if _key(o) == key), None)
        listeners = [item.get("name") for item in _dig(gateway, "spec").get("listeners") or []]
        if gateway is not None and parent.get("sectionName") not in (None, *listeners):
            yield f"{key[0]} {key[2]} has no listener {parent['sectionName']!r}"


def _dig(value: Any, *keys: str) -> Object:
    """The map at a path, empty where there is none or it is not known."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _of_pod(spec: Object, namespace: str) -> Iterator[Key]:
    if spec.get("serviceAccountName", "default") != "default":
        yield "ServiceAccount", namespace, spec["serviceAccountName"]
    if spec.get("priorityClassName"):
        yield "PriorityClass", "", spec["priorityClassName"]
    for volume in spec.get("volumes") or []:
        for key, kind, field in _VOLUMES:
            source = volume.get(key)
            if isinstance(source, dict) and not source.get("optional"):
                yield kind, namespace, str(source.get(field))
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        sources = [(entry.get("valueFrom") or {}) for entry in container.get("env") or [] if isinstance(entry, dict)]
        for source in [*sources, *(container.get("envFrom") or [])]:
            for key, kind in _SOURCES:
                reference = source.get(key) if isinstance(source, dict) else None
                if isinstance(reference, dict) and not reference.get("optional"):
                    yield kind, namespace, str(reference.get("name"))


_VOLUMES = (
    ("configMap", "ConfigMap", "name"),
    ("secret", "Secret", "secretName"),
    ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName"),
)
_SOURCES = (
    ("configMapKeyRef", "ConfigMap"),
    ("secretKeyRef", "Secret"),
    ("configMapRef", "ConfigMap"),
    ("secretRef", "Secret"),
)

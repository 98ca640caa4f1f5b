"""Pod templates, wherever they stand: what the API server's own validation refuses and a schema cannot say."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tests.validators import metadata, quantities
from tests.validators.unknown import holds_unknown, is_unknown, number

Object = dict[str, Any]
_ENUMS: dict[str, set[str]] = {
    "imagePullPolicy": {"Always", "IfNotPresent", "Never"},
    "dnsPolicy": {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"},
    "protocol": {"TCP", "UDP", "SCTP"},
    "terminationMessagePolicy": {"File", "FallbackToLogsOnError"},
    "effect": {"NoSchedule", "PreferNoSchedule", "NoExecute"},
    "whenUnsatisfiable": {"DoNotSchedule", "ScheduleAnyway"},
    "mountPropagation": {"None", "HostToContainer", "Bidirectional"},
    "nodeAffinityPolicy": {"Honor", "Ignore"},
    "nodeTaintsPolicy": {"Honor", "Ignore"},
    "fsGroupChangePolicy": {"OnRootMismatch", "Always"},
    "preemptionPolicy": {"Never", "PreemptLowerPriority"},
    "scheme": {"HTTP", "HTTPS"},
    "procMount": {"Default", "Unmasked"},
}
_TYPED = {
    "seccompProfile": {"RuntimeDefault", "Localhost", "Unconfined"},
    "appArmorProfile": {"RuntimeDefault", "Localhost", "Unconfined"},
    "hostPath": {"", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"},
}
_DEVICES = re.compile(
    r"nvidia\.com/(gpu(\.shared)?|mig-\d+g\.\d+gb)|vpc\.amazonaws\.com/efa|aws\.amazon\.com/neuron\w*"
)
_NATIVE = {"cpu", "memory", "ephemeral-storage"}
_PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_ENV_NAME = re.compile(r"[!-<>-~][ -<>-~]*")
_EXPANSION = re.compile(r"\$+\(([A-Za-z_.-][\w.-]*)\)")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def errors(template: Object, path: str, *, partial: bool = False) -> list[str]:
    """Findings for ``{metadata, spec}``; ``partial``: an operator adds what containers lack, an image say."""
    spec = template.get("spec")
    if not isinstance(spec, dict):
        return [f"{path}.spec: missing"]
    found = metadata.meta_errors(template.get("metadata") or {}, f"{path}.metadata")
    found += list(_enums(spec, f"{path}.spec"))
    containers = [*_named(spec, "initContainers"), *_named(spec, "containers")]
    if not spec.get("containers"):
        found.append(f"{path}.spec.containers: none")
    found += _repeated([c.get("name") for _, c in containers], f"{path}.spec.containers: a second container")
    found += _volumes(spec, f"{path}.spec")
    volumes = {v.get("name") for v in spec.get("volumes") or []}
    for where, container in containers:
        found += _container(container, f"{path}.spec.{where}", volumes, partial=partial)
    names = [p.get("name") for _, c in _named(spec, "containers") for p in c.get("ports") or [] if p.get("name")]
    found += _repeated(names, f"{path}.spec.containers: a second port")
    found += _placement(spec, f"{path}.spec")
    if number(spec.get("terminationGracePeriodSeconds"), 0) < 0:
        found.append(f"{path}.spec.terminationGracePeriodSeconds: below 0")
    for index, container in enumerate(spec.get("initContainers") or []):
        if container.get("restartPolicy", "Always") != "Always":
            found.append(f"{path}.spec.initContainers[{index}].restartPolicy: only Always")
    for reference in spec.get("imagePullSecrets") or []:
        if set(reference) != {"name"}:
            found.append(f"{path}.spec.imagePullSecrets: {reference!r} is no {{name}}")
    return found


def image_error(image: Any) -> str | None:
    """Why an image is refused: absent, ``latest``, or with neither tag nor digest; None when pinned."""
    if is_unknown(image):
        return None
    if not isinstance(image, str) or not image or re.search(r"\s", image):
        return f"{image!r} is no image"
    name, _, digest = image.partition("@")
    if digest:
        return None if re.fullmatch(r"sha256:[0-9a-f]{64}", digest) else f"{digest!r} is no digest"
    tag = name.rpartition("/")[2].partition(":")[2]
    if not tag:
        return f"{image!r} has neither tag nor digest"
    if tag in ("latest", "main", "master", "nightly", "dev", "edge"):
        return f"{image!r} moves: pin a release"
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", tag):
        return f"{tag!r} is no tag"
    return None


def port_error(port: Any) -> str | None:
    """Why a number or name of a port is refused; None when right."""
    if isinstance(port, bool):
        return f"{port!r} is no port"
    if isinstance(port, int):
        return None if 1 <= port <= 65535 else f"{port} is outside 1-65535"
    if is_unknown(port):
        return None
    if not isinstance(port, str) or len(port) > 15 or not _PORT_NAME.fullmatch(port):
        return f"{port!r} is no port name of at most 15 characters"
    return None


def quantity_error(value: Any) -> str | None:
    """Why a quantity is refused: unreadable, negative, or not in the form the API server stores."""
    if is_unknown(value):
        return None
    try:
        stored = quantities.canonical(value)
    except ValueError as error:
        return str(error)
    if quantities.parse(value) < 0:
        return f"{value!r} is negative"
    return None if str(value) == stored else f"{value!r} is stored as {stored!r}: every comparison would show a change"


def resources_errors(resources: Object, path: str) -> list[str]:
    """Findings for requests and limits: quantities, request within limit, whole and equal extended resources."""
    found, values = [], {}
    for side in ("requests", "limits"):
        for name, value in (resources.get(side) or {}).items():
            if error := metadata.qualified_name_error(name) or resource_name_error(name):
                found.append(f"{path}.{side}: {error}")
            if error := quantity_error(value):
                found.append(f"{path}.{side}[{name}]: {error}")
            elif not is_unknown(value):
                values[side, name] = quantities.parse(value)
    limits = {name: value for (side, name), value in values.items() if side == "limits"}
    for (side, name), value in values.items():
        if _extended(name) and value.denominator != 1:
            found.append(f"{path}.{side}[{name}]: {value} is not whole")
        if side == "requests":
            found += _within(name, value, limits, path)
    return found


def resource_name_error(name: str) -> str | None:
    """Why no node can have a resource of this name; None when one can."""
    if "/" not in name:
        known = name in _NATIVE or name.startswith("hugepages-") or name in ("storage", "pods", "nodes")
        return None if known else f"{name!r} is no resource of Kubernetes"
    return None if _DEVICES.fullmatch(name) else f"{name!r} is advertised by no device plugin that we install"


def _extended(name: str) -> bool:
    return name not in _NATIVE and not name.startswith("hugepages-")


def _within(name: str, value: Fraction, limits: dict[str, Fraction], path: str) -> list[str]:
    if name not in limits:
        return [f"{path}.requests[{name}]: needs the same limit"] if name not in _NATIVE else []
    if value > limits[name]:
        return [f"{path}.requests[{name}]: above its limit"]
    if name not in _NATIVE and value != limits[name]:
        return [f"{path}.requests[{name}]: must equal its limit"]
    return []


def _named(spec: Object, key: str) -> Iterator[tuple[str, Object]]:
    for index, container in enumerate(spec.get(key) or []):
        yield f"{key}[{index}]", container


def _repeated(names: list[Any], what: str) -> list[str]:
    known = [n for n in names if not is_unknown(n)]
    return [f"{what} named {name!r}" for index, name in enumerate(known) if name in known[:index]]


def _enums(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _enums(item, f"{path}[{index}]")
        return
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        where = f"{path}.{key}"
        if key in _ENUMS and isinstance(item, str) and item not in _ENUMS[key] and not is_unknown(item):
            yield f"{where}: {item!r} is none of {', '.join(sorted(_ENUMS[key]))}"
        if key in _TYPED and isinstance(item, dict) and item.get("type", "") not in _TYPED[key] | {""}:
            yield f"{where}.type: {item['type']!r} is none of {', '.join(sorted(_TYPED[key]))}"
        if key not in ("labels", "annotations", "matchLabels", "nodeSelector", "volumeAttributes", "env"):
            yield from _enums(item, where)


def _volumes(spec: Object, path: str) -> list[str]:
    volumes = spec.get("volumes") or []
    found = _repeated([v.get("name") for v in volumes], f"{path}.volumes: a second volume")
    for index, volume in enumerate(volumes):
        where = f"{path}.volumes[{index}]"
        if not metadata.is_dns_label(str(volume.get("name", ""))):
            found.append(f"{where}.name: {volume.get('name')!r} is no DNS label")
        if len(set(volume) - {"name"}) != 1:
            found.append(f"{where}: exactly one source needed, has {sorted(set(volume) - {'name'})}")
        empty = volume.get("emptyDir") or {}
        if "sizeLimit" in empty and (error := quantity_error(empty["sizeLimit"])):
            found.append(f"{where}.emptyDir.sizeLimit: {error}")
        if empty.get("medium", "") not in ("", "Memory") and not str(empty["medium"]).startswith("HugePages"):
            found.append(f"{where}.emptyDir.medium: {empty['medium']!r}")
    return found


def _container(container: Object, path: str, volumes: set[Any], *, partial: bool) -> list[str]:
    found = []
    if not metadata.is_dns_label(str(container.get("name", ""))):
        found.append(f"{path}.name: {container.get('name')!r} is no DNS label")
    if not (partial and "image" not in container) and (error := image_error(container.get("image"))):
        found.append(f"{path}.image: {error}")
    ports = container.get("ports") or []
    found += _repeated(
        [(p.get("containerPort"), p.get("protocol", "TCP")) for p in ports], f"{path}.ports: a second port"
    )
    for index, port in enumerate(ports):
        for key in ("containerPort", "name", "hostPort"):
            if (key in port or key == "containerPort") and (error := port_error(port.get(key))):
                found.append(f"{path}.ports[{index}].{key}: {error}")
    found += _environment(container, path)
    mounts = container.get("volumeMounts") or []
    found += _repeated([m.get("mountPath") for m in mounts], f"{path}.volumeMounts: a second mount at a path")
    for index, mount in enumerate(mounts):
        if mount.get("name") not in volumes and not partial:
            found.append(f"{path}.volumeMounts[{index}]: no volume named {mount.get('name')!r}")
        if not str(mount.get("mountPath", "")).startswith("/") or ":" in str(mount.get("mountPath")):
            found.append(f"{path}.volumeMounts[{index}].mountPath: {mount.get('mountPath')!r} is no absolute path")
    names = {p.get("name") for p in ports}
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(key) is not None:
            found += _probe(container[key], f"{path}.{key}", names, once=key != "readinessProbe", partial=partial)
    found += resources_errors(container.get("resources") or {}, f"{path}.resources")
    security = container.get("securityContext") or {}
    if security.get("privileged") and security.get("allowPrivilegeEscalation") is False:
        found.append(f"{path}.securityContext: privileged, yet allowPrivilegeEscalation is false")
    return found


def _environment(container: Object, path: str) -> list[str]:
    env = container.get("env") or []
    found = _repeated([e.get("name") for e in env], f"{path}.env: a second variable")
    earlier: set[str] = set()
    for entry in env:
        name = str(entry.get("name", ""))
        where = f"{path}.env[{name}]"
        if not _ENV_NAME.fullmatch(name):
            found.append(f"{path}.env: {name!r} is no variable's name")
        if "value" in entry and not isinstance(entry["value"], str):
            found.append(f"{where}: {entry['value']!r} must be text")
        if "value" in entry and "valueFrom" in entry:
            found.append(f"{where}: both value and valueFrom")
        if "valueFrom" in entry and len(entry["valueFrom"]) != 1:
            found.append(f"{where}.valueFrom: exactly one source needed")
        found += _expansions(entry.get("value"), earlier, where, open_ended=bool(container.get("envFrom")))
        earlier.add(name)
    for key in ("command", "args"):
        for index, text in enumerate(container.get(key) or []):
            where = f"{path}.{key}[{index}]"
            if not isinstance(text, str):
                found.append(f"{where}: {text!r} must be text")
            found += _expansions(text, earlier, where, open_ended=bool(container.get("envFrom")))
    return found


LWS_ENV = frozenset({"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"})
"""LeaderWorkerSet puts these into every container of its pods, before the container's own."""


def _expansions(text: Any, known: set[str], path: str, *, open_ended: bool) -> list[str]:
    if not isinstance(text, str) or open_ended or is_unknown(text):
        return []
    names = [m.group(1) for m in _EXPANSION.finditer(text) if (len(m.group(0)) - len(m.group(0).lstrip("$"))) % 2]
    return [f"{path}: $({name}) names no variable set before it" for name in names if name not in known | LWS_ENV]


def _probe(probe: Object, path: str, ports: set[Any], *, once: bool, partial: bool) -> list[str]:
    found = []
    handlers = [h for h in _HANDLERS if h in probe]
    if len(handlers) != 1 and not (partial and not handlers):
        found.append(f"{path}: exactly one of {', '.join(_HANDLERS)} needed")
    for key, least in (
        ("initialDelaySeconds", 0),
        ("timeoutSeconds", 1),
        ("periodSeconds", 1),
        ("failureThreshold", 1),
    ):
        value = probe.get(key, least)
        if number(value, least) < least:
            found.append(f"{path}.{key}: {value!r} is below {least}")
    if once and probe.get("successThreshold", 1) != 1:
        found.append(f"{path}.successThreshold: must be 1")
    for handler in ("httpGet", "tcpSocket", "grpc"):
        port = (probe.get(handler) or {}).get("port")
        if handler in probe and (error := port_error(port)):
            found.append(f"{path}.{handler}.port: {error}")
        elif isinstance(port, str) and port not in ports and not partial and not is_unknown(port):
            found.append(f"{path}.{handler}.port: the container has no port named {port!r}")
    if not str((probe.get("httpGet") or {}).get("path", "/")).startswith("/"):
        found.append(f"{path}.httpGet.path: must start with /")
    return found


def _placement(spec: Object, path: str) -> list[str]:
    found = metadata.labels_errors(spec.get("nodeSelector"), f"{path}.nodeSelector")
    for index, toleration in enumerate(spec.get("tolerations") or []):
        found += _toleration(toleration, f"{path}.tolerations[{index}]")
    seen = []
    for index, spread in enumerate(spec.get("topologySpreadConstraints") or []):
        where = f"{path}.topologySpreadConstraints[{index}]"
        if number(spread.get("maxSkew"), 1) < 1:
            found.append(f"{where}.maxSkew: {spread.get('maxSkew')!r} is below 1")
        key = (spread.get("topologyKey"), spread.get("whenUnsatisfiable"))
        if key in seen:
            found.append(f"{where}: a second constraint for {key}")
        seen.append(key)
        found += selector_errors(spread.get("labelSelector"), f"{where}.labelSelector")
    return found + list(_affinity(spec.get("affinity") or {}, f"{path}.affinity"))


def _toleration(toleration: Object, path: str) -> list[str]:
    found, operator = [], toleration.get("operator", "Equal")
    if operator not in ("Equal", "Exists", "Lt", "Gt"):
        found.append(f"{path}.operator: {operator!r} is none of Equal, Exists, Lt, Gt")
    if operator == "Exists" and toleration.get("value"):
        found.append(f"{path}.value: must be absent with Exists")
    if not toleration.get("key") and operator != "Exists":
        found.append(f"{path}.key: absent needs Exists")
    if toleration.get("key") and (error := metadata.qualified_name_error(toleration["key"])):
        found.append(f"{path}.key: {error}")
    if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
        found.append(f"{path}.tolerationSeconds: only with NoExecute")
    return found


def _affinity(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _affinity(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        weight = value.get("weight")
        if not 1 <= number(weight, 1) <= 100:
            yield f"{path}.weight: {weight} is outside 1-100"
        if {"labelSelector", "topologyKey"} & set(value):
            if not value.get("topologyKey"):
                yield f"{path}.topologyKey: missing"
            yield from selector_errors(value.get("labelSelector"), f"{path}.labelSelector")
        elif "matchExpressions" in value:
            yield from selector_errors(value, path, node=True)
        else:
            for key, item in value.items():
                yield from _affinity(item, f"{path}.{key}")


def selector_errors(selector: Any, path: str, *, node: bool = False) -> list[str]:
    """Findings for a label selector, or a node selector term."""
    if not isinstance(selector, dict) or holds_unknown(selector):
        return []
    found = metadata.labels_errors(selector.get("matchLabels"), f"{path}.matchLabels")
    allowed = {"In", "NotIn", "Exists", "DoesNotExist"} | ({"Gt", "Lt"} if node else set())
    for index, term in enumerate(selector.get("matchExpressions") or []):
        where, operator, values = f"{path}.matchExpressions[{index}]", term.get("operator"), term.get("values") or []
        if operator not in allowed:
            found.append(f"{where}.operator: {operator!r} is none of {', '.join(sorted(allowed))}")
        if error := metadata.qualified_name_error(str(term.get("key", ""))):
            found.append(f"{where}.key: {error}")
        if (operator in ("In", "NotIn")) != bool(values) and operator not in ("Gt", "Lt"):
            found.append(f"{where}.values: {operator} with {values!r}")
        found += [f"{where}.values: {error}" for v in values if (error := metadata.label_value_error(v))]
    return found

"""Rules of single core kinds, as the API server's validation has them."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from typing import Any

from tests.validators import metadata, pods
from tests.validators.unknown import is_unknown, number

Object = dict[str, Any]
CLUSTER_SCOPED = frozenset(
    {
        "APIService",
        "ClusterRole",
        "ClusterRoleBinding",
        "CSIDriver",
        "CustomResourceDefinition",
        "DeviceClass",
        "FlowSchema",
        "IngressClass",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "RuntimeClass",
        "StorageClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    }
)
OBJECT_BYTES = 1024 * 1024
# Keys of the EBS CSI driver's StorageClass, lower case (aws-ebs-csi-driver, docs/parameters.md).
_EBS = frozenset(
    {
        "type",
        "encrypted",
        "kmskeyid",
        "iops",
        "iopspergb",
        "throughput",
        "allowautoiopspergbincrease",
        "allowautoiopsincreaseonmodify",
        "blocksize",
        "csi.storage.k8s.io/fstype",
    }
)
_ACCESS = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"}
_POD_SECURITY = {"privileged", "baseline", "restricted"}


def errors(obj: Object) -> list[str]:
    """Findings by the rules of the object's kind; kinds without rules of their own have none."""
    rule = _RULES.get(obj["kind"])
    return rule(obj) if rule else []


def _one_of(value: Any, allowed: set[str], path: str) -> list[str]:
    if value is None or value in allowed or is_unknown(value):
        return []
    return [f"{path}: {value!r} is none of {', '.join(sorted(allowed))}"]


def _workload(obj: Object) -> list[str]:
    spec = obj["spec"]
    found = pods.errors(spec["template"], "spec.template")
    found += pods.selector_errors(spec.get("selector"), "spec.selector")
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    if not wanted and not (spec.get("selector") or {}).get("matchExpressions"):
        found.append("spec.selector: selects everything")
    missing = {k: v for k, v in wanted.items() if labels.get(k) != v}
    if missing:
        found.append(f"spec.selector: {missing} is not on the template's labels")
    if spec["template"]["spec"].get("restartPolicy", "Always") != "Always":
        found.append("spec.template.spec.restartPolicy: only Always")
    if number(spec.get("replicas"), 0) < 0:
        found.append("spec.replicas: below 0")
    strategy = spec.get("strategy") or {}
    found += _one_of(strategy.get("type"), {"Recreate", "RollingUpdate"}, "spec.strategy.type")
    rolling = strategy.get("rollingUpdate")
    if rolling is not None and strategy.get("type") == "Recreate":
        found.append("spec.strategy.rollingUpdate: not with Recreate")
    if rolling and str(rolling.get("maxSurge")) in ("0", "0%") and str(rolling.get("maxUnavailable")) in ("0", "0%"):
        found.append("spec.strategy.rollingUpdate: surge and unavailable are both 0: it never rolls")
    if number(spec.get("progressDeadlineSeconds"), 600) <= number(spec.get("minReadySeconds"), 0):
        found.append("spec.progressDeadlineSeconds: must be above minReadySeconds")
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or []):
        found += _claim(claim, f"spec.volumeClaimTemplates[{index}].")
    return found


def _job(obj: Object, path: str = "spec") -> list[str]:
    spec = obj["spec"]
    found = pods.errors(spec["template"], f"{path}.template")
    policy = spec["template"]["spec"].get("restartPolicy")
    if policy not in ("Never", "OnFailure"):
        found.append(f"{path}.template.spec.restartPolicy: {policy!r}; a Job needs Never or OnFailure")
    return found


def _cron_job(obj: Object) -> list[str]:
    spec = obj["spec"]
    found = _job(spec["jobTemplate"], "spec.jobTemplate.spec")
    found += _one_of(spec.get("concurrencyPolicy"), {"Allow", "Forbid", "Replace"}, "spec.concurrencyPolicy")
    if not re.fullmatch(r"@\w+|\S+( +\S+){4}", spec["schedule"]):
        found.append(f"spec.schedule: {spec['schedule']!r} has no five fields")
    if len(obj["metadata"]["name"]) > 52:
        found.append("metadata.name: longer than 52: its Jobs get a suffix")
    return found


def _service(obj: Object) -> list[str]:
    spec = obj.get("spec") or {}
    found = _one_of(spec.get("type"), {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}, "spec.type")
    found += metadata.labels_errors(spec.get("selector"), "spec.selector")
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and spec.get("type") != "ExternalName":
        found.append("spec.ports: none")
    names = [p.get("name") for p in ports]
    if len(ports) > 1 and not all(names):
        found.append("spec.ports: with several, each needs a name")
    found += [f"spec.ports: a second port named {n!r}" for i, n in enumerate(names) if n and n in names[:i]]
    pairs = [(p["port"], p.get("protocol", "TCP")) for p in ports]
    found += [f"spec.ports: a second {pair}" for i, pair in enumerate(pairs) if pair in pairs[:i]]
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        found += _one_of(port.get("protocol"), {"TCP", "UDP", "SCTP"}, f"{where}.protocol")
        for key in ("port", "targetPort"):
            if key in port and (error := pods.port_error(port[key])):
                found.append(f"{where}.{key}: {error}")
        if port.get("name") and not metadata.is_dns_label(port["name"]):
            found.append(f"{where}.name: {port['name']!r} is no DNS label")
    found += _one_of(spec.get("externalTrafficPolicy"), {"Cluster", "Local"}, "spec.externalTrafficPolicy")
    return found


def _data(obj: Object) -> list[str]:
    found, size = [], 0
    for part in ("data", "binaryData", "stringData"):
        for key, value in (obj.get(part) or {}).items():
            if len(key) > 253 or not re.fullmatch(r"[-._a-zA-Z0-9]+", key) or key in (".", ".."):
                found.append(f"{part}: {key!r} is no key")
            encoded = part == "binaryData" or (part == "data" and obj["kind"] == "Secret")
            if encoded and not is_unknown(value) and not _base64(value):
                found.append(f"{part}[{key}]: no base64")
            size += len(str(value).encode())
    if size > OBJECT_BYTES:
        found.append(f"data: {size} bytes, at most {OBJECT_BYTES} are stored")
    return found


def _base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _network_policy(obj: Object) -> list[str]:
    spec = obj["spec"]
    found = pods.selector_errors(spec.get("podSelector"), "spec.podSelector")
    types = spec.get("policyTypes")
    for kind in types or []:
        found += _one_of(kind, {"Ingress", "Egress"}, "spec.policyTypes")
    for side, peers in (("ingress", "from"), ("egress", "to")):
        if side in spec and types is not None and side.capitalize() not in types:
            found.append(f"spec.{side}: has no effect: policyTypes leaves it out")
        for index, rule in enumerate(spec.get(side) or []):
            where = f"spec.{side}[{index}]"
            for place, peer in enumerate(rule.get(peers) or []):
                found += _peer(peer, f"{where}.{peers}[{place}]")
            for place, port in enumerate(rule.get("ports") or []):
                found += _policy_port(port, f"{where}.ports[{place}]")
    return found


def _peer(peer: Object, path: str) -> list[str]:
    found = []
    if not peer:
        found.append(f"{path}: empty")
    if "ipBlock" in peer and len(peer) > 1:
        found.append(f"{path}: ipBlock goes with nothing else")
    for key in ("podSelector", "namespaceSelector"):
        found += pods.selector_errors(peer.get(key), f"{path}.{key}")
    block = peer.get("ipBlock") or {}
    if block and not is_unknown(block.get("cidr")):
        try:
            outer = ipaddress.ip_network(block.get("cidr", ""))
            for inner in block.get("except") or []:
                if not ipaddress.ip_network(inner).subnet_of(outer):  # type: ignore[arg-type]
                    found.append(f"{path}.ipBlock.except: {inner} is not inside {outer}")
        except (ValueError, TypeError) as error:
            found.append(f"{path}.ipBlock: {error}")
    return found


def _policy_port(port: Object, path: str) -> list[str]:
    found = _one_of(port.get("protocol"), {"TCP", "UDP", "SCTP"}, f"{path}.protocol")
    if "port" in port and (error := pods.port_error(port["port"])):
        found.append(f"{path}.port: {error}")
    if "endPort" in port and (not isinstance(port.get("port"), int) or port["endPort"] < port["port"]):
        found.append(f"{path}.endPort: needs a number `port` not above it")
    return found


def _disruption_budget(obj: Object) -> list[str]:
    spec = obj["spec"]
    found = pods.selector_errors(spec.get("selector"), "spec.selector")
    if ("minAvailable" in spec) == ("maxUnavailable" in spec):
        found.append("spec: exactly one of minAvailable and maxUnavailable needed")
    return found


def _autoscaler(obj: Object) -> list[str]:
    spec = obj["spec"]
    found = []
    if number(spec.get("minReplicas"), 1) > number(spec["maxReplicas"], 2**31):
        found.append("spec.minReplicas: above maxReplicas")
    for index, metric in enumerate(spec.get("metrics") or []):
        kind = str(metric.get("type", ""))
        key = kind[:1].lower() + kind[1:]
        if key not in metric:
            found.append(f"spec.metrics[{index}]: {kind!r} without `{key}`")
    return found


def _claim(obj: Object, path: str = "") -> list[str]:
    spec = obj.get("spec") or {}
    found = [e for mode in spec.get("accessModes") or [] for e in _one_of(mode, _ACCESS, f"{path}spec.accessModes")]
    if not spec.get("accessModes"):
        found.append(f"{path}spec.accessModes: none")
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        found.append(f"{path}spec.resources.requests.storage: missing")
    elif error := pods.quantity_error(storage):
        found.append(f"{path}spec.resources.requests.storage: {error}")
    return found + _one_of(spec.get("volumeMode"), {"Filesystem", "Block"}, f"{path}spec.volumeMode")


def _volume(obj: Object) -> list[str]:
    spec = obj["spec"]
    found = [e for mode in spec.get("accessModes") or [] for e in _one_of(mode, _ACCESS, "spec.accessModes")]
    if error := pods.quantity_error((spec.get("capacity") or {}).get("storage")):
        found.append(f"spec.capacity.storage: {error}")
    policy = spec.get("persistentVolumeReclaimPolicy")
    return found + _one_of(policy, {"Retain", "Delete", "Recycle"}, "spec.persistentVolumeReclaimPolicy")


def _storage_class(obj: Object) -> list[str]:
    found = _one_of(obj.get("reclaimPolicy"), {"Retain", "Delete"}, "reclaimPolicy")
    found += _one_of(obj.get("volumeBindingMode"), {"Immediate", "WaitForFirstConsumer"}, "volumeBindingMode")
    for key, value in (obj.get("parameters") or {}).items():
        if not isinstance(value, str):
            found.append(f"parameters[{key}]: {value!r} must be text")
    if obj["provisioner"] == "ebs.csi.aws.com":
        found += _ebs(obj.get("parameters") or {})
    return found


def _ebs(parameters: Object) -> list[str]:
    """Parameters that the EBS CSI driver does not know, or knows with other values."""
    types = {"gp2", "gp3", "io1", "io2", "sc1", "st1", "standard"}
    found = [f"parameters: the EBS driver knows no {key!r}" for key in parameters if key.lower() not in _EBS]
    found += _one_of(parameters.get("type"), types, "parameters[type]")
    return found + _one_of(parameters.get("encrypted"), {"true", "false"}, "parameters[encrypted]")


def _role(obj: Object) -> list[str]:
    found = []
    for index, rule in enumerate(obj.get("rules") or []):
        where = f"rules[{index}]"
        if not rule.get("verbs"):
            found.append(f"{where}.verbs: none")
        if not rule.get("resources") and not rule.get("nonResourceURLs"):
            found.append(f"{where}: neither resources nor nonResourceURLs")
        if rule.get("resources") and not rule.get("apiGroups"):
            found.append(f"{where}.apiGroups: none (the core group is '')")
        found += [
            f"{where}.{key}: a wildcard" for key in ("verbs", "resources", "apiGroups") if "*" in (rule.get(key) or [])
        ]
    return found


def _binding(obj: Object) -> list[str]:
    found = _one_of(obj["roleRef"].get("kind"), {"Role", "ClusterRole"}, "roleRef.kind")
    if obj["roleRef"].get("name") == "cluster-admin":
        found.append("roleRef: cluster-admin")
    for index, subject in enumerate(obj.get("subjects") or []):
        if subject.get("kind") == "ServiceAccount" and not subject.get("namespace"):
            found.append(f"subjects[{index}].namespace: missing")
    return found


def _priority_class(obj: Object) -> list[str]:
    found = _one_of(obj.get("preemptionPolicy"), {"Never", "PreemptLowerPriority"}, "preemptionPolicy")
    if not -(2**31) <= number(obj["value"], 0) <= 1_000_000_000:
        found.append(f"value: {obj['value']} is above 1000000000")
    if obj["metadata"]["name"].startswith("system-"):
        found.append("metadata.name: system- is reserved")
    return found


def _namespace(obj: Object) -> list[str]:
    found = []
    for key, value in ((obj.get("metadata") or {}).get("labels") or {}).items():
        if re.fullmatch(r"pod-security\.kubernetes\.io/(enforce|audit|warn)", key):
            found += _one_of(value, _POD_SECURITY, f"metadata.labels[{key}]")
    return found


_RULES: dict[str, Callable[[Object], list[str]]] = {
    "Deployment": _workload,
    "StatefulSet": _workload,
    "DaemonSet": _workload,
    "ReplicaSet": _workload,
    "Pod": lambda obj: pods.errors({"spec": obj["spec"]}, ""),
    "Job": _job,
    "CronJob": _cron_job,
    "Service": _service,
    "ConfigMap": _data,
    "Secret": _data,
    "NetworkPolicy": _network_policy,
    "PodDisruptionBudget": _disruption_budget,
    "HorizontalPodAutoscaler": _autoscaler,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "StorageClass": _storage_class,
    "Role": _role,
    "ClusterRole": _role,
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
    "PriorityClass": _priority_class,
    "Namespace": _namespace,
}

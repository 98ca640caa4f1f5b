"""A stand-in for Dynamo's operator and Grove: graphs become pods, as the operator was observed to make them.

The observation is ``dynamo_operator_expansion.yaml`` of the reference data; a test compares the two. Not simulated:
gang scheduling and topology packing (KAI cannot be had), so pods go to the default scheduler.
"""

import copy
import hashlib
import json
import shlex
import threading
from dataclasses import dataclass
from typing import Any

from .kube import Kube, KubeError

Object = dict[str, Any]
VERSION, KIND = "nvidia.com/v1beta1", "DynamoGraphDeployment"
OWNED = "judges.headwater/graph"


@dataclass(frozen=True)
class Clique:
    """Pods of one role: ``group`` names the scaling group of a multi-node component."""

    name: str
    replicas: int
    labels: dict[str, str]
    pod_spec: Object
    group: str | None = None
    groups: int = 1


def _env(entries: dict[str, str], given: list[Object]) -> list[Object]:
    fields = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_UID": "metadata.uid"}
    found: dict[str, Object] = {name: {"name": name, "value": value} for name, value in entries.items()}
    for name, path in fields.items():
        found[name] = {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
    found |= {entry["name"]: entry for entry in given}
    return [found[name] for name in sorted(found)]


def _probe(path: str, port: str, **numbers: int) -> Object:
    return {"httpGet": {"path": path, "port": port}, **numbers}


def _frontend(container: Object, graph: str, namespace: str) -> None:
    container.setdefault("command", ["python3"])
    container.setdefault("args", ["-m", "dynamo.frontend"])
    container.setdefault("ports", [{"containerPort": 8000, "name": "http", "protocol": "TCP"}])
    live = _probe("/live", "http", failureThreshold=3, initialDelaySeconds=15, periodSeconds=10, timeoutSeconds=1)
    ready = _probe("/health", "http", failureThreshold=3, initialDelaySeconds=10, periodSeconds=10, timeoutSeconds=3)
    container.setdefault("livenessProbe", live)
    container.setdefault("readinessProbe", ready)
    entries = {"DYNAMO_PORT": "8000", "DYN_HTTP_PORT": "8000", "DYN_NAMESPACE_PREFIX": f"{namespace}-{graph}"}
    container["env"] = _env(entries | _common("frontend", graph, namespace), container.get("env", []))


def _common(kind: str, graph: str, namespace: str) -> dict[str, str]:
    return {
        "DYN_COMPONENT": kind,
        "DYN_DISCOVERY_BACKEND": "kubernetes",
        "DYN_NAMESPACE": f"{namespace}-{graph}",
        "DYN_PARENT_DGD_K8S_NAME": graph,
        "DYN_PARENT_DGD_K8S_NAMESPACE": namespace,
    }


def _worker(container: Object, kind: str, graph: str, namespace: str, digest: str) -> None:
    ports = [("system", 9090), ("nixl", 19090)]
    given = [{"containerPort": number, "name": name, "protocol": "TCP"} for name, number in ports]
    container.setdefault("ports", given)
    live = _probe("/live", "system", failureThreshold=1, periodSeconds=5, timeoutSeconds=4)
    ready = _probe("/health", "system", failureThreshold=3, periodSeconds=10, timeoutSeconds=4)
    start = _probe("/live", "system", failureThreshold=720, periodSeconds=10, timeoutSeconds=5)
    for name, probe in (("livenessProbe", live), ("readinessProbe", ready), ("startupProbe", start)):
        container.setdefault(name, probe)
    entries = {
        "DYN_FORWARDPASS_METRIC_PORT": "20380",
        "DYN_HEALTH_CHECK_ENABLED": "false",
        "DYN_NAMESPACE_WORKER_SUFFIX": digest,
        "DYN_SYSTEM_ENABLED": "true",
        "DYN_SYSTEM_PORT": "9090",
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
        "NIXL_TELEMETRY_ENABLE": "n",
        "NIXL_TELEMETRY_EXPORTER": "prometheus",
        "NIXL_TELEMETRY_PROMETHEUS_PORT": "19090",
    }
    container["env"] = _env(entries | _common(kind, graph, namespace), container.get("env", []))


def _pod_spec(component: Object, graph: str, namespace: str, digest: str) -> Object:
    spec: Object = copy.deepcopy(component.get("podTemplate", {}).get("spec", {}))
    containers = spec.setdefault("containers", [{"name": "main"}])
    main = next((item for item in containers if item["name"] == "main"), containers[0])
    main.setdefault("resources", {})
    if component["type"] == "frontend":
        _frontend(main, graph, namespace)
    else:
        _worker(main, component["type"], graph, namespace, digest)
    mounts, volumes = main.setdefault("volumeMounts", []), spec.setdefault("volumes", [])
    if not any(mount["mountPath"] == "/dev/shm" for mount in mounts):
        mounts.append({"mountPath": "/dev/shm", "name": "shared-memory"})
        size = component.get("sharedMemorySize", "8Gi")
        volumes.append({"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": size}})
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {"fsGroup": 1000})
    spec.setdefault("serviceAccountName", f"{graph}-k8s-service-discovery")
    spec.setdefault("terminationGracePeriodSeconds", 60)
    return spec


def _in_ray(spec: Object, role: str, name: str) -> Object:
    spec = copy.deepcopy(spec)
    main = next(item for item in spec["containers"] if item["name"] == "main")
    if role == "wkr":
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            main.pop(probe, None)
        leader = f"$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-{name}-ldr-0.$(GROVE_HEADLESS_SERVICE):6379"
        main["args"] = [f"ray start --address={leader} --block"]
    else:
        words = [*main.get("command", []), *main.get("args", [])]
        started = f"ray start --head --port=6379 && {shlex.join(words)} --distributed-executor-backend ray"
        main["args"] = [started]
    main["command"] = ["/bin/sh", "-c"]
    return spec


def worker_hash(graph: Object) -> str:
    """Eight hex digits that change with any worker's pod template (the operator's own digest is not known)."""
    workers = [item.get("podTemplate") for item in graph["spec"]["components"] if item["type"] != "frontend"]
    return hashlib.sha256(json.dumps(workers, sort_keys=True).encode()).hexdigest()[:8]


def expand(graph: Object) -> list[Clique]:
    """The cliques of a graph's PodCliqueSet, in the order of its components."""
    name, namespace = graph["metadata"]["name"], graph["metadata"]["namespace"]
    digest = worker_hash(graph)
    found = []
    for component in graph["spec"]["components"]:
        kind, clique = component["type"], component["name"].lower()
        labels = {
            "nvidia.com/dynamo-component": component["name"],
            "nvidia.com/dynamo-component-type": kind,
            "nvidia.com/dynamo-discovery-backend": "kubernetes",
            "nvidia.com/dynamo-discovery-enabled": "true",
            "nvidia.com/dynamo-graph-deployment-name": name,
            "nvidia.com/dynamo-namespace": f"{namespace}-{name}",
            "nvidia.com/metrics-enabled": "true",
            "nvidia.com/selector": f"{name}-{clique}",
        }
        if kind != "frontend":
            labels["nvidia.com/dynamo-worker-hash"] = digest
        if kind in {"prefill", "decode"}:
            labels["nvidia.com/dynamo-sub-component-type"] = kind
        spec = _pod_spec(component, name, namespace, digest)
        replicas = component.get("replicas", 1)
        nodes = component.get("multinode", {}).get("nodeCount", 1)
        if nodes == 1:
            found.append(Clique(clique, replicas, labels, spec))
            continue
        for role, count in (("ldr", 1), ("wkr", nodes - 1)):
            pod_spec = _in_ray(spec, role, clique)
            found.append(Clique(f"{clique}-{role}", count, labels, pod_spec, group=clique, groups=replicas))
    return found


def pods_of(graph: Object) -> list[Object]:
    """The pods of a graph, owned by it."""
    metadata = graph["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    owner = {"apiVersion": graph["apiVersion"], "kind": KIND, "name": name, "uid": metadata.get("uid", "")}
    templates = {item["name"].lower(): item.get("podTemplate", {}) for item in graph["spec"]["components"]}
    pods = []
    for clique in expand(graph):
        for number in range(clique.groups):
            for index in range(clique.replicas):
                group = f"{clique.group}-{number}-" if clique.group else ""
                extra = templates[clique.group or clique.name].get("metadata", {})
                pods.append(
                    {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "metadata": {
                            "name": f"{name}-0-{group}{clique.name}-{index}",
                            "namespace": namespace,
                            "labels": extra.get("labels", {}) | clique.labels | {OWNED: name},
                            "annotations": extra.get("annotations", {}),
                            "ownerReferences": [owner],
                        },
                        "spec": clique.pod_spec | {"schedulerName": "default-scheduler"},
                    }
                )
    return pods


class GraphOperator:
    """Keeps the pods of every DynamoGraphDeployment as they should be, until closed."""

    def __init__(self, kube: Kube, *, every: float = 0.3):
        self._kube, self._every = kube, every
        self._stop = threading.Event()
        self._accounts: set[str] = set()
        self.errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, name="graph-operator", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                for graph in self._kube.list(VERSION, KIND):
                    self._reconcile(graph)
            except (KubeError, OSError) as error:
                self.errors.append(error)

    def _reconcile(self, graph: Object) -> None:
        metadata = graph["metadata"]
        if metadata.get("deletionTimestamp"):
            return
        key, namespace = f"{metadata['uid']}/{metadata['generation']}", metadata["namespace"]
        if key not in self._accounts:
            self._kube.apply(self._account(metadata))
            self._accounts.add(key)
        wanted = {pod["metadata"]["name"]: pod for pod in pods_of(graph)}
        present = self._kube.list("v1", "Pod", namespace, labels=f"{OWNED}={metadata['name']}")
        for pod in present:
            ours = wanted.get(pod["metadata"]["name"])
            same = ours and ours["metadata"]["labels"].get("nvidia.com/dynamo-worker-hash") == pod["metadata"][
                "labels"
            ].get("nvidia.com/dynamo-worker-hash")
            if same:
                wanted.pop(pod["metadata"]["name"])
            elif not pod["metadata"].get("deletionTimestamp"):
                self._kube.delete(pod)
        for pod in wanted.values():
            try:
                self._kube.create(pod)
            except KubeError as error:
                if error.code != 409:  # the one of that name is still going; next time
                    raise

    @staticmethod
    def _account(metadata: Object) -> Object:
        """The service account of a graph's pods."""
        return {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {
                "name": f"{metadata['name']}-k8s-service-discovery",
                "namespace": metadata["namespace"],
                "ownerReferences": [
                    {"apiVersion": VERSION, "kind": KIND, "name": metadata["name"], "uid": metadata["uid"]}
                ],
            },
        }

    def close(self) -> None:
        """Stop reconciling."""
        self._stop.set()
        self._thread.join(10)

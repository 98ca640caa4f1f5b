"""Launched instances become nodes, as their launch template and user data say; KWOK then plays the kubelet."""

import base64
import email
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

from headwater.catalog.system import system_types

from .aws import SimulatedAws
from .kube import Kube, KubeError

Object = dict[str, Any]


@dataclass
class NodeConfig:
    """What the user data tells a node's bootstrap (AL2023's ``NodeConfig``)."""

    labels: dict[str, str] = field(default_factory=dict)
    taints: list[dict[str, str]] = field(default_factory=list)
    max_pods: int | None = None
    raid0: bool = False
    documents: list[Object] = field(default_factory=list)


def read_user_data(encoded: str) -> NodeConfig:
    """Decode a launch template's user data; later documents win, as nodeadm merges them."""
    config = NodeConfig()
    message = email.message_from_bytes(base64.b64decode(encoded))
    for part in message.walk():
        if part.get_content_type() != "application/node.eks.aws":
            continue
        payload = part.get_payload(decode=True)
        for document in yaml.safe_load_all(payload.decode() if isinstance(payload, bytes) else str(payload)):
            if not document:
                continue
            config.documents.append(document)
            spec = document.get("spec", {})
            kubelet = spec.get("kubelet", {})
            settings = kubelet.get("config", {})
            config.taints = settings.get("registerWithTaints", config.taints)
            config.max_pods = settings.get("maxPods", config.max_pods)
            storage = spec.get("instance", {}).get("localStorage", {})
            config.raid0 = storage.get("strategy") == "RAID0" or config.raid0
            for flag in kubelet.get("flags", []):
                name, _, value = flag.strip('"').partition("=")
                if name == "--node-labels":
                    pairs = (pair.partition("=") for pair in value.strip('"').split(",") if pair)
                    config.labels |= {key: label for key, _, label in pairs}
    return config


def efa_interfaces(template: Object) -> int:
    """How many EFA interfaces a launch template attaches."""
    return sum(part.get("InterfaceType") in {"efa", "efa-only"} for part in template.get("NetworkInterfaces", []))


def node_of(claim: Object, instance: Object, launch: Object, *, plugins: set[str]) -> Object:
    """The Node that the instance of a NodeClaim registers as.

    Args:
        claim: the NodeClaim; its promise of CPU and memory is taken over, devices must be earned.
        instance: as DescribeInstances gives it.
        launch: the launch template's data that the instance was started with.
        plugins: device plugins that run in the cluster (``nvidia.com/gpu``, ``vpc.amazonaws.com/efa``).
    """
    config = read_user_data(launch["UserData"])
    zone = instance["Placement"]["AvailabilityZone"]
    name = instance["PrivateDnsName"]
    promised = claim["status"]["capacity"]
    devices = {key: promised[key] for key in ("nvidia.com/gpu",) if key in promised and key in plugins}
    if "vpc.amazonaws.com/efa" in plugins and efa_interfaces(launch):
        devices["vpc.amazonaws.com/efa"] = str(efa_interfaces(launch))
    status = {}
    for part in ("capacity", "allocatable"):
        plain = ("cpu", "memory", "ephemeral-storage", "pods")
        status[part] = {key: claim["status"][part][key] for key in plain if key in claim["status"][part]} | devices
        if config.max_pods:
            status[part]["pods"] = str(config.max_pods)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": config.labels
            | {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": instance["InstanceType"],
                "topology.kubernetes.io/zone": zone,
                "topology.kubernetes.io/region": zone[:-1],
            },
        },
        "spec": {
            "providerID": claim["status"]["providerID"],
            "taints": [*config.taints, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}],
        },
        "status": status,
    }


def system_node(name: str, *, zone: str, instance_type: str, labels: dict[str, str]) -> Object:
    """A node of the managed node group that carries the controllers.

    It leaves for pods what the plan counts on for its type.
    """
    room = system_types()[instance_type].allocatable
    amounts = {"cpu": f"{room.cpu_millis}m", "memory": f"{room.memory_mib}Mi", "pods": str(room.pods)}
    amounts["ephemeral-storage"] = "80Gi"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels
            | {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": instance_type,
                "topology.kubernetes.io/zone": zone,
                "topology.kubernetes.io/region": zone[:-1],
            },
        },
        "spec": {"providerID": f"aws:///{zone}/i-{name}"},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


class Joiner:
    """Watches NodeClaims and lets their instances join, until closed."""

    def __init__(self, kube: Kube, aws: SimulatedAws, *, plugins: Callable[[], set[str]], every: float = 0.3):
        self._kube, self._aws, self._plugins, self._every = kube, aws, plugins, every
        self._joined: set[str] = set()
        self._stop = threading.Event()
        self.errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, name="joiner", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self._step()
            except (KubeError, OSError) as error:
                self.errors.append(error)
            except Exception as error:  # a bug of ours must not pass for a slow world
                self.errors.append(error)
                raise

    def _step(self) -> None:
        claims = [
            claim
            for claim in self._kube.list("karpenter.sh/v1", "NodeClaim")
            if claim.get("status", {}).get("providerID") and claim["status"]["providerID"] not in self._joined
        ]
        if not claims:
            return
        launches = self._aws.launches()
        instances = {instance["InstanceId"]: instance for instance in self._aws.instances()}
        plugins = self._plugins()
        for claim in claims:
            number = claim["status"]["providerID"].rsplit("/", 1)[1]
            if number not in launches or number not in instances or "capacity" not in claim["status"]:
                continue
            node = node_of(claim, instances[number], launches[number]["data"], plugins=plugins)
            if self._kube.get("v1", "Node", node["metadata"]["name"]) is None:
                self._kube.create(node)
            self._kube.patch(node, {"status": node["status"]}, status=True)
            self._joined.add(claim["status"]["providerID"])

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
        self._thread.join(10)

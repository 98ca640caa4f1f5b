"""Karpenter and the LeaderWorkerSet controller as processes beside the control plane."""

import json
from pathlib import Path
from typing import Any

import yaml

from .aws import SimulatedAws
from .controlplane import ControlPlane
from .daemon import Daemon, free_port, port_is_free

Object = dict[str, Any]

_SETTINGS = {
    "batchMaxDuration": "BATCH_MAX_DURATION",
    "batchIdleDuration": "BATCH_IDLE_DURATION",
    "preferencePolicy": "PREFERENCE_POLICY",
    "minValuesPolicy": "MIN_VALUES_POLICY",
    "clusterName": "CLUSTER_NAME",
    "clusterEndpoint": "CLUSTER_ENDPOINT",
    "clusterCABundle": "CLUSTER_CA_BUNDLE",
    "isolatedVPC": "ISOLATED_VPC",
    "eksControlPlane": "EKS_CONTROL_PLANE",
    "vmMemoryOverheadPercent": "VM_MEMORY_OVERHEAD_PERCENT",
    "interruptionQueue": "INTERRUPTION_QUEUE",
    "reservedENIs": "RESERVED_ENIS",
    "disableDryRun": "DISABLE_DRY_RUN",
}
_GATES = (
    "reservedCapacity",
    "spotToSpotConsolidation",
    "nodeRepair",
    "nodeOverlay",
    "staticCapacity",
    "capacityBuffer",
)


def karpenter_env(values: Object) -> dict[str, str]:
    """The environment that the chart's Deployment gives the controller for these Helm values."""
    settings = values.get("settings", {})
    env = {}
    for key, name in _SETTINGS.items():
        value = settings.get(key)
        if value:  # the chart's `with` drops zero values
            env[name] = str(value).lower() if isinstance(value, bool) else str(value)
    gates = {"reservedCapacity": True} | settings.get("featureGates", {})
    env["FEATURE_GATES"] = ",".join(
        f"{gate[0].upper()}{gate[1:]}={str(gates.get(gate, False)).lower()}" for gate in _GATES
    )
    env |= {item["name"]: item["value"] for item in values.get("controller", {}).get("env", []) if "value" in item}
    return env


def start_karpenter(plane: ControlPlane, binary: Path, aws: SimulatedAws, *, values: Object, namespace: str) -> Daemon:
    """Karpenter with AWS's provider, configured as its Helm values say."""
    metrics, health = free_port(), free_port()
    env = {
        **aws.env,
        **karpenter_env(values),
        "KUBECONFIG": str(plane.kubeconfig),
        "CLUSTER_ENDPOINT": plane.url,
        "CLUSTER_CA_BUNDLE": plane.certificates.authority_base64,
        "SYSTEM_NAMESPACE": namespace,
        "KUBERNETES_MIN_VERSION": "1.19.0-0",
        "DISABLE_LEADER_ELECTION": "true",
        "METRICS_PORT": str(metrics),
        "HEALTH_PROBE_PORT": str(health),
    }
    daemon = plane.run("karpenter", [binary], env)
    daemon.ready(lambda: not port_is_free(health), seconds=180)
    return daemon


def _webhook(
    plane: ControlPlane, port: int, name: str, path: str, group: str, version: str, plural: str, verbs: list[str]
) -> Object:
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "clientConfig": {
            "url": f"https://127.0.0.1:{port}{path}",
            "caBundle": plane.certificates.authority_base64,
        },
        "rules": [{"apiGroups": [group], "apiVersions": [version], "operations": verbs, "resources": [plural]}],
    }


def lws_webhooks(plane: ControlPlane, port: int) -> list[Object]:
    """The controller's admission webhooks, by URL (services are not reachable without kube-proxy)."""
    both, group = ["CREATE", "UPDATE"], "leaderworkerset.x-k8s.io"
    disaggregated = "disaggregatedset.x-k8s.io"
    only_lws = {"matchExpressions": [{"key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists"}]}
    sets = f"-{group.replace('.', '-')}-v1-leaderworkerset"
    mutating = [
        _webhook(plane, port, "mleaderworkerset.kb.io", f"/mutate{sets}", group, "v1", "leaderworkersets", both),
        _webhook(plane, port, "mpod.kb.io", "/mutate--v1-pod", "", "v1", "pods", ["CREATE"])
        | {"objectSelector": only_lws},
    ]
    validating = [
        _webhook(plane, port, "vleaderworkerset.kb.io", f"/validate{sets}", group, "v1", "leaderworkersets", both),
        _webhook(plane, port, "vpod.kb.io", "/validate--v1-pod", "", "v1", "pods", both) | {"objectSelector": only_lws},
        _webhook(
            plane,
            port,
            "vdisaggregatedset.kb.io",
            f"/validate-{disaggregated.replace('.', '-')}-v1-disaggregatedset",
            disaggregated,
            "v1",
            "disaggregatedsets",
            both,
        ),
    ]
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": "lws-judges"},
            "webhooks": hooks,
        }
        for kind, hooks in (("Mutating", mutating), ("Validating", validating))
    ]


def start_lws(plane: ControlPlane, binary: Path) -> Daemon:
    """The LeaderWorkerSet controller with its webhooks registered."""
    webhook, metrics, health = free_port(), free_port(), free_port()
    folder = plane.folder / "lws"
    folder.mkdir(exist_ok=True)
    for name in ("tls.crt", "tls.key"):
        (folder / name).write_bytes((plane.certificates.server.parent / name).read_bytes())
    config = {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"port": webhook, "host": "127.0.0.1", "certDir": str(folder)},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
    }
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    daemon = plane.run("lws", [binary, f"--config={file}", f"--kubeconfig={plane.kubeconfig}", "--zap-log-level=info"])
    daemon.ready(lambda: not port_is_free(webhook), seconds=120)
    plane.kube.apply_all(lws_webhooks(plane, webhook))
    return daemon


def stop_lws(plane: ControlPlane, daemon: Daemon) -> None:
    """End the controller, its webhooks first."""
    for configuration in lws_webhooks(plane, 1):
        plane.kube.delete(configuration)
    daemon.stop()


def values_of(config_map: Object) -> Object:
    """The Helm values that a stand-in chart echoed."""
    loaded: Object = json.loads(config_map["data"]["values.json"])
    return loaded

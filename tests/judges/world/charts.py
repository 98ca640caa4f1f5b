"""Stand-in charts: name and version of the real ones, upstream's CRDs, and the values they were given echoed back.

The real Helm code path runs on them without a network. What a chart's controllers would do, the world does when the
echo appears (``follower``).
"""

from pathlib import Path
from typing import Any

import yaml

from headwater.catalog.releases import Chart

from .controlplane import crds_of

CHART_LABEL = "judges.headwater/chart"

CRD_GROUPS: dict[str, tuple[str, ...]] = {
    "karpenter-crd": ("karpenter.sh", "karpenter.k8s.aws", "autoscaling.x-k8s.io"),
    "lws": ("leaderworkerset.x-k8s.io", "disaggregatedset.x-k8s.io"),
    "gpu-operator": ("nvidia.com", "nfd.k8s-sigs.io"),
    "keda": ("keda.sh", "eventing.keda.sh"),
    "kube-prometheus-stack": ("monitoring.coreos.com",),
    "dynamo-platform": ("nvidia.com",),
    "grove": ("grove.io", "scheduler.grove.io"),
    "kai-scheduler": ("kai.scheduler", "scheduling.run.ai"),
}
"""API groups whose CRDs a chart brings; of ``nvidia.com`` each chart has its own kinds."""

BARE: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "external-secrets": (("external-secrets.io", "v1", ("SecretStore", "ClusterSecretStore", "ExternalSecret")),),
    "gateway-crds-helm": (
        (
            "gateway.envoyproxy.io",
            "v1alpha1",
            ("EnvoyProxy", "ClientTrafficPolicy", "BackendTrafficPolicy", "SecurityPolicy", "Backend"),
        ),
    ),
    "ai-gateway-crds-helm": (("aigateway.envoyproxy.io", "v1beta1", ("AIGatewayRoute", "AIServiceBackend")),),
    "agentgateway-crds": (("agentgateway.dev", "v1alpha1", ("AgentgatewayParameters", "AgentgatewayPolicy")),),
}
"""Kinds whose schema the reference data lacks, by chart: group, version, kinds. They are stored, not judged."""

KEPT = frozenset({"gpu-operator", "kube-prometheus-stack", "lws"})
"""Charts with their CRDs in ``crds/``, which Helm never removes; the others template theirs."""

_DYNAMO_KINDS = "Dynamo"

_ECHO = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: stand-in-{{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  labels: {judges.headwater/chart: %s}
data:
  values.json: {{ .Values | toJson | quote }}
"""


def _brings(chart: str, crd: dict[str, Any]) -> bool:
    group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
    if group not in CRD_GROUPS.get(chart, ()):
        return False
    if group == "nvidia.com":
        return kind.startswith(_DYNAMO_KINDS) == (chart == "dynamo-platform")
    return True


def served_offline(crd: dict[str, Any]) -> dict[str, Any]:
    """The CRD without a conversion webhook, whose operator does not run here, and without prose, half of its bulk."""
    spec = {key: value for key, value in crd["spec"].items() if key != "conversion"}
    return {**crd, "spec": _without_prose(spec)}


def _without_prose(node: Any, *, names: bool = False) -> Any:
    """A schema without descriptions; below ``properties`` the keys are names, ``description`` among them."""
    if isinstance(node, dict):
        return {
            key: _without_prose(value, names=key == "properties" and not names)
            for key, value in node.items()
            if names or key != "description" or not isinstance(value, str)
        }
    return [_without_prose(item) for item in node] if isinstance(node, list) else node


def bare_crd(group: str, version: str, kind: str) -> dict[str, Any]:
    """A CRD that takes any spec."""
    lower = kind.lower()
    plural = lower if lower.endswith("s") else lower[:-1] + "ies" if lower.endswith("y") else lower + "s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    scope = "Cluster" if kind.startswith("Cluster") else "Namespaced"
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": lower},
            "versions": [{**served, "subresources": {"status": {}}}],
        },
    }


def write_charts(folder: Path, charts: dict[str, Chart], crds: Path) -> Path:
    """Write a stand-in for every chart into ``folder/<chart's own name>``, and return the folder."""
    known = [served_offline(crd) for crd in crds_of(crds)]
    for key, chart in sorted(charts.items()):
        home = folder / chart.short
        (home / "templates").mkdir(parents=True, exist_ok=True)
        about = {"apiVersion": "v2", "name": chart.short, "version": chart.version, "type": "application"}
        (home / "Chart.yaml").write_text(yaml.safe_dump(about))
        (home / "values.yaml").write_text("{}\n")
        (home / "templates" / "echo.yaml").write_text(_ECHO % key)
        for group, version, kinds in BARE.get(key, ()):
            for kind in kinds:
                crd = bare_crd(group, version, kind)
                (home / "templates" / f"{crd['metadata']['name']}.yaml").write_text(yaml.safe_dump(crd))
        for crd in known:
            if not _brings(key, crd):
                continue
            name, text = crd["metadata"]["name"], yaml.safe_dump(crd)
            if key in KEPT:
                (home / "crds").mkdir(exist_ok=True)
                (home / "crds" / f"{name}.yaml").write_text(text)
            else:  # a template: what looks like one inside must stay text
                text = text.replace("{{", "{{`{{`}}")
                (home / "templates" / f"{name}.yaml").write_text(text)
    return folder

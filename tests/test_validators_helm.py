"""The judge of Helm values is seen refusing paths that a chart would swallow, and taking those that it reads."""

from pathlib import Path
from typing import Any

import pytest

from tests.validators import chart_notes, helm


@pytest.fixture(scope="module")
def charts(shared: Path) -> helm.Charts:
    return helm.load(shared / "charts")


def nested(path: str, value: Any = 1) -> dict[str, Any]:
    for segment in reversed(path.split("/")):
        value = {segment: value}
    return value


KNOWN = [
    ("karpenter", "settings/clusterName"),
    ("karpenter", "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution"),
    ("gpu-operator", "driver/enabled"),
    ("gpu-operator", "dcgmExporter/config/name"),
    ("gpu-operator", "nfd/enabled"),
    ("gpu-operator", "node-feature-discovery/worker/tolerations"),
    ("kube-prometheus-stack", "grafana/adminPassword"),
    ("kube-prometheus-stack", "grafana/grafana.ini/auth.anonymous"),
    ("kube-prometheus-stack", "grafana/sidecar/dashboards/enabled"),
    ("kube-prometheus-stack", "kube-state-metrics/priorityClassName"),
    ("kube-prometheus-stack", "kubeStateMetrics/enabled"),
    ("kube-prometheus-stack", "crds/enabled"),
    ("kube-prometheus-stack", "defaultRules/disabled/KubeletDown"),
    ("llm-d-router-gateway", "router/modelServers/matchLabels/app"),
    ("llm-d-router-gateway", "httpRoute/baseModel"),
    ("llm-d-router-standalone", "router/proxy/configMap/data"),
    ("dynamo-platform", "dynamo-operator/lpx/enabled"),
    ("dynamo-platform", "grove/crdInstaller/enabled"),
    ("dynamo-platform", "grove/config/scheduler/defaultProfileName"),
    ("dynamo-platform", "kai-scheduler/binder/cdiEnabled"),
    ("dynamo-platform", "global/grove/install"),
    ("gateway-helm", "config/envoyGateway/extensionApis/enableBackend"),
    ("external-secrets", "webhook/podDisruptionBudget/maxUnavailable"),
    ("keda", "prometheus/operator/serviceMonitor/namespace"),
]


@pytest.mark.parametrize(("chart", "path"), KNOWN)
def test_a_path_the_chart_reads_is_known(charts: helm.Charts, chart: str, path: str) -> None:
    assert charts.unknown_paths(chart, nested(path)) == []


UNKNOWN_PATHS = [
    ("karpenter", "settings/clustername"),
    ("karpenter", "setting"),
    ("karpenter", "affinity/podAffinty"),
    ("karpenter-crd", "webhook/enabled"),
    ("gpu-operator", "driver/enable"),
    ("gpu-operator", "dcgmExporter/serviceMonitors/enabled"),
    ("gpu-operator", "node-feature-discovery/workers"),
    ("kube-prometheus-stack", "grafana/sidecar/dashboard/enabled"),
    ("kube-prometheus-stack", "nodeexporter/enabled"),
    ("llm-d-router-gateway", "router/proxy/name"),
    ("llm-d-router-gateway", "modelServers/matchLabels/app"),
    ("dynamo-platform", "kai-scheduler/binder/cdiEnable"),
    ("dynamo-platform", "dynamoOperator/enabled"),
    ("gateway-helm", "crds/enabled"),
    ("agentgateway-crds", "anything"),
    ("lws", "replicaCounts"),
]


@pytest.mark.parametrize(("chart", "path"), UNKNOWN_PATHS)
def test_a_misspelt_path_is_found(charts: helm.Charts, chart: str, path: str) -> None:
    found = charts.unknown_paths(chart, nested(path))
    assert len(found) == 1
    assert "ignored in silence" in found[0]


@pytest.mark.parametrize(
    ("chart", "path"),
    [
        ("dynamo-platform", "dynamo-operator/controllerManager/manager/args"),
        ("dynamo-platform", "dynamo-operator/checkpoint/storage/type"),
        ("dynamo-platform", "grove/affinity/nodeAffinity"),
        ("dynamo-platform", "grove/service/port"),
        ("gpu-operator", "devicePlugin/mps/root"),
        ("keda", "prometheus/metricServer/serviceMonitor/port"),
        ("llm-d-router-gateway", "router/latencyPredictor/predictionServers/readinessProbe/timeoutSeconds"),
    ],
)
def test_a_path_that_no_template_reads_is_found(charts: helm.Charts, chart: str, path: str) -> None:
    assert "read by no template" in charts.unknown_paths(chart, nested(path))[0]


def test_every_leaf_is_judged_on_its_own(charts: helm.Charts) -> None:
    values = {"driver": {"enabled": False, "enable": 1}, "toolkit": {"enabled": True}, "toolkits": {"a": {}}}
    assert [found.split(":")[0] for found in charts.unknown_paths("gpu-operator", values)] == [
        "driver.enable",
        "toolkits.a",
    ]


def test_a_chart_without_known_values_is_told(charts: helm.Charts) -> None:
    assert charts.findings("nginx", {"a": 1}) == ["no default values are known for the chart 'nginx'"]


def test_a_text_in_place_of_a_boolean_is_found(charts: helm.Charts) -> None:
    assert "where the default is a boolean" in charts.findings("gpu-operator", {"driver": {"enabled": "false"}})[0]
    assert "where the default is a map" in charts.findings("gpu-operator", {"driver": True})[0]
    assert charts.findings("gpu-operator", {"driver": {"enabled": False}}) == []


def test_a_schema_is_held_where_the_chart_has_one(charts: helm.Charts) -> None:
    right = {"node-feature-discovery": {"worker": {"port": 8080}}}
    assert charts.findings("gpu-operator", right) == []
    wrong = {"node-feature-discovery": {"worker": {"port": "80a"}}}
    assert any("node-feature-discovery" in found for found in charts.findings("gpu-operator", wrong))
    assert charts.findings("external-secrets", {"concurrent": "many"})


def test_every_chart_has_readable_defaults(charts: helm.Charts) -> None:
    assert len(charts.names()) == 21
    for name in charts.names():
        defaults = charts.defaults(name)
        assert [p for p in charts.unknown_paths(name, defaults) if "ignored" in p] == []


def test_the_notes_are_read_from_the_table(shared: Path) -> None:
    notes = chart_notes.read(shared / "charts")
    assert ("dcgmExporter", "config", "data") in notes.valid["gpu-operator"]
    assert ("defaultRules", "disabled", "*") in notes.valid["kube-prometheus-stack"]
    assert ("router", "epp", "flags") in notes.valid["llm-d-router-gateway"] & notes.valid["llm-d-router-standalone"]
    assert ("scheduler", "resources") in notes.valid["kai-scheduler"]
    assert ("certController", "podDisruptionBudget", "maxUnavailable") in notes.valid["external-secrets"]
    assert all("{" not in s and "<" not in s and s for paths in notes.valid.values() for p in paths for s in p)


def test_braces_expand_as_a_shell_would() -> None:
    assert chart_notes.expand("a.{b,c.{d,e}}.f") == ["a.b.f", "a.c.d.f", "a.c.e.f"]
    with pytest.raises(ValueError, match="left open"):
        chart_notes.expand("a.{b")


def test_a_lost_section_is_an_error_not_an_empty_list(tmp_path: Path) -> None:
    (tmp_path / "SOURCES.md").write_text("# nothing\n")
    with pytest.raises(ValueError, match="no section"):
        chart_notes.read(tmp_path)

"""What Prometheus scrapes of a graph.

The planner finds its model by the label ``dynamo_namespace``, which the frontend's series only have when the monitor
copies it from the pod. Ours stand in for the chart's, whose monitors take no labels of their own.
"""

from __future__ import annotations

from typing import Any

from components.dynamo.names import COMPONENT_LABEL, GRAPH_LABEL, METRICS_LABEL, TYPE_LABEL, graph_name
from components.serving import MODEL_LABEL
from headwater.plan import ModelPlan

INTERVAL = "5s"
"""Of the frontend, whose series the planner reads every few seconds; workers are scraped less often."""
WORKER_INTERVAL = "15s"


def monitors(model: ModelPlan, *, by_picker: bool, planned: bool) -> dict[str, dict[str, Any]]:
    """Specs of the model's PodMonitors, by the component they watch.

    Args:
        model: the model.
        by_picker: frontends stand beside workers, and a picker before them.
        planned: a planner is part of the graph.
    """
    worker_ports = [
        _endpoint("system", WORKER_INTERVAL),
        *([_endpoint("nixl", WORKER_INTERVAL)] if model.disaggregated else []),
    ]
    found: dict[str, dict[str, Any]] = {}
    if by_picker:
        worker_ports.append(_frontend())
        found["epp"] = _monitor(model, ["epp"], [_endpoint("metrics", WORKER_INTERVAL)])
    else:
        found["frontend"] = _monitor(model, ["frontend"], [_frontend()])
    found["workers"] = _monitor(model, ["decode", "prefill", "worker"], worker_ports)
    if planned:
        found["planner"] = _monitor(model, ["planner"], [_endpoint("metrics", WORKER_INTERVAL)])
    return found


def _monitor(model: ModelPlan, types: list[str], endpoints: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "selector": {
            "matchLabels": {GRAPH_LABEL: graph_name(model), METRICS_LABEL: "true"},
            "matchExpressions": [{"key": TYPE_LABEL, "operator": "In", "values": types}],
        },
        "podTargetLabels": [MODEL_LABEL, COMPONENT_LABEL],
        "podMetricsEndpoints": endpoints,
    }


def _endpoint(port: str, interval: str) -> dict[str, Any]:
    kind = "__meta_kubernetes_pod_label_nvidia_com_dynamo_component_type"
    copied = [{"action": "replace", "sourceLabels": [kind], "targetLabel": "dynamo_component_type"}]
    return {"port": port, "path": "/metrics", "interval": interval, "relabelings": copied}


def _frontend() -> dict[str, Any]:
    found = _endpoint("http", INTERVAL)
    space = "__meta_kubernetes_pod_label_nvidia_com_dynamo_namespace"
    copied = {"action": "replace", "sourceLabels": [space], "targetLabel": "dynamo_namespace"}
    return {**found, "honorLabels": True, "relabelings": [copied, *found["relabelings"]]}

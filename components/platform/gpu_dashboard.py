"""A Grafana dashboard as code: what the GPUs do, and what the pools hold."""

from __future__ import annotations

import json
from typing import Any

PROMETHEUS = {"type": "prometheus", "uid": "${source}"}
WIDTH = HEIGHT = 8
GPU = "{{Hostname}} {{gpu}}"
POOL = "{{nodepool}}"
GPUS = '{resource_type="nvidia.com/gpu"}'

NODES_BY_CAPACITY = (
    'count by (label_headwater_pool, label_karpenter_sh_capacity_type) (kube_node_labels{label_headwater_pool!=""})'
)
PODS_WITHOUT_NODE = "sum by (namespace) (kube_pod_status_unschedulable)"

Queries = tuple[tuple[str, str], ...]
ROWS: tuple[tuple[str, tuple[tuple[str, str, Queries], ...]], ...] = (
    (
        "GPUs",
        (
            ("Busy", "percent", ((GPU, "max by (Hostname, gpu) (DCGM_FI_DEV_GPU_UTIL)"),)),
            ("Tensor cores", "percentunit", ((GPU, "max by (Hostname, gpu) (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE)"),)),
            ("Memory in use", "decmbytes", ((GPU, "max by (Hostname, gpu) (DCGM_FI_DEV_FB_USED)"),)),
        ),
    ),
    (
        "Health",
        (
            ("Power", "watt", ((GPU, "max by (Hostname, gpu) (DCGM_FI_DEV_POWER_USAGE)"),)),
            ("Temperature", "celsius", ((GPU, "max by (Hostname, gpu) (DCGM_FI_DEV_GPU_TEMP)"),)),
            ("Last error (XID)", "short", ((GPU, "max by (Hostname, gpu) (DCGM_FI_DEV_XID_ERRORS)"),)),
        ),
    ),
    (
        "Pools",
        (
            (
                "GPUs bought",
                "short",
                (
                    (POOL, f"max by (nodepool) (karpenter_nodepools_usage{GPUS})"),
                    (f"limit {POOL}", f"max by (nodepool) (karpenter_nodepools_limit{GPUS})"),
                ),
            ),
            (
                "Nodes by capacity",
                "short",
                (
                    (
                        "{{label_headwater_pool}} {{label_karpenter_sh_capacity_type}}",
                        NODES_BY_CAPACITY,
                    ),
                ),
            ),
            (
                "Pods without a node",
                "short",
                (("{{namespace}}", "sum by (namespace) (kube_pod_status_unschedulable)"),),
            ),
        ),
    ),
)


def dashboard() -> dict[str, Any]:
    """The dashboard's own JSON form."""
    panels: list[dict[str, Any]] = []
    for row, (title, charts) in enumerate(ROWS):
        top = row * (HEIGHT + 1)
        panels.append({"type": "row", "title": title, "gridPos": {"x": 0, "y": top, "w": 24, "h": 1}, "panels": []})
        for column, (name, unit, queries) in enumerate(charts):
            panels.append(
                {
                    "type": "timeseries",
                    "title": name,
                    "datasource": PROMETHEUS,
                    "gridPos": {"x": column * WIDTH, "y": top + 1, "w": WIDTH, "h": HEIGHT},
                    "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                    "targets": [
                        {"refId": chr(ord("A") + n), "expr": expr, "legendFormat": legend, "datasource": PROMETHEUS}
                        for n, (legend, expr) in enumerate(queries)
                    ],
                }
            )
    for number, panel in enumerate(panels, start=1):
        panel["id"] = number
    return {
        "uid": "headwater-gpus",
        "title": "Headwater: GPUs and pools",
        "tags": ["headwater"],
        "timezone": "utc",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [{"name": "source", "type": "datasource", "query": "prometheus", "current": {}}]},
        "panels": panels,
    }


def dashboard_text() -> str:
    """The dashboard as the file Grafana's sidecar picks up."""
    return json.dumps(dashboard(), indent=1, sort_keys=True) + "\n"

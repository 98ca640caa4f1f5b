"""A Grafana dashboard as code: what the GPUs do, and what the pools hold."""

from __future__ import annotations

import json
from typing import Any

from components.watching.dashboards import Queries, dashboard_json

GPU = "{{Hostname}} {{gpu}}"
POOL = "{{nodepool}}"
GPUS = '{resource_type="nvidia.com/gpu"}'

NODES_BY_CAPACITY = (
    'count by (label_headwater_pool, label_karpenter_sh_capacity_type) (kube_node_labels{label_headwater_pool!=""})'
)
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
    return dashboard_json("headwater-gpus", "Headwater: GPUs and pools", ROWS)


def dashboard_text() -> str:
    """The dashboard as the file Grafana's sidecar picks up."""
    return json.dumps(dashboard(), indent=1, sort_keys=True) + "\n"

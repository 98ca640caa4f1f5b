"""Alerts on what is paid for and does not work. Pure: text in, rules out.

Sources of the series: kube-state-metrics, the DCGM exporter of the GPU Operator, Karpenter. A GPU node that never shows
its GPUs is removed by nobody (aws/karpenter-provider-aws#1914, #3794): somebody has to be told.
"""

from __future__ import annotations

from typing import Any

from components.watching.alerts import Alert, alert_rule
from headwater.plan import Plan

POOL = "label_headwater_pool"
CAPACITY = "label_karpenter_sh_capacity_type"
NODE_LABELS = "nodes=[headwater/pool,karpenter.sh/capacity-type]"
"""Node labels that kube-state-metrics has to export for these rules."""


def platform_alerts(plan: Plan, namespace: str) -> list[Alert]:
    """Rules for the nodes and pools of a plan.

    Args:
        plan: the environment.
        namespace: of the models.
    """
    found = [
        Alert(
            "GpuNodeWithoutGpus",
            'kube_node_spec_taint{key="nvidia.com/gpu"} unless on (node) '
            '(kube_node_status_allocatable{resource="nvidia_com_gpu"} > 0)',
            "20m",
            "critical",
            "{{ $labels.node }} is paid for and offers no GPU",
            "Look at the GPU Operator's pods on it; delete its NodeClaim if they do not come up.",
        ),
        Alert(
            "GpuReportsError",
            "max by (Hostname, gpu) (DCGM_FI_DEV_XID_ERRORS) > 0",
            "1m",
            "warning",
            "GPU {{ $labels.gpu }} of {{ $labels.Hostname }} reported error {{ $value }} (XID)",
            "Look the number up in NVIDIA's XID list; for a hardware error delete the node's NodeClaim.",
        ),
        Alert(
            "ModelPodsWithoutNode",
            f'sum(kube_pod_status_unschedulable{{namespace="{namespace}"}}) > 0',
            "20m",
            "critical",
            "{{ $value }} model pods find no node",
            "Events of the pods and of the NodeClaims say which: no capacity in the zone, or the pool's limit.",
        ),
        Alert(
            "GpuPoolAtItsLimit",
            'karpenter_nodepools_usage{resource_type="nvidia.com/gpu"} >= on (nodepool) '
            'karpenter_nodepools_limit{resource_type="nvidia.com/gpu"}',
            "30m",
            "info",
            "Pool {{ $labels.nodepool }} has all the GPUs it may have",
            "Raise `replicas.max` of its models, if more are wanted: the limit follows from it.",
        ),
    ]
    for pool in plan.pools:
        mine = f'kube_node_labels{{{POOL}="{pool.name}"'
        if pool.efa:
            found.append(
                Alert(
                    "GpuNodeWithoutEfa",
                    f"{mine}}} unless on (node) "
                    f'(kube_node_status_allocatable{{resource="vpc_amazonaws_com_efa"}} >= {pool.efa})',
                    "20m",
                    "critical",
                    f"{{{{ $labels.node }}}} of {pool.name} offers fewer than {pool.efa} EFA interfaces",
                    "Look at the EFA device plugin's pod on it; traffic between nodes would fall back to TCP.",
                )
            )
        if pool.reserved_nodes:
            found.append(
                Alert(
                    "ReservedNodeBilledOnDemand",
                    f'count({mine},{CAPACITY}="on-demand"}}) > {max(0, pool.nodes_now - pool.reserved_nodes)}',
                    "15m",
                    "warning",
                    f"{pool.name}: {{{{ $value }}}} nodes are billed on demand",
                    "A reservation has ended, was cancelled, or is used by others: its nodes are on demand now.",
                )
            )
    return found


def rule_groups(plan: Plan, namespace: str) -> list[dict[str, Any]]:
    """The rules as a PrometheusRule has them; rules of one name for several pools are told apart by their group."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for alert in platform_alerts(plan, namespace):
        taken = sum(any(rule["alert"] == alert.name for rule in rules) for rules in groups.values())
        groups.setdefault("headwater-nodes" if not taken else f"headwater-nodes-{taken + 1}", []).append(
            alert_rule(alert)
        )
    return [{"name": name, "rules": rules} for name, rules in groups.items()]

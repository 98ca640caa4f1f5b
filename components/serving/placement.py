"""Where model pods may run, and with whom."""

from __future__ import annotations

from typing import Any

from components.serving.names import GPU_TAINT, HOSTNAME, MODEL_LABEL, POOL_LABEL, ROLE_LABEL, ZONE
from headwater.plan import ModelPlan, Role

DO_NOT_DISRUPT = {"karpenter.sh/do-not-disrupt": "true"}
"""Karpenter must not move a model server for tidiness: a reload takes many minutes."""

GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"


def node_selector(role: Role) -> dict[str, str]:
    """Only nodes of the role's own pool."""
    return {POOL_LABEL: role.pool}


def tolerations() -> list[dict[str, Any]]:
    """The taint of GPU nodes, written out although EKS would add it: readers and simulators see only the manifest."""
    return [{"key": GPU_TAINT, "operator": "Exists", "effect": "NoSchedule"}]


def affinity(model: ModelPlan, role: Role, *, group_index: bool = False) -> dict[str, Any]:
    """Zone and host preferences of a pod; empty when it talks to no other node.

    Servers that exchange tensors or KV cache over EFA must share a zone, which EFA does not leave. The pool already
    names one zone; this is the second lock. Prefill and decode prefer different hosts, as libfabric between
    processes of one host has failed on p5 (ai-dynamo/dynamo#7764).

    Args:
        model: the model.
        role: the pod's role.
        group_index: hold each LeaderWorkerSet group together instead of all pods of the model; only for models
            that are not disaggregated, whose groups need not meet.
    """
    if not role.pod.efa:
        return {}
    term: dict[str, Any] = {"labelSelector": {"matchLabels": {MODEL_LABEL: model.name}}, "topologyKey": ZONE}
    if group_index and not model.disaggregated:
        term["matchLabelKeys"] = [GROUP_INDEX]
    found: dict[str, Any] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if model.disaggregated:
        other = "decode" if role.role == "prefill" else "prefill"
        selector = {"matchLabels": {MODEL_LABEL: model.name, ROLE_LABEL: other}}
        found["podAntiAffinity"] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "podAffinityTerm": {"labelSelector": selector, "topologyKey": HOSTNAME}}
            ]
        }
    return found

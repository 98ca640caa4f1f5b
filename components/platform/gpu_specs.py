"""From one pool of the plan to the specs of its EC2NodeClass and NodePool. Pure: nothing is created here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from components.platform.efa import static_interfaces
from headwater.plan.model import Pool

POOL_LABEL = "headwater/pool"
"""Label of every node of a pool, warm ones too; pods select on it."""

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
ROOT_GIB = 200
CONSOLIDATE_AFTER = "15m"
"""An empty node waits this long: shorter and it is given back between two steps of a rollout, or under a pull."""

GRACE, BLOCK_GRACE = "30m", "8m"
"""How long a draining node may take. Karpenter starts draining a Capacity Block ten minutes before EC2 takes it."""

USER_DATA: dict[str, Any] = {
    "apiVersion": "node.eks.aws/v1alpha1",
    "kind": "NodeConfig",
    "spec": {"featureGates": {"FastImagePull": True}},
}
"""Layers of an engine image (ten gigabytes and more) are pulled and unpacked in parallel."""


def node_class_spec(
    pool: Pool,
    *,
    ami: str,
    profile: Mapping[str, Any],
    subnets: Sequence[Any],
    security_group: Any,
    tags: Mapping[str, str],
    placement_group: str | None,
) -> dict[str, Any]:
    """Spec of the pool's EC2NodeClass.

    Args:
        pool: the pool.
        ami: pinned alias; a floating one would replace every node at each AMI release.
        profile: ``{"role": ...}``, or ``{"instanceProfile": ...}`` where IAM cannot be reached.
        subnets: ids of the pool's subnets, one a zone. By id, as tags may match another VPC's.
        security_group: id of EKS's own group, which lets EFA through to itself in both directions.
        tags: for instances, volumes and interfaces; the provider's default tags do not reach them.
        placement_group: name of the cluster placement group, where the plan wants one.
    """
    spec: dict[str, Any] = {
        "amiSelectorTerms": [{"alias": ami}],
        **profile,
        "subnetSelectorTerms": [{"id": subnet} for subnet in subnets],
        "securityGroupSelectorTerms": [{"id": security_group}],
        "associatePublicIPAddress": False,
        "instanceStorePolicy": "RAID0",
        "blockDeviceMappings": [
            {
                "deviceName": "/dev/xvda",
                "rootVolume": True,
                "ebs": {
                    "volumeSize": f"{ROOT_GIB}Gi",
                    "volumeType": "gp3",
                    "iops": 6000,
                    "throughput": 500,
                    "encrypted": True,
                    "deleteOnTermination": True,
                },
            }
        ],
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
        "userData": yaml.safe_dump(USER_DATA, sort_keys=True),
        "tags": dict(tags),
    }
    if pool.efa:
        spec["networkInterfaces"] = static_interfaces(pool.cards, pool.efa)
    if placement_group is not None:
        spec["placementGroupSelector"] = {"name": placement_group}
    if pool.reservations:
        spec["capacityReservationSelectorTerms"] = [{"id": reservation.id} for reservation in pool.reservations]
    return spec


def node_pool_spec(pool: Pool) -> dict[str, Any] | None:
    """Spec of the pool's NodePool, which grows with its pods; None when warm nodes are all the pool may have."""
    gpus = pool.gpu_limit - pool.warm * pool.gpus_per_node
    if gpus < pool.gpus_per_node:
        return None
    return {
        "template": _template(pool),
        "limits": {"nvidia.com/gpu": str(gpus)},
        "disruption": {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": CONSOLIDATE_AFTER,
            "budgets": _budgets(pool),
        },
    }


def warm_pool_spec(pool: Pool) -> dict[str, Any] | None:
    """Spec of the static NodePool that keeps ``pool.warm`` nodes, pods or not; None when none are wanted.

    A pool cannot change between growing and static, so this is one of its own.
    """
    if not pool.warm:
        return None
    surge = 0 if "reserved" in pool.buy else 1
    return {
        "replicas": pool.warm,
        "template": _template(pool),
        "limits": {"nodes": str(pool.warm + surge)},
        "disruption": {"consolidateAfter": CONSOLIDATE_AFTER, "budgets": _budgets(pool)},
    }


def _template(pool: Pool) -> dict[str, Any]:
    block = any(reservation.kind == "block" for reservation in pool.reservations)
    return {
        "metadata": {"labels": {POOL_LABEL: pool.name}},
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": pool.name},
            "expireAfter": "Never",
            "terminationGracePeriod": BLOCK_GRACE if block else GRACE,
            "taints": [GPU_TAINT],
            "requirements": [
                _among("node.kubernetes.io/instance-type", pool.instances),
                _among("karpenter.sh/capacity-type", pool.buy),
                _among("topology.kubernetes.io/zone", pool.zones),
                _among("kubernetes.io/arch", ["amd64"]),
                _among("kubernetes.io/os", ["linux"]),
            ],
        },
    }


def _budgets(pool: Pool) -> list[dict[str, Any]]:
    """How many nodes may go at once, by reason: empty ones all, running models never, changed ones one by one.

    A changed node is replaced before it goes. In a reservation there is no room for that, so there nobody starts it.
    """
    return [
        {"nodes": "100%", "reasons": ["Empty"]},
        {"nodes": "0", "reasons": ["Underutilized"]},
        {"nodes": "0" if "reserved" in pool.buy else "1", "reasons": ["Drifted"]},
    ]


def _among(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}

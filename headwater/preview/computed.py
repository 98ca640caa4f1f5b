"""Parts inside a nested output that the cloud fills in, so that a preview must call them unknown, not absent."""

from __future__ import annotations

from typing import Any

from headwater.preview.wire import UNKNOWN_SENTINEL, signature

COMPUTED_PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "aws:eks/cluster:Cluster": {"vpcConfig": ("clusterSecurityGroupId", "vpcId")},
    "aws:eks/nodeGroup:NodeGroup": {"launchTemplate": ("id", "name")},
    "aws:ec2/instance:Instance": {"rootBlockDevice": ("volumeId", "deviceName")},
}
"""By type and output property: keys the provider computes within an object the program set itself."""

KUBERNETES_METADATA = ("uid", "resourceVersion", "creationTimestamp", "generation")


def computed_parts(type_: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs as a preview returns them for outputs: what the cloud adds inside nested objects is unknown."""
    if type_.startswith("kubernetes:"):
        parts: dict[str, tuple[str, ...]] = {"metadata": KUBERNETES_METADATA}
    else:
        parts = COMPUTED_PARTS.get(type_, {})
    outputs = dict(inputs)
    for key, names in parts.items():
        value = outputs.get(key)
        if isinstance(value, dict) and signature(value) is None:
            outputs[key] = {**dict.fromkeys(names, UNKNOWN_SENTINEL), **value}
    return outputs

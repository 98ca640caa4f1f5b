"""Namespaces are resources of their own: one that Helm makes is left behind when its release goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pulumi
import pulumi_kubernetes as k8s

Level = Literal["privileged", "baseline", "restricted"]


def namespace(
    logical: str,
    name: str,
    kubernetes: k8s.Provider,
    after: Sequence[pulumi.Resource],
    *,
    parent: pulumi.Resource,
    level: Level = "privileged",
) -> k8s.core.v1.Namespace:
    """A namespace with its pod-security level said aloud. Operators that own devices need ``privileged``."""
    return k8s.core.v1.Namespace(
        logical,
        metadata=k8s.meta.v1.ObjectMetaArgs(
            name=name,
            labels={
                "app.kubernetes.io/managed-by": "headwater",
                "pod-security.kubernetes.io/enforce": level,
                "pod-security.kubernetes.io/warn": level,
            },
        ),
        opts=pulumi.ResourceOptions(
            parent=parent,
            provider=kubernetes,
            depends_on=after,
            custom_timeouts=pulumi.CustomTimeouts(delete="20m"),
        ),
    )

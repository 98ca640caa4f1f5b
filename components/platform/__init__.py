"""The AWS and Kubernetes foundation: network, cluster, nodes, operators, and what the models' namespace needs."""

from components.platform.model import PlatformRefs
from components.platform.platform import Platform

__all__ = ["Platform", "PlatformRefs"]

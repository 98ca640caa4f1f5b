"""Which part of the house a resource belongs to, for counting and for folding."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headwater.preview.graph import STACK_TYPE, Graph, Resource

SERVING = "serving"
PLATFORM = "platform"
ORDER = ("network", "cluster", "gpu nodes", "operators", "storage", "monitoring", "access", SERVING)
"""Rooms as they come to life; others follow by name."""
TOGETHER = {
    "system nodes": "cluster",
    "addons": "cluster",
    PLATFORM: "cluster",
    "karpenter": "gpu nodes",
    "gpu pools": "gpu nodes",
    "spot role": "gpu nodes",
    "definitions": "operators",
    "load balancer controller": "operators",
    "shared cache": "storage",
    "gpu watch": "monitoring",
    "model namespace": "access",
    "token secret": "access",
}
"""Components that share a word; a screen has room for eight."""
_WHOLES = re.compile(r"^headwater:(?:platform:Platform|serving:ServingStack)$")


def room_of(resource: Resource, by_urn: Mapping[str, Resource]) -> str:
    """``network``, ``gpu pools``, ...: the component under the platform; ``serving`` for a serving stack."""
    below = resource
    while below.parent:
        above = by_urn.get(below.parent)
        if above is None or above.type == STACK_TYPE:
            break
        if _WHOLES.match(above.type):
            if not above.type.startswith("headwater:platform:"):
                return SERVING
            return _words(below.type) if below.type.startswith("headwater:") else PLATFORM
        below = above
    if _WHOLES.match(below.type):
        return PLATFORM if below.type.startswith("headwater:platform:") else SERVING
    return PLATFORM


def rooms(graph: Graph) -> dict[str, list[Resource]]:
    """Every resource but the stack itself and default providers, by room; rooms as they come to life."""
    by_urn = {resource.urn: resource for resource in graph.resources}
    found: dict[str, list[Resource]] = {}
    for resource in graph.resources:
        if resource.type != STACK_TYPE and not (resource.is_provider and not resource.parent):
            room = room_of(resource, by_urn)
            found.setdefault(TOGETHER.get(room, room), []).append(resource)
    return {room: found[room] for room in sorted(found, key=_place)}


def _place(room: str) -> tuple[int, str]:
    return (ORDER.index(room) if room in ORDER else len(ORDER)), room


def _words(token: str) -> str:
    """``gpu pools`` for ``headwater:platform:GpuPools``."""
    name = token.rsplit(":", 1)[1]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).lower()

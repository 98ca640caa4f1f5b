"""Images of one Dynamo release, on one tag: all components of a graph must be of the same line."""

from __future__ import annotations

from components.serving.images import image
from headwater.catalog.releases import engines, images
from headwater.plan import Plan, Role
from headwater.plan.dynamo_layout import release


def dynamo_image(plan: Plan, key: str) -> str:
    """Reference of one of Dynamo's images at the release asked for."""
    pinned = images()[key]
    version = release(plan.settings)
    if pinned.tag.partition("-")[0] == version:
        return image(plan, key)
    suffix = pinned.tag[len(pinned.tag.partition("-")[0]) :]
    other = pinned.model_copy(update={"tag": f"{version}{suffix}", "digest": None})
    return other.reference(plan.settings.mirror.images)


def worker_image(plan: Plan, role: Role) -> str:
    """The engine image of a role: with EFA libraries exactly where the plan uses EFA."""
    engine = engines()["dynamo"]
    return dynamo_image(plan, engine.efa_image if role.pod.efa else engine.image)

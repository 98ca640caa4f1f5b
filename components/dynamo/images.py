"""Images of one Dynamo release, on one tag: all components of a graph must be of the same line."""

from __future__ import annotations

from components.serving.images import image
from headwater.plan import Plan
from headwater.plan.dynamo_layout import release


def dynamo_image(plan: Plan, key: str) -> str:
    """Reference of one of Dynamo's images at the release asked for."""
    return image(plan, key, release(plan.settings))

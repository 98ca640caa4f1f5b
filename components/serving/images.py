"""Which image a model server runs: the one with EFA user space where the plan uses EFA, upstream's elsewhere."""

from __future__ import annotations

from headwater.catalog.releases import engines, images
from headwater.plan import Plan, Role


def image(plan: Plan, key: str) -> str:
    """Reference of a catalogue image, through the stack's image mirror when it has one."""
    return images()[key].reference(plan.settings.mirror.images)


def engine_image(plan: Plan, role: Role) -> str:
    """The engine image of a role.

    A server that talks to others over EFA needs libfabric and its NIXL and NCCL plug-ins inside the image; without
    them traffic falls back to TCP without a word.
    """
    engine = engines()[plan.stack]
    return image(plan, engine.efa_image if role.pod.efa else engine.image)

"""Which image a model server runs: the one with EFA user space where the plan uses EFA, upstream's elsewhere."""

from __future__ import annotations

from headwater.catalog.releases import engines, images
from headwater.plan import Plan, Role
from headwater.plan.dynamo_layout import release


def image(plan: Plan, key: str, version: str | None = None) -> str:
    """Reference of a catalogue image, through the stack's image mirror when it has one.

    Args:
        plan: the environment.
        key: of the image in the catalogue.
        version: another release than the pinned one; the suffix of the tag stays, the digest is the pinned one's.
    """
    pinned = images()[key]
    known, _, suffix = pinned.tag.partition("-")
    if version not in (None, known):
        pinned = pinned.model_copy(update={"tag": f"{version}-{suffix}" if suffix else version, "digest": None})
    return pinned.reference(plan.settings.mirror.images)


def engine_image(plan: Plan, role: Role) -> str:
    """The engine image of a role, with Dynamo at the release asked for.

    A server that talks to others over EFA needs libfabric and its NIXL and NCCL plug-ins inside the image; without
    them traffic falls back to TCP without a word.
    """
    engine = engines()[plan.stack]
    version = release(plan.settings) if plan.stack == "dynamo" else None
    return image(plan, engine.efa_image if role.pod.efa else engine.image, version)

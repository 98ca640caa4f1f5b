"""What has to be copied into the weights mirror: each repository once, the room and the time it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headwater.catalog.defaults import default
from headwater.plan.model import Plan


@dataclass(frozen=True)
class MirrorCopy:
    """One repository on its way from the hub to S3.

    Attributes:
        model: the first model that loads it.
        repository: ``org/name`` on the hub.
        target: ``s3://bucket/prefix/org/name``, without a slash at the end.
        volume_gib: disk the copy passes through.
        seconds: longest it may take.
    """

    model: str
    repository: str
    target: str
    volume_gib: int
    seconds: int


def mirror_target(mirror: str, repository: str) -> str:
    """Where a repository lies in a mirror."""
    return f"{mirror.rstrip('/')}/{repository}"


def mirror_copies(plan: Plan) -> tuple[MirrorCopy, ...]:
    """Copies that ``headwater:weights.fill`` asks for, in the order of the stack file; none without it."""
    weights = plan.settings.weights
    if weights.mirror is None or not weights.fill:
        return ()
    found: dict[str, MirrorCopy] = {}
    for model in plan.models:
        volume = model.checkpoint_gib * float(default("mirror", "volume")) + float(
            default("mirror", "volume_fixed_gib")
        )
        seconds = model.checkpoint_gib / float(default("mirror", "gib_per_second"))
        made = MirrorCopy(
            model=model.name,
            repository=model.repository,
            target=mirror_target(weights.mirror, model.repository),
            volume_gib=math.ceil(volume),
            seconds=math.ceil((seconds + float(default("mirror", "fixed_seconds"))) / 60) * 60,
        )
        found.setdefault(model.repository, made)
    return tuple(found.values())

"""What the platform cannot be, whatever is served on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headwater.plan.model import Pool
from headwater.plan.subnets import DEFAULT_CIDR, zone_subnets
from headwater.refusal import Fault
from headwater.settings import Settings, there


def platform_faults(
    settings: Settings, zones: Sequence[str], pools: Sequence[Pool], project: Path | None = None
) -> list[Fault]:
    """Every fault of network, cluster and weights that takes more than one section to see.

    Args:
        settings: the stack file.
        zones: of the network.
        pools: the GPU pools that were decided.
        project: folder that paths in the stack file start from; default is the current one.
    """
    found = [*_room(settings, zones), *_isolated(settings), *_drafts(settings), *_folders(settings, project)]
    return [*found, *_lustre(settings, pools), *_existing(settings)]


def _room(settings: Settings, zones: Sequence[str]) -> list[Fault]:
    """Zones that have no place in the VPC's range."""
    if settings.network.vpc is not None:
        return []
    cidr, found = settings.network.cidr or DEFAULT_CIDR, []
    for zone in zones:
        try:
            zone_subnets(cidr, zone)
        except ValueError as error:
            text = str(error)
            found.append(Fault("headwater:network.cidr", cidr, f"{text[0].upper()}{text[1:]}.", "Use a wider range."))
    return found


def _isolated(settings: Settings) -> list[Fault]:
    """A network without internet reaches neither public registries nor the hub, and nobody reaches it."""
    if settings.network.endpoints != "isolated":
        return []
    path, found = "headwater:network.endpoints", []
    if settings.mirror.images is None:
        why = "Nodes of an isolated network reach no public registry."
        found.append(Fault(path, "isolated", why, "Say where images are: `headwater:mirror: {images: HOST/PREFIX}`."))
    if settings.weights.mirror is None:
        why = "Nodes of an isolated network do not reach the model hub."
        remedy = "Copy the weights once and say where: `headwater:weights: {mirror: s3://BUCKET/PREFIX}`."
        found.append(Fault(path, "isolated", why, remedy))
    if settings.weights.fill:
        why = "Nothing in an isolated network reaches the model hub, so nothing in it can fill the mirror."
        remedy = "Copy the weights from a machine that does (docs/platform.md shows how) and leave `fill` out."
        found.append(Fault("headwater:weights.fill", "true", why, remedy))
    if settings.gateway.exposure == "public":
        why = "An isolated network has no internet gateway, so nothing in it can be public."
        found.append(Fault("headwater:gateway.exposure", "public", why, "Use `internal`, or a network with internet."))
    return found


def _folders(settings: Settings, project: Path | None) -> list[Fault]:
    """A mirror on this machine that is not there: the first release to read it would fail, in the middle of an `up`."""
    why = "There is no such folder; paths start at the project's folder."
    remedy = "Put it there, or name a registry or an address."
    base = project or Path.cwd()
    return [
        Fault(f"headwater:mirror.{key}", text, why, remedy)
        for key, text in settings.mirror.folders.items()
        if not there(base / text, folder=True)
    ]


def _drafts(settings: Settings) -> list[Fault]:
    """With a mirror servers do not ask the hub, and only the models themselves are copied from it."""
    if settings.weights.mirror is None:
        return []
    why = (
        "With `headwater:weights.mirror` servers do not reach the hub, and a draft model is not copied from the mirror."
    )
    return [
        Fault(
            f"headwater:serving.models[{index}].speculative.model",
            model.speculative.model,
            why,
            "Use method `mtp` or `ngram`, or leave the mirror out.",
        )
        for index, model in enumerate(settings.serving.models)
        if model.speculative is not None and model.speculative.model is not None
    ]


def _lustre(settings: Settings, pools: Sequence[Pool]) -> list[Fault]:
    """FSx for Lustre is in one zone, and so must be every node that mounts it."""
    zones = sorted({zone for pool in pools for zone in pool.zones})
    if settings.weights.cache != "fsx" or len(zones) <= 1:
        return []
    why = f"FSx for Lustre is in one zone, and GPU nodes may be in {', '.join(zones)}."
    remedy = "Name one zone under `headwater:capacity`, the same for all, or use `cache: efs`."
    return [Fault("headwater:weights.cache", "fsx", why, remedy)]


def _existing(settings: Settings) -> list[Fault]:
    """An existing cluster brings its own nodes and access."""
    if settings.cluster.existing is None:
        return []
    found = []
    if "system_nodes" in settings.model_fields_set:
        why = "An existing cluster brings its own system nodes; these would not be made."
        found.append(Fault("headwater:systemNodes", "", why, "Take the section out."))
    return found

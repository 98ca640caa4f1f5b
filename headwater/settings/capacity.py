"""What it runs on: GPU capacity to buy, and the group of system nodes."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

from pydantic import Field, model_validator

from headwater.settings.base import Frozen
from headwater.settings.platform import Zone

MOST_NODES = 512
"""More nodes of one accelerator than any region keeps for one customer: a slip of the keyboard."""
Buy = Literal["reserved", "onDemand", "spot"]


class Reservation(Frozen):
    """Capacity already bought: an On-Demand Capacity Reservation or a Capacity Block.

    Attributes:
        id: ``cr-...``.
        ends: when it ends, UTC; a Capacity Block always has an end.
        kind: ``odcr`` or ``block``.
        zone: where it is.
        instances: how many instances it holds.
        instance: their type, where the accelerator allows several.
    """

    id: Annotated[str, Field(pattern=r"^cr-[0-9a-f]+$")]
    ends: dt.datetime | None = None
    kind: Literal["odcr", "block"] = "odcr"
    zone: Zone | None = None
    instances: Annotated[int | None, Field(ge=1)] = None
    instance: str | None = None

    @model_validator(mode="after")
    def _block_ends(self) -> Reservation:
        if self.kind == "block" and self.ends is None:
            raise ValueError("a Capacity Block has an end; say when, as `ends: 2027-01-31T11:30:00Z`")
        if self.ends is not None and self.ends.tzinfo is None:
            raise ValueError("`ends` needs its time zone: 2027-01-31T11:30:00Z")
        return self


class Capacity(Frozen):
    """What may be bought of one accelerator.

    Attributes:
        instances: EC2 instance types, exact; default is all the catalogue has for the accelerator in the region.
        buy: in order of preference.
        zones: where; a pool of multi-node groups uses the first only.
        max_gpus: upper bound of GPUs at once, all models together; default is what the plan needs at its largest.
        reservations: what is already paid for.
        warm: nodes kept though empty.
    """

    instances: Annotated[tuple[str, ...] | None, Field(min_length=1)] = None
    buy: Annotated[tuple[Buy, ...], Field(min_length=1)] = ("onDemand",)
    zones: Annotated[tuple[Zone, ...] | None, Field(min_length=1)] = None
    max_gpus: Annotated[int | None, Field(ge=1)] = None
    reservations: tuple[Reservation, ...] = ()
    warm: Annotated[int, Field(ge=0, le=MOST_NODES)] = 0

    @model_validator(mode="after")
    def _reserved(self) -> Capacity:
        reserved = [reservation.id for reservation in self.reservations]
        for key, words in (("buy", self.buy), ("instances", self.instances), ("zones", self.zones),
                           ("reservations", reserved)):  # fmt: skip
            for word in words or ():
                if list(words or ()).count(word) > 1:
                    raise ValueError(f"`{key}` names {word} twice; keep one")
        if "reserved" in self.buy and not self.reservations:
            raise ValueError("`buy: [reserved]` needs `reservations`: Karpenter never matches an open reservation")
        if self.reservations and "reserved" not in self.buy:
            raise ValueError(
                "a reservation is listed but `buy` does not say `reserved`: it would be paid for and unused"
            )
        return self


class SystemNodes(Frozen):
    """The managed node group that runs controllers, routers and frontends, never models.

    The plan sums what they ask for, under both serving stacks, and takes as many nodes as hold the larger sum.

    Attributes:
        instances: EC2 types, x86-64 without GPUs; default is the smallest of the catalogue on which every pod fits.
        min: nodes to keep, over two zones or more; default is what the demand takes.
        max: most nodes the group may be raised to for a while; default is twice ``min``.
    """

    instances: Annotated[tuple[str, ...] | None, Field(min_length=1)] = None
    min: Annotated[int | None, Field(ge=2)] = None
    max: Annotated[int | None, Field(ge=2)] = None

    @model_validator(mode="after")
    def _ordered(self) -> SystemNodes:
        if self.min is not None and self.max is not None and self.max < self.min:
            raise ValueError(f"max {self.max} is below min {self.min}")
        return self

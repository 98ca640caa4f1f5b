"""The few zones in which EKS takes no control-plane subnet, caught before it says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from components.platform.network import CONTROL_ZONES
from components.platform.site import Site
from headwater.catalog.regions import refused_zone_ids


def refused_zones(names: Sequence[str], ids: Sequence[str], asked: Sequence[str], refused: Sequence[str]) -> list[str]:
    """Those of the zones asked for whose id EKS refuses. ``names`` and ``ids`` are one account's zones, in step."""
    by_name = dict(zip(names, ids, strict=True))
    return [zone for zone in asked if by_name.get(zone) in refused]


def checked_subnets(
    name: str, site: Site, subnets: Sequence[pulumi.Input[str]], parent: pulumi.Resource
) -> pulumi.Input[Sequence[pulumi.Input[str]]]:
    """The control plane's subnets; in a region with refused zones, only once none of them is one.

    Zone names map to other ids in each account, so AWS has to be asked, and only where it matters. Subnets of an
    existing network are somebody else's choice and are passed on.
    """
    refused = refused_zone_ids(site.region)
    if not refused or site.plan.settings.network.vpc is not None:
        return subnets
    asked = site.plan.zones[:CONTROL_ZONES]
    zones = aws.get_availability_zones_output(
        state="available", opts=pulumi.InvokeOutputOptions(parent=parent, provider=site.aws)
    )

    def check(known: list[Any]) -> list[str]:
        names, ids, resolved = known
        bad = refused_zones(names, ids, asked, refused)
        if bad:
            raise ValueError(
                f"{name}: EKS takes no control-plane subnet in {', '.join(bad)} ({', '.join(refused)} here). "
                "Name other zones with `headwater:network.zones`."
            )
        return list(resolved)

    return pulumi.Output.all(zones.names, zones.zone_ids, pulumi.Output.all(*subnets)).apply(check)

"""Questions to AWS before anything is bought: is it allowed, is it sold there. Asked where the stack file says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from components.platform.site import Site
from headwater.plan.model import Pool
from headwater.plan.quotas import Need, needs


def short_of(wanted: Sequence[Need], allowed: Sequence[float]) -> list[str]:
    """A sentence for each quota that is below what the plan needs; ``allowed`` is in step with ``wanted``."""
    return [
        f"{need.quota.name} ({need.quota.code}): {allowance:g} {need.quota.unit} allowed, {need.amount} needed; "
        f"ask: aws service-quotas request-service-quota-increase --service-code {need.quota.service} "
        f"--quota-code {need.quota.code} --desired-value {need.amount}"
        for need, allowance in zip(wanted, allowed, strict=True)
        if allowance < need.amount
    ]


def not_sold(pools: Sequence[Pool], offered: set[tuple[str, str]]) -> list[str]:
    """A sentence for each zone of a pool in which none of its types is offered."""
    return [
        f"{pool.name}: {' or '.join(pool.instances)} is not offered in {zone} of this account; "
        f"name other zones in `headwater:capacity.{pool.accelerator}.zones`"
        for pool in pools
        for zone in pool.zones
        if not any((instance, zone) in offered for instance in pool.instances)
    ]


class Preflight(pulumi.ComponentResource):
    """The checks of ``cluster.preflight``, as answers that a preview waits for.

    Raises:
        ValueError: from the answers, naming everything that is short and how to get it.
    """

    def __init__(self, name: str, site: Site, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("headwater:platform:Preflight", name, {}, opts)
        ask = pulumi.InvokeOutputOptions(parent=self, provider=site.aws)
        wanted, pools = needs(site.plan), site.plan.pools
        values = [
            aws.servicequotas.get_service_quota_output(
                service_code=need.quota.service, quota_code=need.quota.code, opts=ask
            ).value
            for need in wanted
        ]
        types = sorted({instance for pool in pools for instance in pool.instances})
        offers = aws.ec2.get_instance_type_offerings_output(
            location_type="availability-zone",
            filters=[aws.ec2.GetInstanceTypeOfferingsFilterArgs(name="instance-type", values=types)],
            opts=ask,
        )
        quotas = pulumi.Output.all(*values).apply(lambda allowed: _clear(short_of(wanted, allowed)))
        sold = pulumi.Output.all(offers.instance_types, offers.locations).apply(
            lambda found: _clear(not_sold(pools, set(zip(found[0], found[1], strict=True))))
        )
        self.register_outputs({"quotas": quotas, "offerings": sold})


def _clear(faults: list[str]) -> Any:
    if faults:
        raise ValueError("preflight: " + "; ".join(faults))
    return "enough"

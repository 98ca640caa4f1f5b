"""The VPC: subnets by use and zone, routes, endpoints, flow logs. Or the one that is already there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.platform.endpoints import Endpoints
from components.platform.flow_logs import FlowLogs
from components.platform.site import Site
from headwater.plan import Plan
from headwater.plan.subnets import DEFAULT_CIDR, ZoneSubnets, zone_subnets

CONTROL_ZONES = 3
"""Zones the control plane's interfaces are spread over, at most; EKS asks for two."""


@dataclass(frozen=True)
class NetworkRefs:
    """What the cluster and its nodes need of a network.

    Attributes:
        vpc_id: the VPC.
        control: subnets of the control plane's interfaces.
        system: subnets of the system nodes, one a zone.
        gpu: subnet of GPU nodes by zone name.
        ready: what must stand before a node can boot: routes, gateways, endpoints.
    """

    vpc_id: pulumi.Input[str]
    control: Sequence[pulumi.Input[str]]
    system: Sequence[pulumi.Input[str]]
    gpu: Mapping[str, pulumi.Input[str]]
    ready: Sequence[pulumi.Resource] = ()


def gpu_zones(plan: Plan) -> tuple[str, ...]:
    """Zones that have a GPU pool, sorted."""
    return tuple(sorted({zone for pool in plan.pools for zone in pool.zones}))


def make_network(name: str, site: Site, opts: pulumi.ResourceOptions) -> NetworkRefs:
    """The stack file's network: made here, or an existing one by its ids."""
    network = site.plan.settings.network
    if network.vpc is not None and network.subnets is not None:
        return NetworkRefs(
            vpc_id=network.vpc,
            control=network.subnets.system[:CONTROL_ZONES],
            system=network.subnets.system,
            gpu=dict(sorted(network.subnets.gpu.items())),
        )
    return Network(name, site, opts).refs


class Network(pulumi.ComponentResource):
    """A VPC of our own.

    Every zone has a private route table of its own, whether it has a NAT gateway of its own or shares one: changing
    that choice changes routes, not subnets. S3 goes through a gateway endpoint on every private table, so no byte of
    model weights passes a NAT gateway.
    """

    refs: NetworkRefs

    def __init__(self, name: str, site: Site, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("headwater:platform:Network", name, {}, opts)
        self._name, self._site = name, site
        plan, settings = site.plan, site.plan.settings.network
        cidr = settings.cidr or DEFAULT_CIDR
        with_gpus = gpu_zones(plan)
        zones = tuple(sorted({*plan.zones, *with_gpus}))
        ranges = {zone: zone_subnets(cidr, zone) for zone in zones}

        vpc = aws.ec2.Vpc(
            f"{name}-vpc",
            cidr_block=cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags={"Name": site.cluster},
            opts=pulumi.ResourceOptions(parent=self),
        )
        self._vpc = vpc
        aws.ec2.DefaultSecurityGroup(
            f"{name}-closed-default-group",
            vpc_id=vpc.id,
            tags={"Name": f"{site.cluster}-default-closed"},
            opts=pulumi.ResourceOptions(parent=self),
        )
        isolated = settings.endpoints == "isolated"
        tables = {zone: self._table(f"private-{zone}") for zone in zones}
        routes: list[pulumi.Resource] = [] if isolated else self._internet(zones, ranges, tables)

        internal = {"kubernetes.io/role/internal-elb": "1"}
        control = {
            zone: self._subnet("control", zone, ranges[zone].control, {}, tables[zone])
            for zone in plan.zones[:CONTROL_ZONES]
        }
        system = {
            zone: self._subnet("system", zone, ranges[zone].system, internal, tables[zone]) for zone in plan.zones
        }
        discovery = {"karpenter.sh/discovery": site.cluster} | internal
        gpu = {zone: self._subnet("gpu", zone, ranges[zone].gpu, discovery, tables[zone]) for zone in with_gpus}

        endpoints = Endpoints(
            f"{name}-endpoints",
            site,
            vpc_id=vpc.id,
            cidr=cidr,
            route_tables=[table.id for table in tables.values()],
            subnets=[subnet.id for subnet, _ in system.values()],
            opts=pulumi.ResourceOptions(parent=self),
        )
        if settings.flow_logs:
            FlowLogs(f"{name}-flow-logs", site, vpc.id, opts=pulumi.ResourceOptions(parent=self))

        associations = [association for group in (control, system, gpu) for _, association in group.values()]
        self.refs = NetworkRefs(
            vpc_id=vpc.id,
            control=[subnet.id for subnet, _ in control.values()],
            system=[subnet.id for subnet, _ in system.values()],
            gpu={zone: subnet.id for zone, (subnet, _) in gpu.items()},
            ready=(*routes, *associations, endpoints),
        )
        self.register_outputs({"vpcId": vpc.id})

    def _internet(
        self, zones: Sequence[str], ranges: Mapping[str, ZoneSubnets], tables: Mapping[str, aws.ec2.RouteTable]
    ) -> list[pulumi.Resource]:
        """Public subnets, NAT gateways and the routes to them; the routes are returned."""
        name, child = self._name, pulumi.ResourceOptions(parent=self)
        gateway = aws.ec2.InternetGateway(
            f"{name}-internet", vpc_id=self._vpc.id, tags={"Name": self._site.cluster}, opts=child
        )
        public = self._table("public")
        outward = aws.ec2.Route(
            f"{name}-public-route",
            route_table_id=public.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway.id,
            opts=child,
        )
        tags = {"kubernetes.io/role/elb": "1"}
        subnets = {zone: self._subnet("public", zone, ranges[zone].public, tags, public) for zone in zones}
        shared = self._site.plan.settings.network.nat == "single"
        nats = {zone: self._nat(zone, *subnets[zone], outward) for zone in (zones[:1] if shared else zones)}
        return [
            aws.ec2.Route(
                f"{name}-private-{zone}-route",
                route_table_id=tables[zone].id,
                destination_cidr_block="0.0.0.0/0",
                nat_gateway_id=nats[zones[0] if shared else zone].id,
                opts=child,
            )
            for zone in zones
        ]

    def _nat(
        self, zone: str, subnet: aws.ec2.Subnet, association: pulumi.Resource, outward: pulumi.Resource
    ) -> aws.ec2.NatGateway:
        tags = {"Name": f"{self._site.cluster}-{zone}"}
        address = aws.ec2.Eip(
            f"{self._name}-nat-{zone}-address", domain="vpc", tags=tags, opts=pulumi.ResourceOptions(parent=self)
        )
        return aws.ec2.NatGateway(
            f"{self._name}-nat-{zone}",
            allocation_id=address.allocation_id,
            subnet_id=subnet.id,
            tags=tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[association, outward]),
        )

    def _table(self, suffix: str) -> aws.ec2.RouteTable:
        return aws.ec2.RouteTable(
            f"{self._name}-{suffix}-table",
            vpc_id=self._vpc.id,
            tags={"Name": f"{self._site.cluster}-{suffix}"},
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _subnet(
        self, use: str, zone: str, cidr: str, tags: Mapping[str, str], table: aws.ec2.RouteTable
    ) -> tuple[aws.ec2.Subnet, aws.ec2.RouteTableAssociation]:
        """A subnet and its route table. None gives public addresses to what starts in it."""
        child = pulumi.ResourceOptions(parent=self)
        subnet = aws.ec2.Subnet(
            f"{self._name}-{use}-{zone}",
            vpc_id=self._vpc.id,
            availability_zone=zone,
            cidr_block=cidr,
            tags={"Name": f"{self._site.cluster}-{use}-{zone}", **tags},
            opts=child,
        )
        association = aws.ec2.RouteTableAssociation(
            f"{self._name}-{use}-{zone}-table", subnet_id=subnet.id, route_table_id=table.id, opts=child
        )
        return subnet, association

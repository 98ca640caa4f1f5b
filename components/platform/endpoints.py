"""VPC endpoints: S3 without NAT always, the registries too, and every service a closed network needs."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from components.platform.site import Site
from headwater.settings import Settings

STANDARD = ("ecr.api", "ecr.dkr")
ISOLATED = ("ec2", "eks", "eks-auth", "sts", "ssm", "sqs", "logs", "ssmmessages", "ec2messages")
"""What nodes and controllers call when there is no way to the internet; pricing and IAM have no endpoint."""


def interface_services(settings: Settings) -> tuple[str, ...]:
    """Short names of the services that get an interface endpoint, sorted."""
    services = list(STANDARD)
    if settings.network.endpoints == "isolated":
        services += ISOLATED
        if settings.gateway.exposure != "cluster":
            services.append("elasticloadbalancing")
        if settings.hugging_face is not None and settings.hugging_face.secret_arn is not None:
            services.append("secretsmanager")
        services += {"efs": ["elasticfilesystem"], "fsx": ["fsx"]}.get(settings.weights.cache, [])
    return tuple(sorted(services))


class Endpoints(pulumi.ComponentResource):
    """The S3 gateway endpoint on every private route table, and interface endpoints in the system subnets.

    Args:
        name: logical name.
        site: where.
        vpc_id: the VPC.
        cidr: its range; only from there the interface endpoints may be called.
        route_tables: every private table.
        subnets: one a zone.
    """

    def __init__(
        self,
        name: str,
        site: Site,
        *,
        vpc_id: pulumi.Input[str],
        cidr: str,
        route_tables: Sequence[pulumi.Input[str]],
        subnets: Sequence[pulumi.Input[str]],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:Endpoints", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        aws.ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=vpc_id,
            vpc_endpoint_type="Gateway",
            service_name=f"com.amazonaws.{site.region}.s3",
            route_table_ids=route_tables,
            tags={"Name": f"{site.cluster}-s3"},
            opts=child,
        )
        group = aws.ec2.SecurityGroup(
            f"{name}-group",
            vpc_id=vpc_id,
            description="AWS services, callable from inside the VPC",
            tags={"Name": f"{site.cluster}-endpoints"},
            opts=child,
        )
        aws.vpc.SecurityGroupIngressRule(
            f"{name}-https",
            security_group_id=group.id,
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            cidr_ipv4=cidr,
            description="HTTPS from inside the VPC",
            opts=child,
        )
        for service in interface_services(site.plan.settings):
            aws.ec2.VpcEndpoint(
                f"{name}-{service.replace('.', '-')}",
                vpc_id=vpc_id,
                vpc_endpoint_type="Interface",
                service_name=f"com.amazonaws.{site.region}.{service}",
                subnet_ids=subnets,
                security_group_ids=[group.id],
                private_dns_enabled=True,
                tags={"Name": f"{site.cluster}-{service}"},
                opts=child,
            )
        self.register_outputs({})

"""Who talked to whom in the VPC, kept for a month."""

from __future__ import annotations

import pulumi
import pulumi_aws as aws

from components.platform.site import Policy, Site, document

RETENTION_DAYS = 30

TRUST: Policy = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "vpc-flow-logs.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}


def write_policy(group_arn: str) -> Policy:
    """Write to one log group, and nothing else."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                "Resource": [group_arn, f"{group_arn}:*"],
            }
        ],
    }


class FlowLogs(pulumi.ComponentResource):
    """Flow logs of a VPC into a log group with a retention."""

    def __init__(
        self, name: str, site: Site, vpc_id: pulumi.Input[str], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("headwater:platform:FlowLogs", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        group = aws.cloudwatch.LogGroup(
            f"{name}-group",
            name=f"/headwater/{site.cluster}/flow",
            retention_in_days=RETENTION_DAYS,
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=site.plan.settings.cluster.keep_data or None),
        )
        role = aws.iam.Role(f"{name}-role", assume_role_policy=document(TRUST), opts=child)
        aws.iam.RolePolicy(
            f"{name}-policy", role=role.id, policy=group.arn.apply(lambda arn: document(write_policy(arn))), opts=child
        )
        aws.ec2.FlowLog(
            f"{name}-log",
            vpc_id=vpc_id,
            traffic_type="ALL",
            iam_role_arn=role.arn,
            log_destination=group.arn,
            max_aggregation_interval=600,
            tags={"Name": site.cluster},
            opts=child,
        )
        self.register_outputs({})

"""What AWS is about to do to nodes, brought to Karpenter: a queue and five event rules."""

from __future__ import annotations

import json

import pulumi
import pulumi_aws as aws

from components.platform.site import Policy, Site, document

EVENTS = {
    "health": ("aws.health", "AWS Health Event"),
    "spot-interruption": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state-change": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation-interruption": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
"""Source and detail type of each event, by a short name."""

RETENTION_SECONDS = 300


def queue_policy(queue_arn: str) -> Policy:
    """AWS's event services may send; nobody may without TLS."""
    return {
        "Version": "2012-10-17",
        "Id": "EC2InterruptionPolicy",
        "Statement": [
            {
                "Sid": "EventsMaySend",
                "Effect": "Allow",
                "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
                "Action": "sqs:SendMessage",
                "Resource": queue_arn,
            },
            {
                "Sid": "DenyWithoutTls",
                "Effect": "Deny",
                "Principal": "*",
                "Action": "sqs:*",
                "Resource": queue_arn,
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        ],
    }


class Interruption(pulumi.ComponentResource):
    """The queue, named after the cluster, its policy, and the rules that fill it."""

    queue: aws.sqs.Queue

    def __init__(self, name: str, site: Site, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("headwater:platform:Interruption", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.queue = aws.sqs.Queue(
            f"{name}-queue",
            name=site.cluster,
            message_retention_seconds=RETENTION_SECONDS,
            sqs_managed_sse_enabled=True,
            opts=child,
        )
        aws.sqs.QueuePolicy(
            f"{name}-queue-policy",
            queue_url=self.queue.url,
            policy=self.queue.arn.apply(lambda arn: document(queue_policy(arn))),
            opts=child,
        )
        for key, (source, detail) in EVENTS.items():
            rule = aws.cloudwatch.EventRule(
                f"{name}-{key}",
                description=f"{detail}, for Karpenter on {site.cluster}",
                event_pattern=json.dumps({"source": [source], "detail-type": [detail]}, sort_keys=True),
                opts=child,
            )
            aws.cloudwatch.EventTarget(f"{name}-{key}-target", rule=rule.name, arn=self.queue.arn, opts=child)
        self.register_outputs({"queue": self.queue.name})

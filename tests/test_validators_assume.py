"""The world after `up`, made up: texts that a first preview cannot know can be read, and are the same each time."""

from pathlib import Path

from headwater.preview.engine import evaluate
from headwater.preview.graph import Graph
from tests.validators import iam
from tests.validators.assume import ACCOUNT, assumed_outputs
from tests.validators.unknown import holds_unknown, is_unknown

PROGRAM = """
import json
import pulumi
import pulumi_aws as aws

provider = aws.Provider("aws", region="us-east-2")
opts = pulumi.ResourceOptions(provider=provider)
me = aws.get_caller_identity_output(opts=pulumi.InvokeOutputOptions(provider=provider))
queue = aws.sqs.Queue("interruption", opts=opts)
network = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", opts=opts)
aws.ec2.Subnet("subnet", vpc_id=network.id, cidr_block="10.0.0.0/20", opts=opts)
text = pulumi.Output.all(me.account_id, queue.arn).apply(lambda known: json.dumps({
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "sqs:*", "Resource": known[1]},
        {"Effect": "Allow", "Action": "eks:DescribeCluster", "Resource": f"arn:aws:eks:us-east-2:{known[0]}:cluster/c"},
    ],
}))
aws.iam.Policy("policy", policy=text, opts=opts)
"""


def run(folder: Path) -> Graph:
    (folder / "Pulumi.yaml").write_text("name: demo\nruntime: python\n")
    (folder / "__main__.py").write_text(PROGRAM)
    (folder / "Pulumi.dev.yaml").write_text("config: {}\n")
    return evaluate(folder / "Pulumi.dev.yaml", folder)


def test_policies_can_be_read_only_in_the_assumed_world(tmp_path: Path) -> None:
    token = "aws:iam/policy:Policy"
    (before,) = run(tmp_path).of_type(token)
    assert is_unknown(before.inputs["policy"])
    with assumed_outputs():
        graph = run(tmp_path)
    (policy,) = graph.of_type(token)
    assert ACCOUNT in policy.inputs["policy"]
    assert any("is a wildcard" in finding for finding in iam.validate(policy.inputs["policy"], iam.IDENTITY))
    (subnet,) = graph.of_type("aws:ec2/subnet:Subnet")
    assert not holds_unknown(subnet.inputs)
    with assumed_outputs():
        assert run(tmp_path).dumps() == graph.dumps()


def test_the_engine_is_itself_again_afterwards(tmp_path: Path) -> None:
    with assumed_outputs():
        run(tmp_path)
    (policy,) = run(tmp_path).of_type("aws:iam/policy:Policy")
    assert is_unknown(policy.inputs["policy"])

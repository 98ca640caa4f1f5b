"""The judges of AWS inputs and IAM policies are seen refusing: wrong enums, lengths, ids, and policies too wide."""

import importlib
import json
import re
import warnings
from typing import Any

import pulumi._types as sdk
import pytest

from tests.validators import aws, aws_model, iam
from tests.validators.aws_types import TYPES
from tests.validators.unknown import UNKNOWN

Inputs = dict[str, Any]
ROLE = "arn:aws:iam::123456789012:role/node"


def test_every_call_and_member_of_the_mapping_exists() -> None:
    for mapped in TYPES.values():
        model = aws_model.service(mapped.service)
        for call in (*mapped.calls, *mapped.moved.values()):
            aws_model.resolve(model, call)
        for name in mapped.filled:
            assert any(name in aws_model.resolve(model, call).members for call in mapped.calls), name  # type: ignore[attr-defined]


# Properties of the SDK left out on purpose: superseded, or of no use to a serving platform. Setting one is refused.
LEFT_OUT = {
    "aws:ec2/flowLog:FlowLog": {"regionalNatGatewayId"},
    "aws:sqs/queue:Queue": {"deduplicationScope", "fifoThroughputLimit", "namePrefix", "redriveAllowPolicy"},
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": {"timeouts"},
    "aws:ssm/parameter:Parameter": {"valueWo", "valueWoVersion"},
}
INLINE = {"aws:s3/bucket:Bucket", "aws:cloudwatch/eventTarget:EventTarget", "aws:s3/bucketVersioning:BucketVersioning"}


@pytest.mark.parametrize("token", sorted(t for t in TYPES if t.startswith("aws:") and t not in INLINE))
def test_every_property_of_the_sdk_has_its_place(token: str) -> None:
    module, _, name = token.removeprefix("aws:").partition(":")
    package, leaf = module.split("/")
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", leaf).lower()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the SDK deprecates names of its own while it is imported
        arguments = getattr(importlib.import_module(f"pulumi_aws.{package}.{snake}"), f"{name}Args")
    names = set(sdk.input_type_py_to_pulumi_names(arguments).values()) - {"tags", "region"}
    missing = {n for n in names if n not in TYPES[token].own and aws._place(TYPES[token], n) is None}
    assert missing == LEFT_OUT.get(token, set())


RIGHT: list[tuple[str, Inputs]] = [
    ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16", "enableDnsSupport": True, "tags": {"Name": "x"}}),
    ("aws:ec2/subnet:Subnet", {"vpcId": UNKNOWN, "cidrBlock": "10.0.0.0/20", "availabilityZone": "us-east-2a"}),
    ("aws:ec2/flowLog:FlowLog", {"vpcId": "vpc-0a1b", "trafficType": "ALL", "maxAggregationInterval": 600}),
    (
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        {"securityGroupId": "sg-0a", "ipProtocol": "tcp", "fromPort": 443, "toPort": 443, "cidrIpv4": "10.0.0.0/16"},
    ),
    (
        "aws:ec2/launchTemplate:LaunchTemplate",
        {
            "namePrefix": "system-",
            "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
            "blockDeviceMappings": [
                {"deviceName": "/dev/xvda", "ebs": {"volumeType": "gp3", "volumeSize": 100, "encrypted": "true"}}
            ],
            "tagSpecifications": [{"resourceType": "instance", "tags": {"Name": "n"}}],
        },
    ),
    (
        "aws:eks/nodeGroup:NodeGroup",
        {
            "clusterName": "c",
            "nodeRoleArn": ROLE,
            "subnetIds": ["subnet-0a", UNKNOWN],
            "amiType": "AL2023_x86_64_STANDARD",
            "instanceTypes": ["m7i.xlarge"],
            "scalingConfig": {"minSize": 2, "maxSize": 4, "desiredSize": 2},
            "updateConfig": {"maxUnavailable": 1},
            "taints": [{"key": "a", "value": "b", "effect": "NO_SCHEDULE"}],
        },
    ),
    (
        "aws:eks/addon:Addon",
        {
            "clusterName": "c",
            "addonName": "vpc-cni",
            "addonVersion": "v1.23.1-eksbuild.1",
            "configurationValues": "{}",
            "podIdentityAssociations": [{"roleArn": ROLE, "serviceAccount": "aws-node"}],
            "resolveConflictsOnCreate": "OVERWRITE",
        },
    ),
    ("aws:eks/accessEntry:AccessEntry", {"clusterName": "c", "principalArn": ROLE, "type": "EC2_LINUX"}),
    (
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        {
            "clusterName": "c",
            "principalArn": ROLE,
            "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            "accessScope": {"type": "cluster"},
        },
    ),
    ("aws:iam/role:Role", {"name": "r", "assumeRolePolicy": "{}"}),
    ("aws:sqs/queue:Queue", {"name": "c", "messageRetentionSeconds": 300, "sqsManagedSseEnabled": True}),
    ("aws:cloudwatch/eventRule:EventRule", {"eventPattern": '{"source": ["aws.ec2"]}'}),
    ("aws:cloudwatch/eventTarget:EventTarget", {"rule": "r", "arn": "arn:aws:sqs:us-east-2:123456789012:c"}),
    ("aws:cloudwatch/logGroup:LogGroup", {"name": "/aws/eks/c/cluster", "retentionInDays": 30}),
    ("aws:kms/key:Key", {"deletionWindowInDays": 30, "enableKeyRotation": True, "description": "d"}),
    (
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
        {"bucket": "b-1", "rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}]},
    ),
    ("aws:efs/fileSystem:FileSystem", {"encrypted": True, "throughputMode": "elastic"}),
    (
        "aws:fsx/lustreFileSystem:LustreFileSystem",
        {
            "subnetIds": "subnet-0123456789abcdef0",
            "storageCapacity": 1200,
            "deploymentType": "PERSISTENT_2",
            "efaEnabled": False,
        },
    ),
    (
        "eks:index:Cluster",
        {
            "name": "c",
            "version": "1.36",
            "vpcId": UNKNOWN,
            "subnetIds": [UNKNOWN],
            "authenticationMode": "API",
            "endpointPrivateAccess": True,
            "endpointPublicAccess": False,
            "enabledClusterLogTypes": ["api", "audit"],
            "upgradePolicy": {"supportType": "STANDARD"},
            "skipDefaultNodeGroup": True,
        },
    ),
]


@pytest.mark.parametrize(("token", "inputs"), RIGHT, ids=[token for token, _ in RIGHT])
def test_right_inputs_pass(token: str, inputs: Inputs) -> None:
    assert aws.validate(token, inputs) == []


def test_all_unknown_inputs_pass_but_an_unknown_property_does_not() -> None:
    for token, inputs in RIGHT:
        assert aws.validate(token, dict.fromkeys(inputs, UNKNOWN)) == [], token
        assert aws.validate(token, {**inputs, "noSuchThing": UNKNOWN}), token


BAD: list[tuple[str, Inputs, str]] = [
    ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.1/16"}, "host bits"),
    ("aws:ec2/vpc:Vpc", {"instanceTenancy": "shared"}, "is none of default"),
    ("aws:ec2/vpc:Vpc", {"enableDnsSupport": "yes"}, "no boolean"),
    ("aws:ec2/vpc:Vpc", {"tags": {"aws:x": "y"}}, "no tag's key"),
    ("aws:ec2/vpc:Vpc", {"tags": {"a": 1}}, "must be text"),
    ("aws:ec2/vpc:Vpc", {"tags": {f"k{i}": "v" for i in range(51)}}, "at most 50"),
    ("aws:ec2/vpc:Vpc", {"tags": {"a": "x" * 257}}, "no tag's value"),
    ("aws:ec2/vpc:Vpc", {"region": "us-east"}, "no zone's name"),
    ("aws:ec2/subnet:Subnet", {"cidrBlock": "10.0.0.0/20"}, "VpcId: missing"),
    ("aws:ec2/subnet:Subnet", {"vpcId": "v-1"}, "no vpc-..."),
    ("aws:ec2/subnet:Subnet", {"availabilityZone": "us-east-2"}, "no zone's name"),
    ("aws:ec2/vpcEndpoint:VpcEndpoint", {"vpcEndpointType": "gateway"}, "is none of Interface"),
    ("aws:ec2/vpcEndpoint:VpcEndpoint", {"serviceName": "s3"}, "does not match"),
    ("aws:ec2/vpcEndpoint:VpcEndpoint", {"routeTableIds": ["rt-1"]}, "no rtb-..."),
    ("aws:ec2/vpcEndpoint:VpcEndpoint", {"policy": "{"}, "no JSON"),
    ("aws:ec2/flowLog:FlowLog", {"maxAggregationInterval": 30}, "is none of 60, 600"),
    ("aws:ec2/flowLog:FlowLog", {"iamRoleArn": "role"}, "no ARN"),
    ("aws:ec2/securityGroup:SecurityGroup", {"description": "a|b"}, "does not match"),
    ("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", {"ipProtocol": "all"}, "does not match"),
    ("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", {"fromPort": "443"}, "no integer"),
    ("aws:ec2/placementGroup:PlacementGroup", {"strategy": "packed"}, "is none of cluster"),
    ("aws:ec2/launchTemplate:LaunchTemplate", {"metadataOptions": {"httpTokens": "yes"}}, "is none of optional"),
    ("aws:ec2/launchTemplate:LaunchTemplate", {"metadataOptions": {"httpToken": "required"}}, "no such member"),
    ("aws:ec2/launchTemplate:LaunchTemplate", {"instanceType": "p5en.96xlarge"}, "is none of"),
    (
        "aws:ec2/launchTemplate:LaunchTemplate",
        {"networkInterfaces": [{"interfaceType": "efa-only", "networkCard": 1}]},
        "no such member",
    ),
    (
        "aws:ec2/launchTemplate:LaunchTemplate",
        {"blockDeviceMappings": [{"ebs": {"volumeType": "gp5"}}]},
        "is none of standard",
    ),
    (
        "aws:ec2/launchTemplate:LaunchTemplate",
        {"tagSpecifications": [{"resourceType": "instances", "tags": {}}]},
        "is none of",
    ),
    ("aws:eks/cluster:Cluster", {"version": "1.36.1"}, "does not match"),
    ("aws:eks/cluster:Cluster", {"name": "-c"}, "does not match"),
    ("aws:eks/cluster:Cluster", {"accessConfig": {"authenticationMode": "IAM"}}, "is none of API"),
    ("aws:eks/cluster:Cluster", {"enabledClusterLogTypes": ["apis"]}, "is none of api"),
    ("aws:eks/cluster:Cluster", {"roleArn": "r"}, "no ARN"),
    ("aws:eks/addon:Addon", {"addonVersion": "1.23.1"}, "does not match"),
    ("aws:eks/addon:Addon", {"configurationValues": "x: 1"}, "no JSON"),
    ("aws:eks/addon:Addon", {"resolveConflictsOnCreate": "PRESERVE"}, "is none of NONE"),
    ("aws:eks/addon:Addon", {"podIdentityAssociations": [{"roleArn": ROLE}]}, "serviceAccount: missing"),
    ("aws:eks/nodeGroup:NodeGroup", {"amiType": "AL2023"}, "is none of"),
    ("aws:eks/nodeGroup:NodeGroup", {"instanceTypes": ["m7i.huge"]}, "no instance type"),
    ("aws:eks/nodeGroup:NodeGroup", {"capacityType": "RESERVED"}, "is none of ON_DEMAND"),
    ("aws:eks/nodeGroup:NodeGroup", {"scalingConfig": {"minSize": -1}}, "below 0"),
    ("aws:eks/nodeGroup:NodeGroup", {"taints": [{"effect": "NoSchedule"}]}, "is none of NO_SCHEDULE"),
    ("aws:eks/nodeGroup:NodeGroup", {"clusterName": "c"}, "subnets: missing"),
    ("aws:eks/accessEntry:AccessEntry", {"type": "EC2_Linux"}, "is none of STANDARD"),
    ("aws:eks/accessEntry:AccessEntry", {"clusterName": "c"}, "principalArn: missing"),
    ("aws:eks/accessPolicyAssociation:AccessPolicyAssociation", {"accessScope": {"type": "all"}}, "is none of cluster"),
    ("aws:eks/accessPolicyAssociation:AccessPolicyAssociation", {"policyArn": "arn:aws:iam::aws:policy/X"}, "match"),
    ("aws:iam/role:Role", {"name": "r" * 65}, "above 64"),
    ("aws:iam/role:Role", {"name": "a b"}, "does not match"),
    ("aws:iam/role:Role", {"maxSessionDuration": 60}, "below 3600"),
    ("aws:iam/role:Role", {"name": "r"}, "AssumeRolePolicyDocument: missing"),
    ("aws:sqs/queue:Queue", {"messageRetentionSeconds": 30}, "outside 60-1209600"),
    ("aws:sqs/queue:Queue", {"name": "a.b"}, "does not match"),
    ("aws:sqs/queuePolicy:QueuePolicy", {"queueUrl": "c"}, "does not match"),
    ("aws:cloudwatch/eventRule:EventRule", {"eventPattern": "x"}, "no JSON"),
    ("aws:cloudwatch/eventRule:EventRule", {"state": "ON"}, "is none of ENABLED"),
    ("aws:cloudwatch/eventTarget:EventTarget", {"rule": "r"}, "Arn: missing"),
    ("aws:cloudwatch/logGroup:LogGroup", {"retentionInDays": 31}, "is none of"),
    ("aws:cloudwatch/logGroup:LogGroup", {"name": "a b"}, "does not match"),
    ("aws:kms/key:Key", {"deletionWindowInDays": 3}, "outside 7-30"),
    ("aws:kms/alias:Alias", {"name": "alias/x"}, "TargetKeyId: missing"),
    ("aws:s3/bucket:Bucket", {"bucket": "Models"}, "does not match"),
    ("aws:s3/bucket:Bucket", {"versioning": {"enabled": True}}, "no such member"),
    ("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", {"blockPublicAcls": "no"}, "no boolean"),
    ("aws:efs/fileSystem:FileSystem", {"throughputMode": "fast"}, "is none of bursting"),
    ("aws:fsx/lustreFileSystem:LustreFileSystem", {"deploymentType": "PERSISTENT_3"}, "is none of SCRATCH_1"),
    ("aws:fsx/lustreFileSystem:LustreFileSystem", {"perUnitStorageThroughput": 1}, "below"),
    ("eks:index:Cluster", {"publicAccessCidrs": ["10.0.0.1/8"]}, "host bits"),
    ("eks:index:Cluster", {"authenticationMode": "Api"}, "is none of API"),
    ("aws:rds/instance:Instance", {}, "is not mapped"),
]


@pytest.mark.parametrize(("token", "inputs", "said"), BAD, ids=[f"{t.split(':')[-1]}:{said}" for t, _, said in BAD])
def test_wrong_inputs_are_refused(token: str, inputs: Inputs, said: str) -> None:
    found = aws.validate(token, inputs)
    assert any(said in finding for finding in found), found


def test_names_that_pulumi_makes_up_must_fit() -> None:
    token = "aws:iam/role:Role"
    assert aws.name_findings(token, "r" * 56, {}) == []
    assert len(aws.name_findings(token, "r" * 57, {})) == 1
    assert aws.name_findings(token, "r" * 57, {"name": "short"}) == []
    assert aws.name_findings("aws:ec2/vpc:Vpc", "v" * 200, {}) == []


def policy(*statements: Inputs, version: str = "2012-10-17") -> str:
    return json.dumps({"Version": version, "Statement": [{"Effect": "Allow", **s} for s in statements]})


POD_TRUST = policy({"Principal": {"Service": "pods.eks.amazonaws.com"}, "Action": ["sts:AssumeRole", "sts:TagSession"]})
QUEUE = {
    "Principal": {"Service": "events.amazonaws.com"},
    "Action": "sqs:SendMessage",
    "Resource": "arn:aws:sqs:us-east-2:123456789012:c",
}
TLS_ONLY = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "sqs:*",
    "Resource": "arn:aws:sqs:us-east-2:123456789012:c",
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}
KEY_ROOT = {"Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "kms:*", "Resource": "*"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (POD_TRUST, iam.TRUST),
        (policy(QUEUE, TLS_ONLY), iam.RESOURCE),
        (policy(KEY_ROOT), iam.KEY),
        (policy({"Action": "ec2:DescribeInstances", "Resource": "*"}), iam.IDENTITY),
        (
            policy({"Action": "eks:DescribeCluster", "Resource": "arn:aws:eks:us-east-2:123456789012:cluster/c"}),
            iam.IDENTITY,
        ),
        (
            policy(
                {
                    "Action": "ec2:TerminateInstances",
                    "Resource": "*",
                    "Condition": {"StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/c": "owned"}},
                }
            ),
            iam.IDENTITY,
        ),
        (
            policy(
                {
                    "Action": "ec2:RunInstances",
                    "Resource": [
                        "arn:aws:ec2:us-east-2::image/*",
                        "arn:aws:ec2:us-east-2:*:subnet/*",
                        "arn:aws:ec2:us-east-2:*:security-group/*",
                    ],
                },
                {
                    "Action": "ec2:RunInstances",
                    "Resource": ["arn:aws:ec2:us-east-2:*:instance/*", "arn:aws:ec2:us-east-2:*:network-interface/*"],
                    "Condition": {"StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"}},
                },
            ),
            iam.IDENTITY,
        ),
        (
            policy({"Action": "ssm:GetParameter", "Resource": "arn:aws:ssm:us-east-2::parameter/aws/service/*"}),
            iam.IDENTITY,
        ),
        (UNKNOWN, iam.IDENTITY),
    ],
)
def test_narrow_policies_pass(text: str, kind: str) -> None:
    assert iam.validate(text, kind) == []


GET = {"Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("{", iam.IDENTITY, "no JSON"),
        ("[]", iam.IDENTITY, "no JSON object"),
        (policy(GET, version="2008-10-17"), iam.IDENTITY, "Version"),
        (json.dumps({"Version": "2012-10-17", "Statements": []}), iam.IDENTITY, "unknown keys"),
        (json.dumps({"Version": "2012-10-17", "Statement": []}), iam.IDENTITY, "none"),
        (policy({**GET, "Sid": "A"}, {**GET, "Sid": "A"}), iam.IDENTITY, "a second one"),
        (policy({**GET, "Effect": "Permit"}), iam.IDENTITY, "Effect"),
        (policy({"Action": "ec2:RunInstancez", "Resource": "*"}), iam.IDENTITY, "UNKNOWN_ACTION"),
        (policy({"Action": "ec3:RunInstances", "Resource": "*"}), iam.IDENTITY, "UNKNOWN_PREFIX"),
        (policy({"Action": "ec2:*", "Resource": "*"}), iam.IDENTITY, "is a wildcard"),
        (policy({"Action": "ec2:Describe*", "Resource": "*"}), iam.IDENTITY, "is a wildcard"),
        (policy({"Action": "*", "Resource": "*"}), iam.IDENTITY, "is a wildcard"),
        (policy({"NotAction": "iam:*", "Resource": "*"}), iam.IDENTITY, "everything but"),
        (policy({"Action": "ec2:TerminateInstances", "Resource": "*"}), iam.IDENTITY, "yet these take an ARN"),
        (
            policy({"Action": "s3:GetObject", "Resource": "arn:aws:s3:::b"}),
            iam.IDENTITY,
            "no statement lets s3:GetObject",
        ),
        (policy({**GET, "Condition": {"StringEquals": {"s3:nope": "x"}}}), iam.IDENTITY, "UNKNOWN_CONDITION"),
        (policy({**GET, "Condition": {"StringIs": {"aws:SourceAccount": "x"}}}), iam.IDENTITY, "UNKNOWN_OPERATOR"),
        (policy({**GET, "Principal": "*"}), iam.IDENTITY, "must be absent"),
        (policy({**GET, "Resource": "b/*"}), iam.IDENTITY, "INVALID_ARN"),
        (
            policy(*[{**GET, "Resource": f"arn:aws:s3:::{'b' * 50}{i}/*"} for i in range(60)]),
            iam.IDENTITY,
            "at most 6144",
        ),
        (policy({"Action": "sts:AssumeRole"}), iam.TRUST, "Principal: missing"),
        (policy({"Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}), iam.TRUST, "everyone"),
        (policy({"Principal": {"Service": "ec2"}, "Action": "sts:AssumeRole"}), iam.TRUST, "no service"),
        (
            policy({"Principal": {"Service": "ec2.amazonaws.com"}, "Action": "s3:GetObject"}),
            iam.TRUST,
            "no way to take on",
        ),
        (
            policy({"Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole", "Resource": "*"}),
            iam.TRUST,
            "a trust policy has none",
        ),
        (policy({**QUEUE, "Principal": "*"}), iam.RESOURCE, "everyone"),
        (policy({**QUEUE, "Action": "sqs:SendMessages"}), iam.RESOURCE, "UNKNOWN_ACTION"),
        (policy({**KEY_ROOT, "Principal": {"AWS": ROLE}}), iam.KEY, "is a wildcard"),
    ],
)
def test_wide_or_broken_policies_are_refused(text: str, kind: str, said: str) -> None:
    found = iam.validate(text, kind)
    assert any(said in finding for finding in found), found


def test_full_access_is_never_attached() -> None:
    assert iam.managed_policy_error("arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy") is None
    assert iam.managed_policy_error("arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy") is None
    assert iam.managed_policy_error(UNKNOWN) is None
    for name in ("AmazonS3FullAccess", "AdministratorAccess", "PowerUserAccess", "AmazonFSxFullAccess"):
        assert iam.managed_policy_error(f"arn:aws:iam::aws:policy/{name}")
    assert iam.managed_policy_error("AmazonEKS_CNI_Policy")


def test_every_place_of_a_policy_document_is_known() -> None:
    role = {"assumeRolePolicy": "{}", "inlinePolicies": [{"name": "n", "policy": "{}"}]}
    assert [kind for _, kind, _ in iam.documents("aws:iam/role:Role", role)] == [iam.TRUST, iam.IDENTITY]
    assert [kind for _, kind, _ in iam.documents("aws:kms/key:Key", {"policy": "{}"})] == [iam.KEY]
    assert list(iam.documents("aws:ec2/vpc:Vpc", {"policy": "{}"})) == []

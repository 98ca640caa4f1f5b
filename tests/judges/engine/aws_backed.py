"""Resource types that the simulated AWS really keeps, created through its API."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tests.judges.world.aws import SimulatedAws

Object = dict[str, Any]


class Backed(Protocol):
    """One resource type, kept by the simulated AWS."""

    def create(self, inputs: Object) -> tuple[str, Object]:
        """Create it; id and what AWS adds to the inputs."""

    def update(self, number: str, inputs: Object) -> None:
        """Bring it to the inputs."""

    def exists(self, number: str) -> bool:
        """Whether it is there."""

    def delete(self, number: str) -> None:
        """Delete it."""


@dataclass(frozen=True)
class Surroundings:
    """What the backed types need besides AWS: where the cluster really is, and who makes its system nodes."""

    aws: SimulatedAws
    endpoint: str
    authority: str
    nodes_wanted: Callable[[str, Object], None]
    nodes_gone: Callable[[str], None]


def _tags(inputs: Object) -> list[Object]:
    return [{"Key": key, "Value": value} for key, value in sorted(inputs.get("tags", {}).items())]


def _spec(kind: str, inputs: Object) -> list[Object]:
    return [{"ResourceType": kind, "Tags": _tags(inputs)}] if inputs.get("tags") else []


class _Ec2:
    """What the EC2 types share."""

    plural = ""
    key = ""
    filter = ""

    def __init__(self, around: Surroundings):
        self.around, self.ec2 = around, around.aws.client("ec2")

    def exists(self, number: str) -> bool:
        found = getattr(self.ec2, f"describe_{self.filter}")(Filters=[{"Name": self.key, "Values": [number]}])
        return bool(found[self.plural])

    def update(self, number: str, inputs: Object) -> None:
        if inputs.get("tags"):
            self.ec2.create_tags(Resources=[number], Tags=_tags(inputs))


class Vpc(_Ec2):
    """A VPC; its default security group and network ACL go with it."""

    plural, key, filter = "Vpcs", "vpc-id", "vpcs"

    def create(self, inputs: Object) -> tuple[str, Object]:
        made = self.ec2.create_vpc(CidrBlock=inputs["cidrBlock"], TagSpecifications=_spec("vpc", inputs))["Vpc"]
        number = made["VpcId"]
        group = self.ec2.describe_security_groups(Filters=[{"Name": "vpc-id", "Values": [number]}])["SecurityGroups"][0]
        table = self.ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [number]}])["RouteTables"][0]
        added = {"defaultSecurityGroupId": group["GroupId"], "mainRouteTableId": table["RouteTableId"]}
        return number, added | {"defaultRouteTableId": table["RouteTableId"]}

    def delete(self, number: str) -> None:
        self.ec2.delete_vpc(VpcId=number)


class Subnet(_Ec2):
    """A subnet."""

    plural, key, filter = "Subnets", "subnet-id", "subnets"

    def create(self, inputs: Object) -> tuple[str, Object]:
        made = self.ec2.create_subnet(
            VpcId=inputs["vpcId"],
            CidrBlock=inputs["cidrBlock"],
            AvailabilityZone=inputs["availabilityZone"],
            TagSpecifications=_spec("subnet", inputs),
        )["Subnet"]
        return made["SubnetId"], {"availabilityZoneId": made["AvailabilityZoneId"]}

    def delete(self, number: str) -> None:
        self.ec2.delete_subnet(SubnetId=number)


class SecurityGroup(_Ec2):
    """A security group; its rules are kept by the provider."""

    plural, key, filter = "SecurityGroups", "group-id", "security_groups"

    def create(self, inputs: Object) -> tuple[str, Object]:
        made = self.ec2.create_security_group(
            GroupName=inputs["name"],
            Description=inputs.get("description", "Managed by Pulumi"),
            VpcId=inputs["vpcId"],
            TagSpecifications=_spec("security-group", inputs),
        )
        return made["GroupId"], {"ownerId": "123456789012"}

    def delete(self, number: str) -> None:
        self.ec2.delete_security_group(GroupId=number)


class Tag(_Ec2):
    """One tag of an EC2 resource: ``id,key``."""

    def create(self, inputs: Object) -> tuple[str, Object]:
        self.ec2.create_tags(Resources=[inputs["resourceId"]], Tags=[{"Key": inputs["key"], "Value": inputs["value"]}])
        return f"{inputs['resourceId']},{inputs['key']}", {}

    def update(self, number: str, inputs: Object) -> None:
        self.create(inputs)

    def exists(self, number: str) -> bool:
        resource, key = number.split(",", 1)
        filters = [{"Name": "resource-id", "Values": [resource]}, {"Name": "key", "Values": [key]}]
        return bool(self.ec2.describe_tags(Filters=filters)["Tags"])

    def delete(self, number: str) -> None:
        resource, key = number.split(",", 1)
        self.ec2.delete_tags(Resources=[resource], Tags=[{"Key": key}])


class PlacementGroup(_Ec2):
    """A placement group, identified by its name."""

    def create(self, inputs: Object) -> tuple[str, Object]:
        made = self.ec2.create_placement_group(GroupName=inputs["name"], Strategy=inputs["strategy"])
        return inputs["name"], {"placementGroupId": made["PlacementGroup"]["GroupId"]}

    def update(self, number: str, inputs: Object) -> None:
        """Nothing but tags can change."""

    def exists(self, number: str) -> bool:
        return bool(self.ec2.describe_placement_groups(GroupNames=[number])["PlacementGroups"])

    def delete(self, number: str) -> None:
        self.ec2.delete_placement_group(GroupName=number)


class _Iam:
    """What the IAM types share."""

    def __init__(self, around: Surroundings):
        self.iam = around.aws.client("iam")


class Role(_Iam):
    """An IAM role; inline and attached policies are kept by the provider."""

    def create(self, inputs: Object) -> tuple[str, Object]:
        policy = inputs["assumeRolePolicy"]
        made = self.iam.create_role(
            RoleName=inputs["name"],
            AssumeRolePolicyDocument=policy if isinstance(policy, str) else json.dumps(policy),
            Path=inputs.get("path", "/"),
            Tags=_tags(inputs),
        )["Role"]
        return inputs["name"], {"arn": made["Arn"], "uniqueId": made["RoleId"]}

    def update(self, number: str, inputs: Object) -> None:
        self.iam.update_assume_role_policy(RoleName=number, PolicyDocument=inputs["assumeRolePolicy"])

    def exists(self, number: str) -> bool:
        try:
            self.iam.get_role(RoleName=number)
        except self.iam.exceptions.NoSuchEntityException:
            return False
        return True

    def delete(self, number: str) -> None:
        """As AWS's provider does it: the role leaves its instance profiles first, whoever made them."""
        for profile in self.iam.list_instance_profiles_for_role(RoleName=number)["InstanceProfiles"]:
            self.iam.remove_role_from_instance_profile(
                InstanceProfileName=profile["InstanceProfileName"], RoleName=number
            )
        self.iam.delete_role(RoleName=number)


class InstanceProfile(_Iam):
    """An instance profile with its role."""

    def create(self, inputs: Object) -> tuple[str, Object]:
        name = inputs["name"]
        path = inputs.get("path", "/")
        made = self.iam.create_instance_profile(InstanceProfileName=name, Path=path, Tags=_tags(inputs))
        if inputs.get("role"):
            self.iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=inputs["role"])
        return name, {"arn": made["InstanceProfile"]["Arn"]}

    def update(self, number: str, inputs: Object) -> None:
        """Nothing that the program changes."""

    def exists(self, number: str) -> bool:
        try:
            self.iam.get_instance_profile(InstanceProfileName=number)
        except self.iam.exceptions.NoSuchEntityException:
            return False
        return True

    def delete(self, number: str) -> None:
        for role in self.iam.get_instance_profile(InstanceProfileName=number)["InstanceProfile"]["Roles"]:
            self.iam.remove_role_from_instance_profile(InstanceProfileName=number, RoleName=role["RoleName"])
        self.iam.delete_instance_profile(InstanceProfileName=number)


class Queue:
    """An SQS queue, identified by its URL."""

    def __init__(self, around: Surroundings):
        self.sqs = around.aws.client("sqs")

    def create(self, inputs: Object) -> tuple[str, Object]:
        url = self.sqs.create_queue(QueueName=inputs["name"], tags=inputs.get("tags", {}))["QueueUrl"]
        arn = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        return url, {"arn": arn, "url": url}

    def update(self, number: str, inputs: Object) -> None:
        """Attributes are kept by the provider."""

    def exists(self, number: str) -> bool:
        return number in self.sqs.list_queues().get("QueueUrls", [])

    def delete(self, number: str) -> None:
        self.sqs.delete_queue(QueueUrl=number)


class Cluster:
    """An EKS cluster whose endpoint is the real API server of the world."""

    def __init__(self, around: Surroundings):
        self.around = around
        self._guarded: set[str] = set()
        self.eks, self.ec2 = around.aws.client("eks"), around.aws.client("ec2")

    def create(self, inputs: Object) -> tuple[str, Object]:
        name, network = inputs["name"], inputs["vpcConfig"]
        subnet = self.ec2.describe_subnets(SubnetIds=[network["subnetIds"][0]])["Subnets"][0]
        group = self.ec2.create_security_group(
            GroupName=f"eks-cluster-sg-{name}",
            Description="EKS created security group",
            VpcId=subnet["VpcId"],
            TagSpecifications=_spec("security-group", {"tags": {f"kubernetes.io/cluster/{name}": "owned"}}),
        )["GroupId"]
        self.eks.create_cluster(
            name=name,
            version=inputs.get("version", ""),
            roleArn=inputs["roleArn"],
            resourcesVpcConfig={"subnetIds": network["subnetIds"]},
            tags=inputs.get("tags", {}),
        )
        self.update(name, inputs)
        account = f"arn:aws:eks:{self.around.aws.region}:123456789012"
        return name, {
            "arn": f"{account}:cluster/{name}",
            "endpoint": self.around.endpoint,
            "certificateAuthority": {"data": self.around.authority},
            "certificateAuthorities": [{"data": self.around.authority}],
            "vpcConfig": network | {"clusterSecurityGroupId": group, "vpcId": subnet["VpcId"]},
            "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.{self.around.aws.region}.amazonaws.com/id/0"}]}],
            "status": "ACTIVE",
            "platformVersion": "eks.1",
        }

    def update(self, number: str, inputs: Object) -> None:
        """Deletion protection is honoured; version and logging are kept by the provider."""
        (self._guarded.add if inputs.get("deletionProtection") else self._guarded.discard)(number)

    def exists(self, number: str) -> bool:
        return number in self.eks.list_clusters()["clusters"]

    def delete(self, number: str) -> None:
        if number in self._guarded:
            raise ValueError(f"InvalidRequestException: deletion protection is enabled for cluster {number}")
        groups = self.ec2.describe_security_groups(
            Filters=[{"Name": "group-name", "Values": [f"eks-cluster-sg-{number}"]}]
        )["SecurityGroups"]
        self.eks.delete_cluster(name=number)
        for group in groups:
            self.ec2.delete_security_group(GroupId=group["GroupId"])


class NodeGroup:
    """A managed node group: its nodes join the world's control plane."""

    def __init__(self, around: Surroundings):
        self.around = around
        self._there: set[str] = set()

    def create(self, inputs: Object) -> tuple[str, Object]:
        number = f"{inputs['clusterName']}:{inputs['nodeGroupName']}"
        if number in self._there:
            raise ValueError(f"ResourceInUseException: NodeGroup already exists: {number}")
        self._there.add(number)
        self.around.nodes_wanted(number, inputs)
        return number, {"status": "ACTIVE", "resources": []}

    def update(self, number: str, inputs: Object) -> None:
        self.around.nodes_wanted(number, inputs)

    def exists(self, number: str) -> bool:
        return number in self._there

    def delete(self, number: str) -> None:
        self._there.discard(number)
        self.around.nodes_gone(number)


def backed_types(around: Surroundings) -> dict[str, Backed]:
    """Every backed type, by its token."""
    return {
        "aws:ec2/vpc:Vpc": Vpc(around),
        "aws:ec2/subnet:Subnet": Subnet(around),
        "aws:ec2/securityGroup:SecurityGroup": SecurityGroup(around),
        "aws:ec2/tag:Tag": Tag(around),
        "aws:ec2/placementGroup:PlacementGroup": PlacementGroup(around),
        "aws:iam/role:Role": Role(around),
        "aws:iam/instanceProfile:InstanceProfile": InstanceProfile(around),
        "aws:sqs/queue:Queue": Queue(around),
        "aws:eks/cluster:Cluster": Cluster(around),
        "aws:eks/nodeGroup:NodeGroup": NodeGroup(around),
    }

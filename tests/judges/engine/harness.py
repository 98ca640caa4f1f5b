"""World and engine together: one project, its providers, and the simulated region it is deployed to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.judges.world.joiner import system_node
from tests.judges.world.world import World

from .aws_backed import Surroundings
from .aws_provider import AwsProvider, serve_aws
from .cli import Pulumi, copy_project, end_plugins
from .eks_component import serve_eks
from .language import serve_language

Object = dict[str, Any]


class Harness:
    """Everything a ``pulumi up`` needs, in the world given.

    Attributes:
        aws: the provider, with what it keeps, its journal and its faults.
        pulumi: the command line.
    """

    def __init__(self, world: World, root: Path, folder: Path, stacks: Mapping[str, Object]):
        self.world = world
        plane = world.plane
        around = Surroundings(
            aws=world.aws,
            endpoint=plane.url,
            authority=plane.certificates.authority_base64,
            nodes_wanted=self._nodes_wanted,
            nodes_gone=self._nodes_gone,
        )
        self.aws: AwsProvider
        self.aws, aws = serve_aws(around)
        eks, language = serve_eks(), serve_language(world.logs / "program.log")
        self._served = [aws, eks, language]
        self.project = copy_project(root, folder / "project", stacks)
        self.pulumi = Pulumi(
            world.binaries,
            self.project,
            folder / "home",
            language=language.port,
            providers={"aws": aws.port, "eks": eks.port},
            token=plane.token,
        )

    def _nodes_wanted(self, group: str, inputs: Object) -> None:
        zones = {
            subnet["SubnetId"]: subnet["AvailabilityZone"]
            for subnet in self.world.aws.client("ec2").describe_subnets()["Subnets"]
        }
        subnets, kind = inputs["subnetIds"], inputs["instanceTypes"][0]
        count = int(inputs["scalingConfig"]["minSize"])
        for index in range(count):
            name = f"{group.replace(':', '-').lower()}-{index}"
            if self.world.kube.get("v1", "Node", name) is not None:
                continue
            labels = inputs.get("labels", {}) | {"eks.amazonaws.com/nodegroup": group.split(":")[1]}
            zone = zones[subnets[index % len(subnets)]]
            node = system_node(
                name, zone=zone, instance_type=kind, labels=labels | {"judges.headwater/group": name.rsplit("-", 1)[0]}
            )
            self.world.kube.create(node)
            self.world.kube.patch(node, {"status": node["status"]}, status=True)

    def _nodes_gone(self, group: str) -> None:
        label = f"judges.headwater/group={group.replace(':', '-').lower()}"
        for node in self.world.kube.list("v1", "Node", labels=label):
            self.world.kube.delete(node)

    def close(self) -> None:
        """Stop serving, and end what a killed command left behind."""
        end_plugins(self.pulumi.home)
        for served in self._served:
            served.close()

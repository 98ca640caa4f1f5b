"""The simulated AWS: moto's server with the gaps closed that this project meets.

Run as ``python -m tests.judges.world.aws_server PORT PRICES.json``. Closed gaps: node images by their SSM parameter,
placement groups and capacity reservations, fleets that buy the cheapest override and whose instances carry the launch
template's security groups. ``/judges/launches`` tells which launch template each instance came from;
``/judges/reservations`` takes a capacity reservation.
"""

import inspect
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

IMAGES = {
    ("x86_64", "standard"): "ami-0a2023ab000000001",
    ("x86_64", "nvidia"): "ami-0a2023ab000000002",
    ("arm64", "standard"): "ami-0a2023ab000000003",
}
_IMAGE_PARAMETER = re.compile(
    r"/aws/service/eks/optimized-ami/[\d.]+/amazon-linux-2023/(x86_64|arm64)/(standard|nvidia)/\S+/image_id"
)


def write_images(path: Path) -> None:
    """The node images as moto reads them."""
    images = [
        {
            "ami_id": image,
            "state": "available",
            "public": True,
            "owner_id": "602401143452",
            "image_location": "amazon/eks-node",
            "root_device_type": "ebs",
            "root_device_name": "/dev/xvda",
            "description": f"EKS node {variant}",
            "image_type": "machine",
            "platform": None,
            "architecture": architecture,
            "name": f"amazon-eks-node-al2023-{architecture}-{variant}",
            "virtualization_type": "hvm",
            "hypervisor": "xen",
            "sriov": "simple",
            "creation_date": "2026-07-14T00:00:00.000Z",
        }
        for (architecture, variant), image in IMAGES.items()
    ]
    path.write_text(json.dumps(images))


class World:
    """What the closed gaps remember."""

    def __init__(self, prices: dict[str, float]):
        self.prices = prices
        self.launches: dict[str, dict[str, Any]] = {}
        self.placement_groups: dict[str, dict[str, Any]] = {}
        self.reservations: dict[str, dict[str, Any]] = {}

    def free(self, reservation: dict[str, Any], ec2: Any) -> dict[str, Any]:
        """The reservation with the instances still free in it."""
        number = reservation["CapacityReservationId"]
        used = 0
        for instance, launch in self.launches.items():
            target = launch["data"].get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
            if target.get("CapacityReservationId") == number:
                used += any(item.id == instance and item.state == "running" for item in ec2.all_instances())
        return {**reservation, "AvailableInstanceCount": reservation["TotalInstanceCount"] - used}


def close_gaps(world: World) -> None:
    """Teach moto what it lacks."""
    from moto.core.responses import ActionResult, EmptyResult
    from moto.ec2.models.fleets import Fleet
    from moto.ec2.models.spot_requests import SpotFleetLaunchSpec
    from moto.ec2.responses import EC2Response
    from moto.iam.responses import IamResponse
    from moto.ssm.models import Parameter, ParameterDict

    known = ParameterDict._check_loading_status

    def image_parameter(self: Any, key: str) -> None:
        known(self, key)
        found = _IMAGE_PARAMETER.fullmatch(str(key))
        image = IMAGES.get(found.groups()) if found else None  # type: ignore[arg-type]
        if image and not dict.__contains__(self, key):
            parameter = Parameter(self.account_id, key, image, "String", None, None, None, 0, 1, data_type="text")
            dict.__setitem__(self, key, [parameter])

    ParameterDict._check_loading_status = image_parameter

    def cheapest(self: Any, weight: float) -> tuple[dict[SpotFleetLaunchSpec, int], float]:
        best = min(
            self.launch_specs, key=lambda spec: (world.prices.get(spec.instance_type, 1e9), spec.subnet_id or "")
        )
        return {best: int(weight)}, weight

    Fleet.get_launch_spec_counts = cheapest
    start = Fleet.__init__

    def launch(self: Any, ec2: Any, *args: Any, **kwargs: Any) -> None:
        start(self, ec2, *args, **kwargs)
        asked = inspect.signature(start).bind(self, ec2, *args, **kwargs).arguments["tag_specifications"]
        for item in self.on_demand_instances:
            instance, spec = item["instance"], item["launch_spec"]
            chosen = spec.launch_template_spec
            data = ec2.get_launch_template(chosen["LaunchTemplateId"]).get_version(int(chosen["Version"])).data
            interfaces = data.get("NetworkInterfaces", [])
            groups = next((part.get("Groups") for part in interfaces if part.get("Groups")), None)
            groups = groups or data.get("SecurityGroupIds", [])
            instance.security_groups = [ec2.get_security_group_from_id(group) for group in groups]
            for interface in instance.nics.values():
                interface._group_set = list(instance.security_groups)
            booked = data.get("CapacityReservationSpecification", {})
            instance.capacity_reservation_specification = booked  # Karpenter reads both for as long as the node lives
            instance.capacity_reservation_id = booked.get("CapacityReservationTarget", {}).get("CapacityReservationId")
            tags = [*data.get("TagSpecifications", []), *(asked or [])]
            world.launches[instance.id] = {
                "template": chosen,
                "data": data,
                "tags": tags,
                "override": spec.overrides or {},
            }

    Fleet.__init__ = launch

    def named(tags: Any) -> list[dict[str, str]]:
        return [tag for spec in tags or [] for tag in spec.get("Tags", [])]

    def create_placement_group(self: Any) -> Any:
        name = self._get_param("GroupName")
        group = {
            "GroupName": name,
            "State": "available",
            "Strategy": self._get_param("Strategy", "cluster"),
            "GroupId": f"pg-{len(world.placement_groups) + 1:017x}",
            "Tags": named(self._get_param("TagSpecifications", [])),
        }
        world.placement_groups[name] = group
        return ActionResult({"PlacementGroup": group})

    def delete_placement_group(self: Any) -> Any:
        world.placement_groups.pop(self._get_param("GroupName"), None)
        return EmptyResult()

    def describe_placement_groups(self: Any) -> Any:
        names = self._get_param("GroupNames", []) or self._get_param("GroupName", [])
        ids = self._get_param("GroupIds", []) or self._get_param("GroupId", [])
        groups = [
            group
            for group in world.placement_groups.values()
            if (not names or group["GroupName"] in names) and (not ids or group["GroupId"] in ids)
        ]
        return ActionResult({"PlacementGroups": groups})

    def describe_capacity_reservations(self: Any) -> Any:
        asked = self._get_param("CapacityReservationIds", [])
        chosen = [item for key, item in world.reservations.items() if not asked or key in asked]
        return ActionResult({"CapacityReservations": [world.free(item, self.ec2_backend) for item in chosen]})

    def list_instance_profiles(self: Any) -> Any:
        prefix = self._get_param("PathPrefix") or "/"
        found = [item for item in self.backend.get_instance_profiles() if item.path.startswith(prefix)]
        return ActionResult({"InstanceProfiles": found})

    IamResponse.list_instance_profiles = list_instance_profiles
    for action in (
        create_placement_group,
        delete_placement_group,
        describe_placement_groups,
        describe_capacity_reservations,
    ):
        setattr(EC2Response, action.__name__, action)


class Front:
    """The WSGI application: ours under ``/judges/``, moto's for the rest."""

    def __init__(self, world: World, behind: Callable[..., Iterable[bytes]]):
        self.world, self.behind = world, behind

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if environ.get("HTTP_X_AMZ_TARGET") == "AWSPriceListService.GetProducts":
            start_response("200 OK", [("Content-Type", "application/x-amz-json-1.1")])
            return [json.dumps({"FormatVersion": "aws_v1", "PriceList": self._price_list()}).encode()]
        if not path.startswith("/judges/"):
            return self.behind(environ, start_response)
        size = int(environ.get("CONTENT_LENGTH") or 0)
        body = json.loads(environ["wsgi.input"].read(size)) if size else None
        if path == "/judges/reservations" and body:
            self.world.reservations[body["CapacityReservationId"]] = body
        answer = {
            "/judges/launches": self.world.launches,
            "/judges/placement-groups": self.world.placement_groups,
            "/judges/reservations": self.world.reservations,
        }.get(path)
        start_response("200 OK" if answer is not None else "404 Not Found", [("Content-Type", "application/json")])
        return [json.dumps(answer, default=str).encode()]

    def _price_list(self) -> list[str]:
        """Every price in the form of AWS's price list."""
        return [
            json.dumps(
                {
                    "product": {"attributes": {"instanceType": name}},
                    "terms": {"OnDemand": {name: {"priceDimensions": {name: {"pricePerUnit": {"USD": f"{price}"}}}}}},
                }
            )
            for name, price in sorted(self.world.prices.items())
        ]


def main(port: int, prices: Path) -> None:
    """Serve until killed."""
    with tempfile.NamedTemporaryFile(suffix=".json", delete=False) as images:
        pass
    write_images(Path(images.name))
    os.environ["MOTO_AMIS_PATH"] = images.name
    os.environ["MOTO_PORT"] = str(port)
    os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import run_simple

    world = World(json.loads(prices.read_text()))
    close_gaps(world)
    Path(images.name).unlink(missing_ok=True)
    front = Front(world, DomainDispatcherApplication(create_backend_app))
    run_simple("127.0.0.1", port, front, threaded=True, request_handler=MotoRequestHandler)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))

"""The simulated AWS as the tests see it: started, asked and told through the AWS SDK."""

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

from .daemon import Daemon, free_port, port_is_free

ACCOUNT = "123456789012"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "simulated", "AWS_SECRET_ACCESS_KEY": "simulated"}


class SimulatedAws:
    """A moto server in a process of its own, in one region."""

    def __init__(self, region: str, folder: Path, logs: Path, *, prices: dict[str, float], root: Path):
        self.region = region
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._clients: dict[str, Any] = {}
        price_file = folder / "prices.json"
        price_file.write_text(json.dumps(prices))
        command: list[str | Path] = [sys.executable, "-m", "tests.judges.world.aws_server", str(self.port), price_file]
        self.daemon = Daemon(
            "aws", command, logs=logs, env={**CREDENTIALS, "PYTHONPATH": str(root), "AWS_DEFAULT_REGION": region}
        )
        self.daemon.ready(lambda: not port_is_free(self.port), seconds=180)

    @property
    def env(self) -> dict[str, str]:
        """The environment of a program that talks to this AWS."""
        return {**CREDENTIALS, "AWS_REGION": self.region, "AWS_ENDPOINT_URL": self.url}

    def client(self, service: str) -> Any:
        """A boto3 client of the service."""
        if service not in self._clients:
            import boto3

            self._clients[service] = boto3.client(
                service,
                region_name=self.region,
                endpoint_url=self.url,
                aws_access_key_id="simulated",
                aws_secret_access_key="simulated",
            )
        return self._clients[service]

    def _ask(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/judges/{path}", data=data)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def launches(self) -> dict[str, dict[str, Any]]:
        """By instance ever launched: the launch template, its data, the tags asked for, and the override bought."""
        found: dict[str, dict[str, Any]] = self._ask("launches")
        return found

    def reserve(self, number: str, instance_type: str, zone: str, count: int) -> None:
        """There is a targeted capacity reservation for ``count`` instances."""
        self._ask(
            "reservations",
            {
                "CapacityReservationId": number,
                "OwnerId": ACCOUNT,
                "InstanceType": instance_type,
                "InstancePlatform": "Linux/UNIX",
                "AvailabilityZone": zone,
                "Tenancy": "default",
                "TotalInstanceCount": count,
                "State": "active",
                "InstanceMatchCriteria": "targeted",
                "ReservationType": "default",
            },
        )

    def instances(self) -> list[dict[str, Any]]:
        """Instances that are not terminated."""
        pages = self.client("ec2").get_paginator("describe_instances").paginate()
        return [
            instance
            for page in pages
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
            if instance["State"]["Name"] not in {"terminated", "shutting-down"}
        ]

    def close(self) -> None:
        """End the server."""
        for client in self._clients.values():
            client.close()
        self.daemon.stop()

"""Every choice of the platform's settings, before all judges: AWS, IAM, the API server, custom resources, Helm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.preview.engine import evaluate
from tests.conftest import ROOT
from tests.platform.world import GROUP, PART, World, config, with_capacity
from tests.validators.graph import validate_graph

EXISTING = {
    "vpc": "vpc-0123456789abcdef0",
    "subnets": {
        "system": ["subnet-0aaaaaaaaaaaaaaa1", "subnet-0aaaaaaaaaaaaaaa2"],
        "gpu": {"us-east-2a": "subnet-0bbbbbbbbbbbbbbb1", "us-east-2b": "subnet-0bbbbbbbbbbbbbbb2"},
    },
}
CLOSED = {
    "network": {"endpoints": "isolated", "zones": 2},
    "mirror": {
        "images": "123456789012.dkr.ecr.us-east-2.amazonaws.com/mirror",
        "charts": "oci://123456789012.dkr.ecr.us-east-2.amazonaws.com/charts",
        "manifests": "https://manifests.internal.example.com/crds",
    },
    "weights": {"mirror": "s3://models/weights"},
    "huggingFace": {"secretArn": "arn:aws:secretsmanager:us-east-2:123456789012:secret:hub-AbC123"},
    "gateway": {"exposure": "internal"},
}
RESERVATION = {"id": "cr-0123456789abcdef0", "zone": "us-east-2a", "instances": 2}
VARIANTS: dict[str, dict[str, Any]] = {
    "part": PART,
    "group": GROUP,
    "public endpoint": config(PART, cluster={"endpoint": {"public": ["203.0.113.0/24"]}}),
    "deploy role": config(
        PART, cluster={"deployRole": "arn:aws:iam::123456789012:role/deploy", "account": "123456789012"}
    ),
    "existing network": config(PART, network=EXISTING),
    "existing cluster": config(PART, network=EXISTING, cluster={"existing": "shared"}),
    "closed": config(GROUP, **CLOSED),
    "elastic files": config(GROUP, weights={"cache": "efs"}),
    "closed, elastic files": config(GROUP, **{**CLOSED, "weights": {**CLOSED["weights"], "cache": "efs"}}),
    "lustre": config(
        GROUP, weights={"cache": "fsx"}, capacity={"h100": {"zones": ["us-east-2b"]}, "h200": {"zones": ["us-east-2b"]}}
    ),
    "unobserved": config(PART, observability={"enabled": False}),
    "no grafana": config(PART, observability={"grafana": False}),
    "warm": with_capacity(GROUP, h100={"instances": ["p5.48xlarge"], "warm": 1}),
    "warm and reserved": with_capacity(
        GROUP,
        h100={"instances": ["p5.48xlarge"], "warm": 2, "buy": ["reserved", "onDemand"], "reservations": [RESERVATION]},
    ),
    "spot": with_capacity(PART, h100={"buy": ["spot"]}),
    "narrow": config(PART, network={"cidr": "10.9.0.0/18", "nat": "perZone", "flowLogs": False}),
    "four zones": {**config(PART, network={"zones": 4}), "aws:region": "us-west-2"},
    "refused zones": {**PART, "aws:region": "us-east-1"},
    "government": {**config(PART, gateway={"exposure": "internal"}), "aws:region": "us-gov-west-1"},
    "token": config(PART, huggingFace={"token": "hf_MARKER"}),
    "preflight": config(PART, cluster={"preflight": True}),
    "tags": config(PART, tags={"team": "inference", "cost-center": "42"}),
}


@pytest.mark.parametrize("known", [False, True], ids=["preview", "after up"])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_judges_find_nothing(shared: Path, name: str, known: bool) -> None:
    found = validate_graph(World(VARIANTS[name], known=known).graph, shared)
    assert found == [], "\n" + "\n".join(found)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_aws_resource_has_our_provider_and_every_object_the_clusters(name: str) -> None:
    world = World(VARIANTS[name])
    aws = {r.provider for r in world.resources if r.custom and r.package == "aws" and not r.is_provider}
    objects = {r.provider for r in world.resources if r.custom and r.package == "kubernetes" and not r.is_provider}
    assert {urn.rpartition("::")[2] for urn in aws} == {"platform-aws"}
    assert {urn.rpartition("::")[2] for urn in objects} == {"platform-kubernetes"}


@pytest.mark.graph
def test_prod_previewed_twice_is_the_same_bytes() -> None:
    first, second = (json.dumps(evaluate(ROOT / "stacks" / "Pulumi.prod.yaml", ROOT).to_json()) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", ["group", "closed", "warm and reserved"])
def test_two_previews_are_the_same_bytes(name: str) -> None:
    from tests.platform.world import _graph

    first = World(VARIANTS[name]).graph.to_json()
    _graph.cache_clear()
    assert World(VARIANTS[name]).graph.to_json() == first

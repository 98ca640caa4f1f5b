"""The shipped stacks as a closed network would run them: stand-in charts and CRD bundles in a folder, list prices."""

from pathlib import Path
from typing import Any

import yaml

from headwater.catalog.instances import load_instances
from headwater.catalog.prices import any_price, on_demand
from headwater.catalog.releases import bundles, charts

from .world.bundles import write_bundles
from .world.charts import write_charts

STACKS = ("dev", "staging", "prod")
REGION = "us-east-2"
WORLD = ("etcd", "kubernetes", "kwok", "lws", "karpenter-aws", "pulumi", "pulumi-kubernetes")
"""The judges that a simulated world and its engine are made of."""


def write_mirror(folder: Path, shared: Path) -> dict[str, Any]:
    """The setting ``headwater:mirror``, and what it points to."""
    return {
        "charts": str(write_charts(folder / "charts", charts(), shared / "crds")),
        "manifests": str(write_bundles(folder / "manifests", bundles(), shared / "crds")),
    }


def shipped(root: Path, mirror: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The shipped stacks' configuration, by stack."""
    found = {}
    for stack in STACKS:
        config = yaml.safe_load((root / "stacks" / f"Pulumi.{stack}.yaml").read_text())["config"]
        found[stack] = config | {"headwater:mirror": mirror}
    return found


def list_prices() -> dict[str, float]:
    """What the simulated EC2 prefers: list prices of the catalogue, $/h."""
    return {name: on_demand(REGION, name) or any_price(name) for name in load_instances()}

"""Rendered manifests kept beside the tests: a change of what reaches a cluster shows up in a review.

Rewrite them with ``python -m tests.llmd.golden`` and read the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.llmd.cases import ACCELERATORS, ALL, CASES, VARIANTS
from tests.llmd.world import World, world

FOLDER = Path(__file__).parent / "golden"
NAMES = sorted([f"{case}-{gpu}" for case in CASES for gpu in ACCELERATORS] + [f"{case}-h100" for case in VARIANTS])


class _Dumper(yaml.SafeDumper):
    """Long text as blocks, no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def made(name: str) -> World:
    """The world of a golden file."""
    case, _, accelerator = name.rpartition("-")
    return world(ALL[case](accelerator))


WHOLE = ("prefix-h100", "several-models-h100", "agentgateway-h100", "public-h100")
"""Cases shown with the Gateway and all that does not depend on the path; the others show the models' own objects."""
COMMON = ("serving-gateway-", "serving-alerts", "serving-default-deny", "serving-identity", "serving-inference-gateway")


def text(name: str) -> str:
    """Objects of a case, one document each, in a fixed order. The dashboard has its own tests."""
    documents = []
    for resource in sorted(made(name).resources, key=lambda r: (r.kind, r.name)):
        if resource.name == "serving-dashboard" or (name not in WHOLE and resource.name.startswith(COMMON)):
            continue
        documents.append({"resource": resource.name, "kind": resource.kind, **resource.inputs})
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=True, width=120)


def main() -> None:
    """Rewrite every file."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.yaml"):
        path.unlink()
    for name in NAMES:
        (FOLDER / f"{name}.yaml").write_text(text(name), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Rendered manifests kept beside the tests: a change of what reaches a cluster shows up in a review.

Rewrite them with ``python -m tests.dynamo.golden`` and read the difference.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.dynamo.shapes import ACCELERATORS, ALL, CASES, VARIANTS, world
from tests.llmd.golden import _Dumper

FOLDER = Path(__file__).parent / "golden"
NAMES = sorted([f"{case}-{gpu}" for case in CASES for gpu in ACCELERATORS] + [f"{case}-h100" for case in VARIANTS])


def text(name: str) -> str:
    """Objects of a case, one document each, in a fixed order. The Gateway itself is llm-d's, which has its own."""
    case, _, accelerator = name.rpartition("-")
    made = world(ALL[case](accelerator))
    documents = [
        {"resource": resource.name, "kind": resource.kind, **resource.inputs}
        for resource in sorted(made.resources, key=lambda r: (r.kind, r.name))
        if not resource.name.startswith(("serving-gateway", "serving-dashboard"))
    ]
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

"""CRD bundles as upstream publishes them, by the file names a mirror has, written from the reference data."""

from pathlib import Path

import yaml

from headwater.catalog.releases import Bundle

from .charts import served_offline
from .controlplane import crds_of

GROUPS: dict[str, tuple[str, ...]] = {
    "gateway-api": ("gateway.networking.k8s.io",),
    "inference-extension": ("inference.networking.k8s.io",),
    "llm-d-router": ("inference.networking.x-k8s.io", "llm-d.ai"),
}
"""API groups in each bundle."""


def write_bundles(folder: Path, bundles: dict[str, Bundle], crds: Path) -> Path:
    """Write every bundle into the folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    known = [served_offline(crd) for crd in crds_of(crds)]
    for name, bundle in sorted(bundles.items()):
        chosen = [crd for crd in known if crd["spec"]["group"] in GROUPS.get(name, (name,))]
        (folder / bundle.file).write_text(yaml.safe_dump_all(chosen))
    return folder

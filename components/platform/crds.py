"""CustomResourceDefinitions that no chart brings: Gateway API and the inference extension.

The project holds no copy of them. ``yaml.v2.ConfigFile`` reads upstream's release file (or the mirror's copy of it,
``<name>-<version>.yaml``) when the cluster is reached, and applies each definition server-side: they are too large for
the annotation that a client-side apply would leave. Before there is a cluster a preview shows the file, not its parts.
Both serving stacks can stand behind a Gateway, so both find the definitions here, and switching between them changes
nothing in the platform.
"""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_kubernetes as k8s

from headwater.catalog.releases import Bundle, bundles
from headwater.settings import Mirror

PLATFORM_BUNDLES = ("gateway-api", "inference-extension")


def bundle_file(bundle: Bundle, mirror: Mirror) -> str:
    """Address or path of a bundle: upstream's, or the same file under the mirror."""
    return bundle.url if mirror.manifests is None else f"{mirror.manifests.rstrip('/')}/{bundle.file}"


def crd_bundle(name: str, key: str, *, mirror: Mirror, opts: pulumi.ResourceOptions) -> k8s.yaml.v2.ConfigFile:
    """Apply a bundle of the catalogue.

    Args:
        name: logical name; the definitions are named after it.
        key: the bundle's name in the catalogue.
        mirror: the stack file's mirror.
        opts: parent, provider, dependencies.

    Raises:
        KeyError: the catalogue has no such bundle.
    """
    return k8s.yaml.v2.ConfigFile(name, file=bundle_file(bundles()[key], mirror), opts=opts)


class Definitions(pulumi.ComponentResource):
    """The bundles both serving stacks build on."""

    bundles: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        mirror: Mirror,
        kubernetes: k8s.Provider,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("headwater:platform:Definitions", name, {}, opts)
        options = pulumi.ResourceOptions(parent=self, providers=[kubernetes], depends_on=after)
        self.bundles = tuple(crd_bundle(f"{name}-{key}", key, mirror=mirror, opts=options) for key in PLATFORM_BUNDLES)
        self.register_outputs({})

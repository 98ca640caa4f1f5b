"""Make Kubernetes objects below one component, all in the models' namespace and after the same things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pulumi
import pulumi_kubernetes as k8s

from components.platform.model import PlatformRefs


class Kind(NamedTuple):
    """API version and kind of a custom object."""

    api: str
    kind: str


POD_MONITOR = Kind("monitoring.coreos.com/v1", "PodMonitor")
PROMETHEUS_RULE = Kind("monitoring.coreos.com/v1", "PrometheusRule")
SCALED_OBJECT = Kind("keda.sh/v1alpha1", "ScaledObject")


@dataclass(frozen=True)
class Objects:
    """Where objects are made.

    Attributes:
        prefix: of every logical name.
        parent: the component they belong to.
        platform: provider and namespace.
        after: what must exist first.
        labels: of every object.
    """

    prefix: str
    parent: pulumi.Resource
    platform: PlatformRefs
    after: Sequence[pulumi.Resource]
    labels: Mapping[str, str] = field(default_factory=dict)

    def metadata(self, name: str, annotations: Mapping[str, str] | None = None) -> Any:
        """Metadata of a namespaced object."""
        found: dict[str, Any] = {"name": name, "namespace": self.platform.namespace}
        if self.labels:
            found["labels"] = dict(self.labels)
        if annotations:
            found["annotations"] = dict(annotations)
        return found

    def custom(
        self,
        logical: str,
        kind: Kind,
        metadata: Any,
        spec: Mapping[str, Any],
        *,
        after: Sequence[pulumi.Resource] = (),
        ignore: Sequence[str] = (),
        replace: Sequence[str] = (),
    ) -> k8s.apiextensions.CustomResource:
        """A custom object.

        Args:
            logical: name after the prefix.
            kind: of the object.
            metadata: from :meth:`metadata`, or its own.
            spec: in Kubernetes' spelling.
            after: more that must exist first.
            ignore: properties something else sets.
            replace: properties that cannot change in place; the old object goes before the new one comes.
        """
        return k8s.apiextensions.CustomResource(
            f"{self.prefix}-{logical}",
            api_version=kind.api,
            kind=kind.kind,
            metadata=metadata,
            spec=dict(spec),
            opts=self.options(after, ignore, replace),
        )

    def options(
        self,
        after: Sequence[pulumi.Resource] = (),
        ignore: Sequence[str] = (),
        replace: Sequence[str] = (),
    ) -> pulumi.ResourceOptions:
        """Options of a child."""
        return pulumi.ResourceOptions(
            parent=self.parent,
            provider=self.platform.kubernetes,
            depends_on=[*self.after, *after],
            ignore_changes=list(ignore) or None,
            replace_on_changes=list(replace) or None,
            delete_before_replace=True if replace else None,
        )

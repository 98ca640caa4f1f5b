"""Every Helm release of the project goes through here: the pinned chart, or the same chart from the mirror."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.platform.site import Site
from headwater.catalog.releases import Chart, charts
from headwater.settings import Mirror

CHART_TIMEOUT_SECONDS = 900
"""How long Helm waits for a chart's objects; its default of 300 s is short for operators that pull large images."""


def release(
    name: str,
    chart_key: str,
    values: Mapping[str, Any],
    *,
    mirror: Mirror,
    opts: pulumi.ResourceOptions,
    release_name: str | None = None,
    version: str | None = None,
    namespace: pulumi.Input[str] | None = None,
    skip_crds: bool = False,
    disable_openapi_validation: bool = False,
    timeout: int = CHART_TIMEOUT_SECONDS,
) -> k8s.helm.v3.Release:
    """Install a chart of the catalogue at its pinned version under a fixed release name.

    The namespace must exist: one that Helm makes is left behind when the release goes.

    Args:
        name: logical name of the resource.
        chart_key: the chart's name in the catalogue.
        values: what differs from the chart's defaults. Never a secret: the whole map would become unreadable in diffs,
            and Helm keeps it in the cluster.
        mirror: the stack file's mirror; moves the chart and its images.
        opts: parent, provider, dependencies.
        release_name: instead of the catalogue's, for a chart that is installed several times.
        version: another release of the same chart than the catalogue's.
        namespace: instead of the catalogue's.
        skip_crds: leave out the chart's ``crds/`` folder, where another resource owns those definitions.
        disable_openapi_validation: for charts whose hooks create the kinds they then use.
        timeout: seconds Helm waits for the objects to become ready.

    Raises:
        KeyError: the catalogue has no such chart.
    """
    chart = charts()[chart_key] if version is None else charts()[chart_key].at(version)
    location, repository = chart_location(chart, mirror)
    return k8s.helm.v3.Release(
        name,
        name=release_name or chart.release,
        chart=location,
        version=chart.version,
        repository_opts=None if repository is None else k8s.helm.v3.RepositoryOptsArgs(repo=repository),
        namespace=chart.namespace if namespace is None else namespace,
        create_namespace=False,
        values=merge(values, mirrored_values(chart, mirror)),
        skip_crds=skip_crds or None,
        disable_openapi_validation=disable_openapi_validation or None,
        timeout=timeout,
        opts=opts,
    )


def platform_release(
    name: str,
    chart_key: str,
    values: Mapping[str, Any],
    *,
    site: Site,
    kubernetes: k8s.Provider,
    parent: pulumi.Resource,
    after: Sequence[pulumi.Resource],
    skip_crds: bool = False,
    disable_openapi_validation: bool = False,
) -> k8s.helm.v3.Release:
    """As :func:`release`, for a chart of the platform: below ``parent``, after ``after``."""
    return release(
        name,
        chart_key,
        values,
        mirror=site.plan.settings.mirror,
        skip_crds=skip_crds,
        disable_openapi_validation=disable_openapi_validation,
        opts=pulumi.ResourceOptions(parent=parent, provider=kubernetes, depends_on=after),
    )


def chart_location(chart: Chart, mirror: Mirror) -> tuple[str, str | None]:
    """Where Helm takes a chart from, and its classic repository when it has one.

    A mirror is an ``oci://`` registry, or a folder of unpacked charts as ``helm pull --untar`` leaves them; both hold
    each chart under its own name.
    """
    if mirror.charts is None:
        return chart.chart, chart.repository
    return f"{mirror.charts.rstrip('/')}/{chart.short}", None


def mirrored_values(chart: Chart, mirror: Mirror) -> dict[str, Any]:
    """Chart values that move its images to the mirror; empty without one."""
    if mirror.images is None:
        return {}
    tree: dict[str, Any] = {}
    for path, template in sorted(chart.mirror_values.items()):
        *parents, leaf = path.split(".")
        node = tree
        for part in parents:
            node = node.setdefault(part, {})
        node[leaf] = template.replace("{mirror}", mirror.images.rstrip("/"))
    return tree


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``over`` laid upon it, maps key by key; neither is changed."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result

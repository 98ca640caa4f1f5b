"""The compatibility file: every chart, image, CRD bundle, add-on and Kubernetes version, pinned together."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

from pydantic import BaseModel, ConfigDict

from headwater.catalog.source import load_yaml


class Pinned(BaseModel):
    """A frozen, dated pin. ``note`` says what is not verified."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    as_of: dt.date
    note: str = ""


class Chart(Pinned):
    """A Helm chart.

    Attributes:
        chart: chart name (with ``repository``), ``oci://`` reference or archive URL.
        repository: classic repository URL; None for OCI and archives.
        version: exact chart version.
        namespace: where it is installed.
        release: fixed release name.
        mirror_values: chart values, by dotted path, that move its images to a mirror; ``{mirror}`` stands for it.
    """

    name: str
    chart: str
    repository: str | None = None
    version: str
    namespace: str
    release: str
    mirror_values: dict[str, str] = {}

    @property
    def short(self) -> str:
        """The chart's own name, for mirrors: the last part of its reference without archive suffix."""
        return self.chart.rsplit("/", 1)[-1].removesuffix(f"-{self.version}.tgz")

    def at(self, version: str) -> Chart:
        """The same chart at another version, its archive's address included."""
        return self.model_copy(update={"version": version, "chart": self.chart.replace(self.version, version)})


class Image(Pinned):
    """A container image by exact tag (and digest where it is known)."""

    name: str
    repository: str
    tag: str
    digest: str | None = None

    def reference(self, mirror: str | None = None) -> str:
        """``registry/path:tag[@digest]``; with a mirror, its host and prefix replace the registry."""
        repository = self.repository
        if mirror is not None:
            repository = f"{mirror.rstrip('/')}/{repository.split('/', 1)[1]}"
        return f"{repository}:{self.tag}" + (f"@{self.digest}" if self.digest else "")


class Bundle(Pinned):
    """A file of CustomResourceDefinitions upstream publishes at a fixed address."""

    name: str
    version: str
    url: str

    @property
    def file(self) -> str:
        """File name under a mirror: ``<name>-<version>.yaml``."""
        return f"{self.name}-{self.version}.yaml"


class Kubernetes(Pinned):
    """A Kubernetes minor version on EKS, with the add-on versions pinned for it.

    Attributes:
        standard_until: end of standard support; None when not announced.
        ami: pinned alias of the AL2023 AMI for Karpenter.
        node_release: AMI release of the managed node group.
        addons: add-on name to version.
    """

    version: str
    standard_until: dt.date | None = None
    ami: str
    node_release: str
    addons: dict[str, str]


class Engine(Pinned):
    """The inference engine a serving stack ships.

    Attributes:
        vllm: vLLM version.
        image: name of the image on nodes without EFA; ``efa_image`` where EFA is used.
    """

    vllm: str
    image: str
    efa_image: str


def _entries(section: str) -> dict[str, dict[str, object]]:
    entries: dict[str, dict[str, object]] = load_yaml("releases")[section]
    return entries


@lru_cache(maxsize=1)
def charts() -> dict[str, Chart]:
    """Every chart, by the name components use."""
    return {name: Chart.model_validate({"name": name, **entry}) for name, entry in _entries("charts").items()}


@lru_cache(maxsize=1)
def images() -> dict[str, Image]:
    """Every image, by the name components use."""
    return {name: Image.model_validate({"name": name, **entry}) for name, entry in _entries("images").items()}


@lru_cache(maxsize=1)
def bundles() -> dict[str, Bundle]:
    """Every CRD bundle, by name."""
    return {name: Bundle.model_validate({"name": name, **entry}) for name, entry in _entries("bundles").items()}


@lru_cache(maxsize=1)
def kubernetes_versions() -> dict[str, Kubernetes]:
    """Every Kubernetes version we deploy, by minor version."""
    return {v: Kubernetes.model_validate({"version": v, **entry}) for v, entry in _entries("kubernetes").items()}


@lru_cache(maxsize=1)
def engines() -> dict[str, Engine]:
    """The engine of each serving stack: ``llm-d`` and ``dynamo``."""
    return {name: Engine.model_validate(entry) for name, entry in _entries("engines").items()}


def default_kubernetes() -> str:
    """The minor version a new cluster gets."""
    return str(load_yaml("releases")["default_kubernetes"])


def pinned_ami(kubernetes: str) -> str:
    """Alias of the node image for a minor version; one release of it has an image for each version EKS supports."""
    known = kubernetes_versions()
    return known.get(kubernetes, known[default_kubernetes()]).ami

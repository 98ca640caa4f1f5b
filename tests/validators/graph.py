"""A whole resource graph before the judges: AWS inputs, policies, Kubernetes objects, custom resources, Helm values."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from tests.validators import aws, crds, helm, iam, kubernetes, metadata, queries, references, shapes
from tests.validators.unknown import is_unknown

OWN = frozenset({"pulumi", "headwater"})
HOLLOW = frozenset({"eks:index:ServiceRole"})  # components with no inputs of their own
# Custom kinds whose CRDs the reference data does not hold: only their metadata can be judged.
NO_CRD = frozenset(
    {"gateway.envoyproxy.io", "aigateway.envoyproxy.io", "agentgateway.dev", "external-secrets.io", "elbv2.k8s.aws"}
)
# Operators that complete the pods of their custom resources: image, probes and volumes may be absent.
COMPLETES_PODS = frozenset({"nvidia.com", "grove.io"})


class ResourceLike(Protocol):
    """What the judges read of a resource."""

    @property
    def urn(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> Mapping[str, Any]: ...


class GraphLike(Protocol):
    """What the judges read of a graph."""

    @property
    def resources(self) -> Iterable[ResourceLike]: ...


@dataclass(frozen=True)
class Judges:
    """The judges that need reference data, read once a process."""

    crds: crds.CrdSet
    charts: helm.Charts


@cache
def judges(shared: Path) -> Judges:
    """The judges over a folder of reference data."""
    return Judges(crds.CrdSet(shared / "crds"), helm.load(shared / "charts"))


def validate_graph(graph: GraphLike, shared: Path) -> list[str]:
    """Every finding as ``type name: what``, sorted; empty when AWS, the API server and Helm would take it all."""
    bench = judges(shared)
    resources = [r for r in graph.resources if not getattr(r, "external", False)]
    found = [f"{r.type} {r.name}: {finding}" for r in resources for finding in resource_findings(r, bench)]
    return sorted(found + references.findings(list(objects(resources)), list(releases(resources))))


def resource_findings(resource: ResourceLike, bench: Judges) -> list[str]:
    """Findings for one resource by the judges of its package; a package without a judge is a finding."""
    package = resource.type.partition(":")[0]
    if package in OWN or resource.type in HOLLOW:
        return []
    judge = _JUDGES.get(package)
    if judge is None:
        return [f"no judge knows the package {package}"]
    return judge(resource, bench)


def objects(resources: Iterable[ResourceLike]) -> Iterator[dict[str, Any]]:
    """Every Kubernetes object of the graph, as the API server would get it."""
    for resource in resources:
        if resource.type.startswith("kubernetes:yaml"):
            yield from (obj for obj in resource.inputs.get("objs") or [] if isinstance(obj, dict))
        elif resource.type.startswith("kubernetes:") and not resource.type.startswith("kubernetes:helm.sh/"):
            yield _object(resource)


def releases(resources: Iterable[ResourceLike]) -> Iterator[Mapping[str, Any]]:
    """The inputs of every Helm release."""
    for resource in resources:
        if resource.type.startswith("kubernetes:helm.sh/"):
            yield resource.inputs


def pod_templates(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every ``{metadata, spec: {containers}}`` inside an object, with its path."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from pod_templates(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield path, {k: v for k, v in value.items() if k in ("metadata", "spec")}
            return
        for key, item in value.items():
            yield from pod_templates(item, f"{path}.{key}" if path else str(key))


def chart_name(chart: str) -> str:
    """``karpenter`` for ``oci://public.ecr.aws/karpenter/karpenter``; an archive loses its version and suffix."""
    last = chart.rstrip("/").rpartition("/")[2].partition(":")[0]
    archive = re.fullmatch(r"(.+)-v?\d+\.\d+\.\d+[^/]*\.tgz", last)
    return archive.group(1) if archive else last


def _object(resource: ResourceLike) -> dict[str, Any]:
    _, api_version, kind = resource.type.split(":", 2)
    api_version = str(resource.inputs.get("apiVersion") or api_version.removeprefix("core/"))
    return {**resource.inputs, "apiVersion": api_version, "kind": resource.inputs.get("kind") or kind}


def _judge_aws(resource: ResourceLike, _: Judges) -> list[str]:
    inputs = dict(resource.inputs)
    found = aws.validate(resource.type, inputs) + aws.name_findings(resource.type, resource.name, inputs)
    for where, kind, text in iam.documents(resource.type, inputs):
        found += [f"{where}: {finding}" for finding in iam.validate(text, kind)]
    attached = [inputs.get("policyArn")] if resource.type.startswith("aws:iam/rolePolicyAttachment:") else []
    for arn in attached + list(inputs.get("managedPolicyArns") or []):
        if arn is not None and (error := iam.managed_policy_error(arn)):
            found.append(f"policyArn: {error}")
    return found


def _judge_kubernetes(resource: ResourceLike, bench: Judges) -> list[str]:
    if resource.type.startswith("kubernetes:helm.sh/"):
        return _judge_release(resource, bench)
    if resource.type.startswith("kubernetes:yaml"):
        held = [obj for obj in resource.inputs.get("objs") or [] if isinstance(obj, dict)]
        return [f"{o.get('kind')}: {finding}" for o in held for finding in object_findings(o, bench)]
    return object_findings(_object(resource), bench)


def object_findings(obj: dict[str, Any], bench: Judges) -> list[str]:
    """Findings for a Kubernetes object, core or custom."""
    api_version, kind = obj["apiVersion"], obj["kind"]
    group = api_version.rpartition("/")[0]
    if kind.endswith("Patch") and kubernetes.knows(api_version, kind.removesuffix("Patch")):
        return metadata.errors({**obj, "kind": kind.removesuffix("Patch")})
    if kubernetes.knows(api_version, kind):
        return kubernetes.validate(obj) + queries.findings(obj)
    if bench.crds.knows(api_version, kind):
        found = bench.crds.validate(obj) + queries.findings(obj)
        for path, template in pod_templates(obj):
            found += kubernetes.pod_template_errors(template, path, partial=group in COMPLETES_PODS)
        return found
    if group in NO_CRD:
        return [*metadata.errors(obj), *shapes.findings(obj.get("spec"), "spec")]
    return [f"neither Kubernetes {kubernetes.VERSION} nor the reference data has {kind} in {api_version}"]


def _judge_release(resource: ResourceLike, bench: Judges) -> list[str]:
    inputs, found = resource.inputs, []
    chart = str(inputs.get("chart") or "")
    for key in ("version", "namespace") + (("name",) if ":Release" in resource.type else ()):
        if not inputs.get(key):
            found.append(f"{key}: missing")
    name = str(inputs.get("name") or "x")
    if not is_unknown(name) and (len(name) > 53 or not metadata.is_dns_label(name)):
        found.append(f"name: {name!r} is no DNS label of at most 53, Helm's limit")
    version = inputs.get("version")
    if version and not is_unknown(version) and not _exact(str(version)):
        found.append(f"version: {version!r} is a range")
    archive = chart.startswith("https://") and chart.endswith(f"-{version}.tgz")
    if not archive and not chart.startswith("oci://") and not (inputs.get("repositoryOpts") or {}).get("repo"):
        found.append(f"repositoryOpts.repo: missing: {chart!r} is no OCI address and no archive of that version")
    values = inputs.get("values") or {}
    if is_unknown(values):
        return [*found, "values: hidden as a whole: what is set cannot be judged"]
    judged = [*bench.charts.findings(chart_name(chart), dict(values)), *shapes.findings(values)]
    return found + [f"values: {finding}" for finding in judged]


def _exact(version: str) -> bool:
    core = version.removeprefix("v").split("+")[0].split("-")[0].split(".")
    return len(core) == 3 and all(part.isdigit() for part in core)


_JUDGES: dict[str, Callable[[ResourceLike, Judges], list[str]]] = {
    "aws": _judge_aws,
    "eks": _judge_aws,
    "kubernetes": _judge_kubernetes,
}

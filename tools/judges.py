"""Which programs judge us, which Go module pins each, and how a ready-made binary proves its version.

Versions are in the modules' ``go.mod`` alone; this table only says what is built from them.
"""

import re
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Judge:
    """One Go module under ``tools/`` and the programs built from it."""

    module: str
    """Folder under ``tools/``."""
    pins: str
    """Module path whose required version is the judge's version."""
    programs: tuple[tuple[str, str], ...]
    """(name of the executable, Go package)."""
    ldflags: str = "-s -w"
    """Linker flags; ``{version}``, ``{major}`` and ``{minor}`` are filled from the pin."""
    tags: str = ""
    probe: tuple[str, ...] = ()
    """Arguments that make a ready-made binary print its version; empty: it cannot say, so it is always built."""

    @property
    def folder(self) -> Path:
        """The module's folder."""
        return TOOLS / self.module

    @property
    def version(self) -> str:
        """The pinned version, as ``go.mod`` has it (``v1.36.3``)."""
        text = (self.folder / "go.mod").read_text(encoding="utf-8")
        found = re.search(rf"^(?:require)?\s*{re.escape(self.pins)} (v\S+)", text, re.MULTILINE)
        if found is None:
            raise ValueError(f"tools/{self.module}/go.mod: no version of {self.pins}; run `go mod tidy` there")
        return found.group(1)

    def linker_flags(self) -> str:
        """The linker flags with the pinned version filled in."""
        version = self.version
        major, minor, *_ = version.removeprefix("v").split(".")
        return self.ldflags.format(version=version, major=major, minor=minor)


_KUBERNETES_VERSION = "k8s.io/component-base/version"
_PULUMI_VERSION = "github.com/pulumi/pulumi/sdk/v3/go/common/version"

JUDGES: tuple[Judge, ...] = (
    Judge(
        "etcd",
        "go.etcd.io/etcd/server/v3",
        (("etcd", "go.etcd.io/etcd/server/v3"),),
        probe=("--version",),
    ),
    Judge(
        "kubernetes",
        "k8s.io/kubernetes",
        tuple(
            (name, f"k8s.io/kubernetes/cmd/{name}")
            for name in ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
        ),
        ldflags=(
            f"-s -w -X {_KUBERNETES_VERSION}.gitVersion={{version}}"
            f" -X {_KUBERNETES_VERSION}.gitMajor={{major}} -X {_KUBERNETES_VERSION}.gitMinor={{minor}}"
        ),
        probe=("--version",),
    ),
    Judge(
        "kwok",
        "sigs.k8s.io/kwok",
        (("kwok", "sigs.k8s.io/kwok/cmd/kwok"),),
        ldflags="-s -w -X sigs.k8s.io/kwok/pkg/consts.Version={version}",
        probe=("--version",),
    ),
    Judge("lws", "sigs.k8s.io/lws", (("lws-controller", "sigs.k8s.io/lws/cmd"),)),
    Judge(
        "karpenter-aws",
        "github.com/aws/karpenter-provider-aws",
        (("karpenter-aws", "github.com/aws/karpenter-provider-aws/cmd/controller"),),
        ldflags="-s -w -X sigs.k8s.io/karpenter/pkg/operator.Version={version}",
    ),
    Judge(
        "prometheus",
        "github.com/prometheus/prometheus",
        (("promtool", "github.com/prometheus/prometheus/cmd/promtool"),),
        ldflags="-s -w -X github.com/prometheus/common/version.Version={version}",
    ),
    Judge(
        "pulumi",
        "github.com/pulumi/pulumi/pkg/v3",
        (("pulumi", "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"),),
        ldflags=f"-s -w -X {_PULUMI_VERSION}.Version={{version}}",
        tags="osusergo",
        probe=("version",),
    ),
    Judge(
        "pulumi-kubernetes",
        "github.com/pulumi/pulumi-kubernetes/provider/v4",
        (("pulumi-resource-kubernetes", "."),),
    ),
)

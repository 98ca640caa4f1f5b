"""etcd, API server, scheduler, controllers and KWOK on loopback ports: a Kubernetes control plane in seconds."""

import secrets
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from .certificates import Certificates, make_certificates
from .daemon import Daemon, free_port, port_is_free, wait_until
from .kube import Kube

CONTROLLERS_OFF = ("node-ipam-controller", "cloud-node-lifecycle-controller", "service-lb-controller")


class ControlPlane:
    """A running control plane; ``close`` ends every process by its id and waits for the ports.

    Args:
        played: KWOK's stages.
    """

    def __init__(self, binaries: dict[str, Path], folder: Path, logs: Path, played: list[dict[str, Any]]):
        self.folder, self.logs = folder, logs
        folder.mkdir(parents=True, exist_ok=True)
        logs.mkdir(parents=True, exist_ok=True)
        self.certificates: Certificates = make_certificates(folder / "pki")
        self.token = secrets.token_hex(16)
        self.ports = {name: free_port() for name in ("etcd", "peer", "api", "scheduler", "controllers", "kwok")}
        self.url = f"https://127.0.0.1:{self.ports['api']}"
        self.kube = Kube(self.url, self.token, self.certificates.authority)
        self.kubeconfig = self._write_kubeconfig()
        self.daemons: list[Daemon] = []
        try:
            self._start(binaries, played)
        except BaseException:
            self.close()
            raise

    def _write_kubeconfig(self) -> Path:
        path = self.folder / "kubeconfig"
        cluster = {"server": self.url, "certificate-authority-data": self.certificates.authority_base64}
        named = {"name": "judges"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "judges",
            "clusters": [{**named, "cluster": cluster}],
            "users": [{**named, "user": {"token": self.token}}],
            "contexts": [{**named, "context": {"cluster": "judges", "user": "judges"}}],
        }
        path.write_text(yaml.safe_dump(config))
        return path

    def run(self, name: str, command: list[str | Path], env: dict[str, str] | None = None) -> Daemon:
        """Start a process that ends with the control plane, before it."""
        daemon = Daemon(name, command, logs=self.logs, env=env)
        self.daemons.append(daemon)
        return daemon

    def _start(self, binaries: dict[str, Path], played: list[dict[str, Any]]) -> None:
        ports, pki = self.ports, self.certificates
        etcd_url, peer_url = (f"http://127.0.0.1:{ports[name]}" for name in ("etcd", "peer"))
        etcd = self.run(
            "etcd",
            [
                binaries["etcd"],
                f"--data-dir={self.folder / 'etcd'}",
                "--unsafe-no-fsync",
                f"--listen-client-urls={etcd_url}",
                f"--advertise-client-urls={etcd_url}",
                f"--listen-peer-urls={peer_url}",
                f"--initial-advertise-peer-urls={peer_url}",
                f"--initial-cluster=default={peer_url}",
                "--log-level=warn",
            ],
        )
        etcd.ready(lambda: not port_is_free(ports["etcd"]), seconds=90)
        (self.folder / "tokens.csv").write_text(f'{self.token},judges,judges,"system:masters"\n')
        api = self.run(
            "kube-apiserver",
            [
                binaries["kube-apiserver"],
                f"--etcd-servers={etcd_url}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={ports['api']}",
                f"--cert-dir={self.folder / 'apiserver'}",
                f"--tls-cert-file={pki.server}",
                f"--tls-private-key-file={pki.server_key}",
                f"--token-auth-file={self.folder / 'tokens.csv'}",
                f"--service-account-key-file={pki.account_key}",
                f"--service-account-signing-key-file={pki.account_key}",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--authorization-mode=RBAC",
                "--enable-admission-plugins=ExtendedResourceToleration",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--allow-privileged=true",
                "--endpoint-reconciler-type=none",
                "--max-requests-inflight=3000",
                "--max-mutating-requests-inflight=1000",
            ],
        )
        api.ready(self.kube.ready, seconds=180)
        common = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1"]
        quick = ["--kube-api-qps=500", "--kube-api-burst=1000"]
        self.run(
            "kube-controller-manager",
            [
                binaries["kube-controller-manager"],
                *common,
                *quick,
                f"--secure-port={ports['controllers']}",
                f"--cert-dir={self.folder / 'controllers'}",
                f"--service-account-private-key-file={pki.account_key}",
                f"--root-ca-file={pki.authority}",
                "--controllers=*," + ",".join(f"-{name}" for name in CONTROLLERS_OFF),
                "--use-service-account-credentials=false",
                "--horizontal-pod-autoscaler-sync-period=5s",
            ],
        )
        self.run(
            "kube-scheduler",
            [
                binaries["kube-scheduler"],
                *common,
                *quick,
                f"--secure-port={ports['scheduler']}",
                f"--cert-dir={self.folder / 'scheduler'}",
            ],
        )
        stage_file = self.folder / "stages.yaml"
        stage_file.write_text(yaml.safe_dump_all(played))
        self.run(
            "kwok",
            [
                binaries["kwok"],
                f"--kubeconfig={self.kubeconfig}",
                f"--config={stage_file}",
                "--manage-all-nodes=true",
                "--node-ip=127.0.0.1",
                "--node-lease-duration-seconds=40",
                f"--server-address=127.0.0.1:{ports['kwok']}",
            ],
        )
        wait_until(
            "the default service account exists",
            lambda: self.kube.get("v1", "ServiceAccount", "default", "default"),
            seconds=120,
        )

    def install_crds(self, crds: Iterable[dict[str, Any]]) -> None:
        """Apply CRDs and wait until the server offers their kinds."""
        listed = list(crds)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self.kube.apply, listed))
        for crd in listed:
            self.wait_for_crd(crd["metadata"]["name"])

    def wait_for_crd(self, name: str) -> None:
        """Wait until one CRD is established."""

        def established() -> bool:
            found = self.kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
            conditions = (found or {}).get("status", {}).get("conditions") or []
            return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)

        wait_until(f"CRD {name} is established", established, seconds=90, every=0.05)

    def check(self) -> None:
        """Raise when one of the processes has ended by itself."""
        for daemon in self.daemons:
            daemon.check()

    def close(self) -> None:
        """End what was started, last first (so the API server goes before etcd), and wait for the ports."""
        for daemon in reversed(self.daemons):
            daemon.stop(seconds=5 if daemon.name != "kube-apiserver" else 15)
        self.daemons.clear()
        self.kube.close()
        wait_until("all ports are free", lambda: all(map(port_is_free, self.ports.values())), seconds=10)


def crds_of(folder: Path) -> list[dict[str, Any]]:
    """Every CRD in the YAML files below a folder, by name."""
    found: dict[str, dict[str, Any]] = {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for path in sorted(folder.rglob("*.yaml")):
        for document in yaml.load_all(path.read_text(encoding="utf-8"), loader):
            if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
                document.pop("status", None)
                found[document["metadata"]["name"]] = document
    return [found[name] for name in sorted(found)]

"""The simulated world itself: up quickly, loopback only, gone without a trace."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from .world.charts import BARE, served_offline
from .world.controlplane import crds_of
from .world.daemon import port_is_free, wait_until
from .world.kube import KubeError
from .world.stages import CRASH
from .world.world import World

pytestmark = pytest.mark.judges

LOOPBACK = {"0100007F", "00000000000000000000000001000000"}
LISTENING = "0A"
UNPUBLISHED = {group for kinds in BARE.values() for group, _, _ in kinds}
"""API groups whose schemas are not at hand."""


def _listening(pid: int) -> set[str]:
    """Addresses (as the kernel writes them) that a process listens on."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in inodes:
                found.add(fields[1].split(":")[0])
    return found


def _pod(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "x"}], "nodeName": "plain"},
    }


@pytest.fixture(scope="module")
def world(make_world: Callable[..., World], shared: Path) -> World:
    world = make_world()
    world.plane.install_crds([served_offline(crd) for crd in crds_of(shared / "crds")])
    return world


def _goldens(root: Path, serving: str) -> dict[str, list[dict[str, Any]]]:
    """Objects of every reviewed manifest, by file; Helm releases are no objects of the API server's."""
    found = {}
    for path in sorted((root / "tests" / serving / "golden").glob("*.yaml")):
        documents = yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        found[path.stem] = [
            {key: value for key, value in document.items() if key != "resource"}
            for document in documents
            if "apiVersion" in document
        ]
    return found


@pytest.mark.parametrize("serving", ["llmd", "dynamo"])
def test_every_path_and_shape_is_accepted(world: World, root: Path, serving: str) -> None:
    """Each way to serve on each accelerator, past the server's strict schemas, CEL rules and admission."""
    kube, refused, tried = world.kube, [], 0
    for file, objects in _goldens(root, serving).items():
        for obj in objects:
            if obj["apiVersion"].split("/")[0] in UNPUBLISHED:
                continue
            namespace = obj["metadata"].get("namespace", "default")
            if kube.get("v1", "Namespace", namespace) is None:
                kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            try:
                path = kube.path(obj["apiVersion"], obj["kind"], namespace)
                kube.request("POST", f"{path}?dryRun=All&fieldValidation=Strict", obj)
            except KubeError as error:
                refused.append(f"{file}: {obj['kind']} {obj['metadata']['name']}: {error}")
            tried += 1
    assert refused == []
    assert tried > 100


def test_every_process_listens_on_loopback_alone(world: World) -> None:
    daemons = [*world.plane.daemons, world.aws.daemon]
    assert len(daemons) >= 6
    heard = {daemon.name: _listening(daemon.pid) for daemon in daemons}
    assert any(heard.values())
    outside = {name: addresses - LOOPBACK for name, addresses in heard.items() if addresses - LOOPBACK}
    assert outside == {}


def test_a_crash_is_a_restart_that_the_api_server_sees(world: World) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "plain"}}
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    world.kube.create(node)
    world.kube.patch(node, {"status": {"capacity": amounts, "allocatable": amounts}}, status=True)
    pod = _pod("crashes")
    world.kube.create(pod)

    def ready(expected: str) -> bool:
        conditions = (world.kube.get("v1", "Pod", "crashes", "default") or {}).get("status", {}).get("conditions") or []
        return any(item["type"] == "Ready" and item["status"] == expected for item in conditions)

    wait_until("the pod is ready", lambda: ready("True"), seconds=90)
    world.kube.patch(pod, {"metadata": {"annotations": {CRASH: "now"}}})
    wait_until("the pod has crashed", lambda: ready("False"), seconds=90)
    status = (world.kube.get("v1", "Pod", "crashes", "default") or {})["status"]["containerStatuses"][0]
    assert status["restartCount"] == 1


def test_closing_ends_every_process_and_frees_every_port(make_world: Callable[..., World]) -> None:
    world = make_world()
    pids = [daemon.pid for daemon in [*world.plane.daemons, world.aws.daemon]]
    ports = [*world.plane.ports.values(), world.aws.port]
    assert all(not port_is_free(world.plane.ports[name]) for name in ("etcd", "api"))
    world.close()
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    assert [port for port in ports if not port_is_free(port)] == []

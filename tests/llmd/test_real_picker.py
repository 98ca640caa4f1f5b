"""Every picker configuration before the real endpoint picker of the pinned version.

Its sources are on no package registry, so nobody builds it for you: build ``./cmd/epp`` of llm-d/llm-d-router at the
tag in the catalogue, and name the binary in ``$HEADWATER_EPP``.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.factories import disaggregated_model, make_plan
from tests.llmd.cases import ALL, CASES, llmd, offloaded, one_server
from tests.llmd.world import world

pytestmark = pytest.mark.judges

MORE = {
    "decider": lambda: make_plan(models=(disaggregated_model(),), config=llmd(decider=512)),
    "disaggregated-slo": lambda: make_plan(models=(disaggregated_model(),), config=llmd(path="slo", streaming=True)),
    "several-pickers": lambda: make_plan(models=(one_server(),), config=llmd(path="precise", picker={"replicas": 3})),
    "precise-tiers": lambda: make_plan(models=(offloaded(),), config=llmd(path="precise")),
    "own-scorers": lambda: make_plan(models=(one_server(),), config=llmd(picker={"scorers": {"queue-scorer": 2}})),
    "alpha": lambda: make_plan(
        models=(one_server(),), config=llmd(alphaPlugins=True, picker={"scorers": {"session-affinity-scorer": 1}})
    ),
}
WANTED = {**{name: (lambda build=build: build("h200")) for name, build in ALL.items()}, **MORE}


@pytest.fixture(scope="session")
def picker() -> Path:
    binary = os.environ.get("HEADWATER_EPP")
    if not binary:
        pytest.skip("$HEADWATER_EPP names no endpoint picker")
    return Path(binary)


def ports() -> list[int]:
    held = [socket.socket() for _ in range(3)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    found = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return found


def outcome(picker: Path, folder: Path, document: dict[str, Any], *flags: str) -> str:
    """Empty when the picker starts and stays, else its last words. A file of endpoints stands for the cluster."""
    (folder / "endpoints.yaml").write_text("endpoints: [{name: a, address: 127.0.0.1, port: '8000'}]\n")
    source = {"type": "file-discovery", "parameters": {"path": str(folder / "endpoints.yaml")}}
    layer = {**document.get("dataLayer", {}), "discovery": {"pluginRef": "file-discovery"}}
    (folder / "epp.yaml").write_text(
        yaml.safe_dump({**document, "plugins": [*document["plugins"], source], "dataLayer": layer}, sort_keys=False)
    )
    grpc, health, metrics = ports()
    command = [
        str(picker),
        "--config-file",
        str(folder / "epp.yaml"),
        "--pool-name",
        "qwen",
        "--pool-namespace",
        "models",
    ]
    command += [f"--grpc-port={grpc}", f"--grpc-health-port={health}", f"--metrics-port={metrics}", *flags]
    env = {**os.environ, "NAMESPACE": "models", "POD_NAME": "epp", "PREDICTION_SERVER_URL": "http://127.0.0.1:1"}
    with (folder / "log").open("w") as log:
        ran = subprocess.Popen(
            command, stdout=log, stderr=log, env={**env, "TRAINING_SERVER_URL": "http://127.0.0.1:1"}
        )
    try:
        for _ in range(25):
            time.sleep(0.1)
            if ran.poll() is not None:
                return (folder / "log").read_text()[-2000:]
        return ""
    finally:
        ran.kill()
        ran.wait()


def documents(plan: Any) -> list[dict[str, Any]]:
    values = [r.inputs["values"].get("router", {}) for r in world(plan).all("Release")]
    return [yaml.safe_load(v["epp"]["pluginsCustomConfig"]["epp.yaml"]) for v in values if "epp" in v]


@pytest.mark.parametrize("name", sorted(WANTED))
def test_the_real_picker_takes_the_configuration(picker, tmp_path, name):
    flags = ("--allow-experimental-plugins",) if name == "alpha" else ()
    for document in documents(WANTED[name]()):
        assert outcome(picker, tmp_path, document, *flags) == ""


def test_the_real_picker_refuses_what_our_model_refuses(picker, tmp_path):
    (document,) = documents(CASES["prefix"]("h100"))
    document["plugins"][2]["parameters"] = {"peakPrefillTroughput": 1}
    assert "unknown field" in outcome(picker, tmp_path, document)
    (alpha,) = documents(MORE["alpha"]())
    assert "Alpha stability" in outcome(picker, tmp_path, alpha)

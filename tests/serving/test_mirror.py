"""Filling the weights mirror: who may write, what runs where, and that no server starts on half a copy."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from components.platform.models import mirror_policy
from components.serving import weights
from components.serving.mirror import CHECK, DOWNLOAD, UPLOAD, mirror_job
from components.serving.mirror import mirror_policy as flows
from components.serving.weights import COPY, WAIT
from headwater.catalog.releases import engines, images
from headwater.plan import build_plan
from headwater.plan.mirror import mirror_copies
from headwater.preview.engine import evaluate
from headwater.refusal import Refusal
from headwater.settings import settings_from_config
from tests.conftest import ROOT
from tests.validators import iam, quantities
from tests.validators.graph import validate_graph

FILL = {"mirror": "s3://models-test/weights/", "fill": True}
MODELS = [
    {"name": "qwen", "model": "qwen3-32b", "precision": "fp8", "accelerator": "h100", "context": 8192},
    {"name": "again", "model": "qwen3-32b", "precision": "fp8", "accelerator": "h100", "context": 32768},
    {"name": "other", "model": "qwen3-30b-a3b", "precision": "bf16", "accelerator": "h100", "context": 8192},
]


def planned(stack="llm-d", models=MODELS, **sections):
    serving = {"stack": stack, "models": models}
    config = {"aws:region": "us-east-2", "headwater:serving": serving, "headwater:weights": FILL}
    return build_plan(settings_from_config(config | sections, "dev"), project=ROOT)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """The whole program of both serving stacks, with a token from Secrets Manager."""
    found = {}
    for stack in ("llm-d", "dynamo"):
        file = tmp_path_factory.mktemp(stack) / "Pulumi.test.yaml"
        secret = "arn:aws:secretsmanager:us-east-2:123456789012:secret:hub-AbC123"
        config = {
            "aws:region": "us-east-2",
            "headwater:serving": {"stack": stack, "models": MODELS},
            "headwater:weights": FILL,
            "headwater:huggingFace": {"secretArn": secret},
        }
        file.write_text(json.dumps({"config": config}), encoding="utf-8")
        found[stack] = evaluate(file, ROOT)
    return found


def of(graph, kind, name=""):
    return [r for r in graph.resources if r.type.endswith(f":{kind}") and name in r.name]


def test_each_repository_is_copied_once_with_room_and_time_from_its_size():
    plan = planned()
    first, second = mirror_copies(plan)
    assert (first.model, second.model) == ("qwen", "other")
    assert first.target == f"s3://models-test/weights/{plan.models[0].repository}"
    for copy, model in ((first, plan.models[0]), (second, plan.models[2])):
        assert 2 * model.checkpoint_gib < copy.volume_gib < 2.2 * model.checkpoint_gib + 21
        assert copy.seconds > 2 * model.checkpoint_gib / 0.125


def test_without_fill_nothing_is_copied_and_nobody_waits():
    plan = planned(**{"headwater:weights": {"mirror": FILL["mirror"]}})
    assert mirror_copies(plan) == ()
    assert weights(plan, plan.models[0]).init[0]["args"] == [COPY]


def test_fill_needs_a_mirror_and_a_way_to_the_hub():
    with pytest.raises(Refusal, match=r"mirror: s3://BUCKET/PREFIX"):
        planned(**{"headwater:weights": {"fill": True}})
    with pytest.raises(Refusal, match=r"weights\.fill = true"):
        planned(**{"headwater:network": {"endpoints": "isolated"}, "headwater:mirror": {"images": "r.example.com/m"}})


@pytest.mark.parametrize("stack", ["llm-d", "dynamo"])
def test_the_job_is_what_a_restricted_namespace_admits(stack):
    plan = planned(stack)
    spec = mirror_job(plan, mirror_copies(plan)[0], "hugging-face")
    pod = spec["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not pod["automountServiceAccountToken"]
    everyone = [*pod["initContainers"], *pod["containers"]]
    for container in everyone:
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert quantities.parse(container["resources"]["limits"]["memory"]) <= 4 * 2**30
    cli, engine = images()["aws-cli"].reference(), images()[engines()[stack].image].reference()
    assert [container["image"] for container in everyone] == [cli, engine, cli]
    assert "tolerations" not in pod  # GPU nodes are tainted: it runs on system nodes


def test_only_the_download_sees_the_token_and_only_as_a_reference():
    plan = planned()
    pod = mirror_job(plan, mirror_copies(plan)[0], "hugging-face")["template"]["spec"]
    check, download, upload = (*pod["initContainers"], *pod["containers"])
    token = next(e for e in download["env"] if e["name"] == "HF_TOKEN")
    assert token["valueFrom"] == {"secretKeyRef": {"name": "hugging-face", "key": "HF_TOKEN"}}
    assert "HF_TOKEN" not in str(check) + str(upload)
    bare = mirror_job(plan, mirror_copies(plan)[0], None)
    assert "HF_TOKEN" not in str(bare)


def test_the_jobs_role_writes_the_prefix_and_reads_nothing():
    policy = mirror_policy("aws", FILL["mirror"], write=True)
    assert iam.validate(json.dumps(policy), iam.IDENTITY) == []
    listing, writing = policy["Statement"]
    assert listing["Condition"] == {"StringLike": {"s3:prefix": ["weights", "weights/*"]}}
    assert writing["Resource"] == "arn:aws:s3:::models-test/weights/*"
    assert writing["Action"] == ["s3:AbortMultipartUpload", "s3:PutObject"]
    assert "s3:PutObject" not in json.dumps(mirror_policy("aws", FILL["mirror"]))


def test_two_service_accounts_have_two_roles(graphs):
    for graph in graphs.values():
        accounts = {
            r.inputs["serviceAccount"]: r.inputs["roleArn"]
            for r in of(graph, "PodIdentityAssociation")
            if r.inputs["namespace"] == "models"
        }
        assert set(accounts) == {"model-server", "weights-mirror"}
        made = {r.inputs["metadata"]["name"] for r in of(graph, "ServiceAccount")}
        assert {"model-server", "weights-mirror"} <= made


def test_the_policy_lets_the_job_out_and_nobody_in():
    policy = flows()
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy
    plan = planned()
    labels = mirror_job(plan, mirror_copies(plan)[0], None)["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert [rule["ports"][-1]["port"] for rule in policy["egress"]] == [53, 443, 80]


@pytest.mark.graph
@pytest.mark.parametrize("stack", ["llm-d", "dynamo"])
def test_the_judges_find_nothing(shared, graphs, stack):
    found = validate_graph(graphs[stack], shared)
    assert found == [], "\n" + "\n".join(found)


@pytest.mark.graph
@pytest.mark.parametrize(("stack", "kind"), [("llm-d", "Deployment"), ("dynamo", "DynamoGraphDeployment")])
def test_servers_are_made_after_the_jobs_are_done(graphs, stack, kind):
    graph = graphs[stack]
    jobs = of(graph, "Job", "weights-")
    assert [job.name for job in jobs] == ["weights-other", "weights-qwen"]
    assert not any("skipAwait" in str(job.inputs["metadata"]) for job in jobs)
    by_urn = {r.urn: r for r in graph.resources}
    servers = [r for r in graph.resources if r.type.endswith(f":{kind}") and r.name.startswith("serving-")]
    assert servers
    for server in servers:
        seen, todo = set(), [server.urn]
        while todo:
            here = by_urn.get(todo.pop())
            for other in here.dependencies if here else ():
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        assert {job.urn for job in jobs} <= seen


# -- the scripts, with stand-ins for the tools


@pytest.fixture
def bucket(tmp_path):
    """A folder that stands for S3 and an ``aws`` that knows the words the scripts use."""
    tool = tmp_path / "bin" / "aws"
    tool.parent.mkdir()
    tool.write_text(
        f"""#!/bin/sh
echo "$@" >> {tmp_path}/said
case "$1 $2" in
  "s3 ls") test -e "{tmp_path}/s3/${{3#s3://}}" ;;
  "s3 sync") for last; do :; done; mkdir -p "{tmp_path}/s3/${{last#s3://}}" ;;
  "s3 cp") for last; do :; done; cp "$4" "{tmp_path}/s3/${{last#s3://}}" ;;
  "configure set") ;;
  *) exit 9 ;;
esac
"""
    )
    tool.chmod(tool.stat().st_mode | stat.S_IEXEC)
    (tmp_path / "weights").mkdir()
    return tmp_path


def script(bucket: Path, text: str, **env: str) -> subprocess.CompletedProcess[str]:
    text = text.replace("/weights", f"{bucket}/weights")
    path = f"{bucket}/bin:{os.environ['PATH']}"
    env = {"PATH": path, "TARGET": "s3://b/org/name", "SOURCE": "s3://b/org/name", **env}
    return subprocess.run(["/bin/sh", "-ec", text], env=env, capture_output=True, text=True, check=False, timeout=5)


def test_the_marker_is_written_last_and_a_second_run_does_nothing(bucket):
    assert script(bucket, CHECK).returncode == 0
    assert script(bucket, UPLOAD).returncode == 0
    said = (bucket / "said").read_text().splitlines()
    assert [line.split()[1] for line in said] == ["ls", "set", "sync", "cp"]
    assert said[-1].endswith("/weights/marker s3://b/org/name.complete")
    assert (bucket / "s3" / "b" / "org" / "name.complete").read_text().strip()
    assert script(bucket, CHECK).returncode == 0
    assert (bucket / "weights" / "done").exists()
    assert script(bucket, UPLOAD).returncode == 0
    assert len((bucket / "said").read_text().splitlines()) == len(said) + 1


def test_a_failed_copy_leaves_no_marker(bucket):
    (bucket / "s3").write_text("in the way")
    assert script(bucket, UPLOAD).returncode != 0
    assert "cp" not in (bucket / "said").read_text().split()


def test_a_server_waits_for_the_marker(bucket):
    with pytest.raises(subprocess.TimeoutExpired):
        script(bucket, WAIT)
    assert script(bucket, UPLOAD).returncode == 0
    assert script(bucket, WAIT).returncode == 0
    plan = planned()
    assert weights(plan, plan.models[0]).init[0]["args"] == [WAIT + COPY]


def test_the_download_asks_the_hub_for_the_repository_unless_it_is_there(tmp_path, monkeypatch):
    asked = tmp_path / "asked"
    hub = tmp_path / "huggingface_hub.py"
    hub.write_text(f"def snapshot_download(*a, **k): open({str(asked)!r}, 'a').write(repr((a, k)))\n")
    env = {"PYTHONPATH": str(tmp_path), "REPOSITORY": "org/name", "PATH": os.environ["PATH"]}
    text = DOWNLOAD.replace("/weights", str(tmp_path))
    for _ in range(2):
        subprocess.run(["python3", "-c", text], env=env, check=True)
        (tmp_path / "done").touch()
    assert asked.read_text().startswith("(('org/name',), {'local_dir': ")
    assert asked.read_text().count("org/name") == 1

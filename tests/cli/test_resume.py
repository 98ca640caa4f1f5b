"""A state that a killed `pulumi up` left: what it had begun is listed, and enters the state when answered."""

import json
from pathlib import Path

import pytest

STACK = "urn:pulumi:dev::headwater"
ROLE, VPC, OBJECT, OTHER = (
    f"{STACK}::aws:iam/role:Role::nodes",
    f"{STACK}::aws:ec2/vpc:Vpc::network",
    f"{STACK}::kubernetes:core/v1:ConfigMap::settings",
    f"{STACK}::aws:iam/policy:Policy::nodes",
)


def _creation(urn, *, custom=True, **inputs):
    return {
        "type": "creating",
        "resource": {"urn": urn, "type": urn.split("::")[2], "custom": custom, "inputs": inputs},
    }


@pytest.fixture
def state(tmp_path: Path) -> Path:
    pending = [
        _creation(ROLE, name="nodes-0a1"),
        _creation(VPC, cidrBlock="10.0.0.0/16", tags={"Name": "network"}),
        _creation(OBJECT, metadata={"namespace": "models", "name": "settings"}),
        _creation(f"{STACK}::pulumi:providers:kubernetes::cluster"),
        _creation(f"{STACK}::eks:index:Cluster::cluster", custom=False),
        {"type": "updating", "resource": {"urn": OTHER, "type": "aws:iam/policy:Policy"}},
    ]
    kept = [{"urn": OTHER, "type": "aws:iam/policy:Policy", "id": "arn"}]
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"version": 3, "deployment": {"resources": kept, "pending_operations": pending}}))
    return file


def test_what_was_begun_is_listed_with_what_to_look_for(run, state):
    said = run("resume", str(state))
    assert (said.code, said.err) == (0, "")
    assert [line.split("look for ")[1] for line in said.out.splitlines()] == [
        "nodes-0a1",
        "tag Name=network",
        "models/settings",
    ]
    assert [item["urn"] for item in json.loads(run("resume", str(state), "--json").out)] == [ROLE, VPC, OBJECT]


def test_what_exists_enters_the_state_and_nothing_stays_pending(run, state, tmp_path):
    out = tmp_path / "next.json"
    answers = ("--found", "nodes=nodes-0a1", "--absent", "network", "--found", f"{OBJECT}=models/settings")
    said = run("resume", str(state), *answers, "--out", str(out))
    assert (said.code, said.err) == (0, "")
    deployment = json.loads(out.read_text())["deployment"]
    assert {item["urn"]: item["id"] for item in deployment["resources"]} == {
        OTHER: "arn",
        ROLE: "nodes-0a1",
        OBJECT: "models/settings",
    }
    assert "pending_operations" not in deployment


@pytest.mark.parametrize(
    ("answers", "hint"),
    [
        (("--found", "nodes=x", "--absent", "network"), "--found settings=ID"),
        (("--found", "nodes=x", "--absent", "netwrok", "--absent", "settings"), "Did you mean `network`?"),
        (("--found", "nodes=x", "--absent", "nodes"), "one answer"),
        (("--found", "nodes"), "one answer"),
        (("--found", "nodes=x", "--absent", ROLE, "--absent", "network", "--absent", "settings"), "answered twice"),
        (("--found", "nodes= "), "one answer"),
        (("--absent", ""), "names no creation"),
    ],
)
def test_no_state_is_written_without_one_answer_for_each(run, state, tmp_path, answers, hint):
    out = tmp_path / "next.json"
    said = run("resume", str(state), *answers, "--out", str(out))
    assert said.code == 2
    assert hint in said.err
    assert not out.exists()


def test_a_file_that_is_not_there_is_said(run, tmp_path):
    said = run("resume", str(tmp_path / "state.json"))
    assert (said.code, "No such file" in said.err) == (2, True)


def test_a_place_that_cannot_be_written_is_said_and_nothing_is_left(run, state, tmp_path):
    answers = ("--absent", "nodes", "--absent", "network", "--absent", "settings")
    for out in (tmp_path / "nowhere" / "next.json", state / "next.json", tmp_path):
        said = run("resume", str(state), *answers, "--out", str(out))
        assert (said.code, "cannot be written" in said.err) == (2, True)
    assert [file.name for file in tmp_path.parent.rglob(".*.part")] == []


def test_answers_need_a_place(run, state):
    assert "--out FILE" in run("resume", str(state), "--absent", "nodes").err


def test_a_name_that_two_creations_share_needs_the_urn(run, state, tmp_path):
    content = json.loads(state.read_text())
    content["deployment"]["pending_operations"].append(_creation(OTHER.replace("Policy", "RolePolicy")))
    state.write_text(json.dumps(content))
    said = run("resume", str(state), "--absent", "nodes", "--out", str(tmp_path / "next.json"))
    assert (said.code, "Say the URN." in said.err) == (2, True)


def test_an_interrupted_replacement_is_not_guessed_at(run, state, tmp_path):
    content = json.loads(state.read_text())
    content["deployment"]["pending_operations"] = [_creation(OTHER)]
    state.write_text(json.dumps(content))
    out = str(tmp_path / "next.json")
    assert "replace" in run("resume", str(state), "--found", "nodes=arn-2", "--out", out).err
    assert run("resume", str(state), "--absent", "nodes", "--out", out).code == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 3}',
        '{"deployment": null}',
        '{"deployment": {"resources": [{}]}}',
        '{"deployment": {"resources": "none"}}',
        '{"deployment": {"pending_operations": ["creating"]}}',
        '{"deployment": {"pending_operations": [{"type": "creating"}]}}',
        '{"deployment": {"pending_operations": [{"type": "creating", "resource": {"urn": "vpc", "type": "aws:x"}}]}}',
    ],
)
def test_a_file_of_another_kind_is_refused(run, tmp_path, text):
    file = tmp_path / "other.json"
    file.write_text(text)
    said = run("resume", str(file))
    assert (said.code, "pulumi stack export" in said.err) == (2, True)


def test_a_state_without_pending_creations_needs_nothing(run, tmp_path):
    file = tmp_path / "state.json"
    file.write_text('{"version": 3, "deployment": {"resources": []}}')
    assert "no creation is unfinished" in run("resume", str(file)).out

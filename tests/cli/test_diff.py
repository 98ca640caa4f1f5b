"""What a reviewer must not miss, first; no change in one line; the same bytes each time."""

from __future__ import annotations

import json
import subprocess

from tests.conftest import ROOT


def test_no_change_is_one_line(run):
    said = run("diff", "prod", "prod")
    assert (said.code, said.out) == (0, "### prod: no change\n")


def test_money_gpus_and_users_come_first(run, variant):
    file = variant("prod", ("min: 1, max: 3", "min: 2, max: 3"))
    out = run("diff", "prod", file).out
    head = out.splitlines()[0]
    assert head.startswith("### prod: +63.30 $/h (173.38 → 236.67), +8 H200")
    assert "| kimi | replicas | 1 (…3) | 2 (…3) |" in out
    assert out.index("| kimi") < out.index("**Resources**") < out.index("<details>")


def test_it_reads_backwards_too(run, variant):
    file = variant("prod", ("min: 1, max: 3", "min: 2, max: 3"))
    assert "−63.30 $/h" in run("diff", file, "prod").out.splitlines()[0]


def test_a_longer_context_restarts_its_model_only(run, variant):
    file = variant("prod", ("context: 65536", "context: 49152"))
    out = run("diff", "prod", file).out
    assert "glm restarts" in out
    assert "kimi restarts" not in out
    assert "cost unchanged" in out.splitlines()[0]


def test_another_bound_of_autoscaling_restarts_nothing(run, variant):
    file = variant("prod", ("min: 1, max: 3", "min: 1, max: 2"))
    out = run("diff", "prod", file).out
    assert "| kimi | replicas | 1 (…3) | 1 (…2) |" in out
    assert "restarts" not in out


def test_the_switch_of_serving_stacks_is_a_risk_and_keeps_the_platform(run, variant):
    file = variant("prod", ("stack: llm-d", "stack: dynamo"))
    found = json.loads(run("diff", "prod", file, "--json").out)[0]
    assert any("serving stack changes from llm-d to dynamo" in risk for risk in found["risks"])
    assert found["dollarsPerHour"]["before"] == found["dollarsPerHour"]["after"]
    assert [r["urn"] for r in found["resources"] if "$headwater:platform:" in r["urn"]] == []


def test_a_replacement_is_counted_and_says_why(run, variant):
    file = variant("prod", ("cidr: 10.40.0.0/16", "cidr: 10.44.0.0/16"))
    out = run("diff", "prod", file).out
    assert "replacement" in out.splitlines()[0]
    assert "platform-network-vpc is replaced (cidrBlock)" in out
    assert "(forces replacement)" in out


def test_a_replacement_reaches_what_hangs_on_it_and_is_told_once(run, variant):
    file = variant("prod", ("cidr: 10.40.0.0/16", "cidr: 10.44.0.0/16"))
    found = json.loads(run("diff", "prod", file, "--json").out)[0]
    replaced = [r for r in found["resources"] if r["kind"] == "replaced"]
    assert {r["type"] for r in replaced} >= {"aws:ec2/subnet:Subnet", "aws:eks/nodeGroup:NodeGroup"}
    told = [risk for risk in found["risks"] if "is replaced" in risk]
    assert told == [f"platform-network-vpc is replaced (cidrBlock), and with it {len(replaced) - 1} other resources"]
    assert any("does not move a cluster to another VPC" in risk for risk in found["risks"])


def test_another_region_makes_everything_anew(run, variant):
    file = variant("dev", ("us-east-2", "us-west-2"))
    assert "the region changes from us-east-2 to us-west-2" in run("diff", "dev", file).out


def test_a_copy_under_any_name_is_compared_by_what_it_says(run, variant):
    same = variant("prod", name="next")
    assert run("diff", "prod", same).out == "### prod → next: no change\n"


def test_a_new_model_is_told_in_few_rows(run, variant):
    text = "      - name: qwen\n        model: qwen3-32b\n        precision: fp8\n        context: 8192\n"
    file = variant("staging", ("    models:\n", "    models:\n" + text.replace("qwen\n", "more\n")))
    rows = [line for line in run("diff", "staging", file).out.splitlines() if line.startswith("|")]
    assert "| more | checkpoint | – |" in rows[2]
    assert not [row for row in rows if "`--max-model-len`" in row and "–" in row]


def test_more_pods_on_system_nodes_show_their_nodes_and_their_price(run, variant):
    file = variant(
        "staging", ("  headwater:capacity:", "  headwater:dynamo: {frontend: {replicas: 4}}\n  headwater:capacity:")
    )
    out = run("diff", "staging", file).out
    assert "| *all* | system nodes | 4 × m7i.2xlarge or m6i.2xlarge | 8 × m7i.2xlarge or m6i.2xlarge |" in out
    assert "| *all* | platform, $/h | 1.71 | 3.33 |" in out
    assert "cost unchanged" in out.splitlines()[0]


def test_losing_protection_is_a_risk(run, variant):
    file = variant("prod", ("    protect: true\n", ""))
    assert "loses its protection" in run("diff", "prod", file).out


def test_a_model_that_goes_is_a_risk(run, variant):
    file = variant("staging", ("      - name: qwen\n", "      - name: other\n"))
    assert "qwen is no longer served" in run("diff", "staging", file).out


def test_the_same_input_gives_the_same_bytes(run, variant):
    file = variant("prod", ("context: 65536", "context: 49152"))
    assert run("diff", "prod", file).out == run("diff", "prod", file).out


def test_two_revisions_are_previewed_by_their_own_code(run, tmp_path, monkeypatch):
    clone = tmp_path / "clone"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]

    def do(*words):
        subprocess.run([*git, *words], cwd=clone, check=True, capture_output=True)

    clone.mkdir()
    do("init", "-q", "-b", "main")
    listed = [
        "git",
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "--",
        "headwater",
        "components",
        "stacks",
        "*.yaml",
        "*.py",
    ]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    for name in (n for n in names if not n.startswith(("tests/", "tools/", "docs/")) and (ROOT / n).is_file()):
        target = clone / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    do("add", "-A")
    do("commit", "-qm", "one")
    dev = clone / "stacks/Pulumi.dev.yaml"
    dev.write_text(dev.read_text().replace("context: 32768", "context: 16384"))
    do("rm", "-q", "stacks/Pulumi.staging.yaml")
    do("commit", "-qam", "two")
    monkeypatch.chdir(clone)
    with monkeypatch.context() as there:
        there.setattr("headwater.cli.compare.project_folder", lambda: clone)
        said = run("diff", "HEAD~1", "HEAD", "--stack", "dev", "--stack", "staging")
        mixed = run("diff", "HEAD~1", str(dev))
    assert said.code == 0, said.err
    assert mixed.out == said.out[: said.out.index("### staging")].removesuffix("\n")
    assert "| qwen | context | 32,768 | 16,384 |" in said.out
    assert "### staging: removed" in said.out
    assert "### prod" not in said.out

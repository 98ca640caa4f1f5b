"""Rendered files: one object each, the same bytes, never over somebody else's work."""

from __future__ import annotations

import json

import yaml


def files(folder):
    """Content by path."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_two_renders_are_byte_identical(run, tmp_path):
    for name in ("a", "b"):
        assert run("render", "prod", "--out", str(tmp_path / name)).code == 0
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert len(files(tmp_path / "a")) > 120


def test_each_file_holds_one_object_at_its_path(run, tmp_path):
    run("render", "dev", "--out", str(tmp_path / "o"))
    for path in (tmp_path / "o" / "kubernetes").rglob("*.yaml"):
        found = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
        assert len(found) == 1
        group = found[0]["apiVersion"].rpartition("/")[0] or "core"
        assert path.parts[-3:-1] == (group, found[0]["kind"])
        space = found[0]["metadata"].get("namespace")
        assert path.stem == (f"{space}-" if space else "") + found[0]["metadata"]["name"]
    assert (tmp_path / "o/kubernetes/karpenter.sh/NodePool").is_dir()


def test_helm_files_name_chart_version_repository_and_values(run, tmp_path):
    run("render", "dev", "--out", str(tmp_path / "o"))
    karpenter = yaml.safe_load((tmp_path / "o/helm/karpenter.yaml").read_text())
    assert karpenter["chart"].startswith("oci://")
    assert karpenter["repo"] is None
    assert karpenter["version"][0].isdigit()
    assert karpenter["namespace"] == "kube-system"
    assert karpenter["values"]["settings"]["clusterName"] == "headwater-dev"
    operator = yaml.safe_load((tmp_path / "o/helm/gpu-operator.yaml").read_text())
    assert operator["repo"].startswith("https://")


def test_aws_files_are_json_with_unknowns_said(run, tmp_path):
    run("render", "dev", "--out", str(tmp_path / "o"))
    subnets = sorted((tmp_path / "o/aws/ec2.Subnet").glob("*.json"))
    assert subnets
    assert all(json.loads(p.read_text())["vpcId"] == "<unknown>" for p in subnets)


def test_an_earlier_render_is_replaced_whole(run, tmp_path):
    out = tmp_path / "o"
    run("render", "prod", "--out", str(out))
    run("render", "dev", "--out", str(out))
    run("render", "dev", "--out", str(tmp_path / "fresh"))
    assert files(out) == files(tmp_path / "fresh")


def test_somebody_elses_folder_is_left_alone(run, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    said = run("render", "dev", "--out", str(tmp_path))
    assert said.code == 2
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_a_refused_stack_writes_nothing(run, variant, tmp_path):
    file = variant("dev", ("qwen3-32b", "qwen3-33b"))
    said = run("render", file, "--out", str(tmp_path / "never"))
    assert said.code == 2
    assert not (tmp_path / "never").exists()

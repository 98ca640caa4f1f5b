"""The build of the judges: what is built when, and what is said when it cannot be."""

import shutil
import stat
import sys
from pathlib import Path

import pytest

from tools import build, judges
from tools.judges import JUDGES, Judge

ETCD = next(judge for judge in JUDGES if judge.module == "etcd")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it but what a test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def _command(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def _pretend_built(judge: Judge) -> None:
    folder = build.built_folder(judge)
    folder.mkdir(parents=True)
    for name, _ in judge.programs:
        (folder / name).touch()


def test_every_module_names_the_version_it_builds() -> None:
    for judge in JUDGES:
        assert judge.version.startswith("v")
        assert "{" not in judge.linker_flags()


def test_every_module_is_tidy_and_locked() -> None:
    for judge in JUDGES:
        text = (judge.folder / "go.sum").read_text()
        assert f"{judge.pins} {judge.version} h1:" in text, judge.module


def test_kubernetes_staging_modules_have_the_version_of_their_release() -> None:
    text = (judges.TOOLS / "kubernetes" / "go.mod").read_text()
    release = next(judge for judge in JUDGES if judge.module == "kubernetes").version
    expected = "v0." + release.removeprefix("v1.")
    replaced = [line for line in text.splitlines() if " => k8s.io/" in line]
    assert len(replaced) >= 31
    assert all(line.endswith(expected) for line in replaced)


def test_a_changed_module_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = build.module_hash(ETCD)
    shutil.copytree(ETCD.folder, tmp_path / "tools" / "etcd")
    monkeypatch.setattr(judges, "TOOLS", tmp_path / "tools")
    assert build.module_hash(ETCD) == before
    with (tmp_path / "tools" / "etcd" / "go.sum").open("a") as file:
        file.write("\n")
    assert build.module_hash(ETCD) != before


def test_up_to_date_means_nothing_runs(commands: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for judge in JUDGES:
        _pretend_built(judge)
    assert build.make(JUDGES) == 0
    assert capsys.readouterr() == ("", "")


def test_without_go_one_line_says_how_to_get_it(commands: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build.make((ETCD,)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "need Go" in said
    assert "make tools" in said


def test_a_binary_of_the_pinned_version_on_path_is_taken(commands: Path) -> None:
    _command(commands, "etcd", f"echo etcd Version: {ETCD.version.removeprefix('v')}")
    assert build.find(ETCD) == {"etcd": commands / "etcd"}


def test_a_binary_of_another_version_on_path_is_not_taken(commands: Path) -> None:
    _command(commands, "etcd", "echo etcd Version: 3.4.23")
    assert build.find(ETCD) is None


def test_a_binary_that_cannot_say_its_version_is_not_taken(commands: Path) -> None:
    lws = next(judge for judge in JUDGES if judge.module == "lws")
    _command(commands, "lws-controller", f"echo {lws.version}")
    assert build.find(lws) is None


def test_too_little_disk_is_said_before_anything_is_built(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _command(commands, "go", f'[ "$1" = env ] && echo {tmp_path}/go-caches || {{ touch {tmp_path}/built; exit 1; }}')
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=5 * 10**9))
    assert build.make((ETCD,)) == 2
    assert "5.0 GB free" in capsys.readouterr().err
    assert not (tmp_path / "built").exists()


def test_a_failed_build_leaves_no_binary_behind(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _command(commands, "go", f'[ "$1" = env ] && echo {tmp_path}/go-caches || exit 1')
    monkeypatch.setattr(build, "GO_CACHES_BYTES", 0)
    assert build.make((ETCD,)) == 1
    assert "tools/etcd: `go build` ended with 1" in capsys.readouterr().err
    assert build.find(ETCD) is None


def test_missing_judges_are_named_with_the_command_that_builds_them(commands: Path) -> None:
    _pretend_built(ETCD)
    with pytest.raises(FileNotFoundError, match=r"judges not built: kubernetes, .*; run `make tools`") as raised:
        build.binaries()
    assert "etcd" not in str(raised.value)


def test_the_check_names_the_tier_that_was_left_out(
    commands: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["build.py", "--check"])
    assert build.main() == 3
    said = capsys.readouterr().out
    assert said.startswith("left out: the tier on real engines")
    assert said.count("\n") == 1

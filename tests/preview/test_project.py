"""Configuration as the Pulumi CLI hands it to a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.preview.errors import PreviewError
from headwater.preview.project import load_config, load_project, stack_name
from headwater.refusal import Refusal

PROJECT = """
name: demo
runtime: python
config:
  size: {type: integer, default: 3}
  shape: {type: object, default: {a: 1}}
  must: {type: string}
  aws:region: {value: us-east-2}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text(PROJECT)
    (tmp_path / "__main__.py").write_text("")
    return tmp_path


def config_of(folder: Path, text: str) -> dict[str, str]:
    file = folder / "Pulumi.dev.yaml"
    file.write_text(text)
    return dict(load_config(load_project(folder), file).values)


def test_defaults_of_the_project_lie_under_the_stacks_own_values(folder: Path) -> None:
    assert config_of(folder, "config: {must: x, demo:size: 4}\n") == {
        "demo:must": "x",
        "demo:size": "4",
        "demo:shape": '{"a":1}',
        "aws:region": "us-east-2",
    }


def test_values_are_text_and_objects_are_json(folder: Path) -> None:
    found = config_of(folder, "config: {must: true, size: 1.5, shape: {b: [1, off, 2027-01-31T11:30:00Z]}}\n")
    assert found["demo:must"] == "true"
    assert found["demo:size"] == "1.5"
    assert found["demo:shape"] == '{"b":[1,"off","2027-01-31T11:30:00Z"]}'


def test_a_required_key_that_is_absent_is_named(folder: Path) -> None:
    with pytest.raises(Refusal) as caught:
        config_of(folder, "config: {size: 4}\n")
    assert [fault.path for fault in caught.value.faults] == ["demo:must"]


def test_ciphertext_becomes_a_word_and_its_key_secret(folder: Path) -> None:
    file = folder / "Pulumi.dev.yaml"
    file.write_text("config: {must: {secure: v1:zzz}, shape: {deep: [{secure: v1:yyy}]}}\n")
    config = load_config(load_project(folder), file)
    assert config.values["demo:must"] == "<secret>"
    assert config.values["demo:shape"] == '{"deep":["<secret>"]}'
    assert config.secret_keys == {"demo:must", "demo:shape"}


def test_the_stacks_name_is_its_files() -> None:
    assert stack_name(Path("stacks/Pulumi.prod.yaml")) == "prod"
    assert stack_name(Path("elsewhere/trial.yaml")) == "trial"


def test_a_folder_without_a_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PreviewError, match=r"Pulumi\.yaml cannot be read"):
        load_project(tmp_path)

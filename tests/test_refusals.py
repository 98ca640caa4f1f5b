"""Stack files that ask for what cannot be, and the sentences they are answered with."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
import yaml

from headwater.plan import build_plan
from headwater.refusal import Refusal
from headwater.settings import load_stack
from tests.conftest import ROOT

CASES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "tests" / "refusals.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_refusal_says_where_what_why_and_what_to_do(name, tmp_path):
    folder = tmp_path / "stacks"
    folder.mkdir()
    file = folder / "Pulumi.bad.yaml"
    file.write_text(CASES[name]["stack"], encoding="utf-8")
    with pytest.raises(Refusal) as refused:
        build_plan(load_stack(file), project=tmp_path, today=dt.date(2026, 11, 30))
    assert refused.value.at("stacks/Pulumi.bad.yaml").text() + "\n" == CASES[name]["message"]


def test_there_are_at_least_twenty_ways_to_be_wrong():
    assert len(CASES) >= 20


def test_every_refusal_names_its_key_path_and_ends_in_a_sentence():
    for case in CASES.values():
        for paragraph in case["message"].strip().split("\n\n"):
            head, *why = paragraph.split("\n")
            assert head.startswith("stacks/Pulumi.bad.yaml, ")
            assert why
            assert all(line.startswith("  ") and line.rstrip().endswith((".", "?", ")", "log")) for line in why)


def test_all_faults_are_said_at_once():
    assert CASES["several faults at once"]["message"].count("stacks/Pulumi.bad.yaml, ") == 4


def test_a_secret_is_never_repeated_in_a_refusal():
    case = CASES["a secret as argument"]
    assert "api-key: abc" in case["stack"]
    assert "abc" not in case["message"]

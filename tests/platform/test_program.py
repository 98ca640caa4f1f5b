"""The edges of the program: what Pulumi hands over is what the stack file's reader would have taken."""

import json

import pulumi
import pytest
from pulumi.runtime import Settings, configure, set_all_config

from components.program import load_settings
from headwater.refusal import Refusal

SERVING = json.dumps({"models": [{"name": "q", "model": "qwen3-32b"}]})


@pytest.fixture
def handed_over(monkeypatch):
    """What the command line hands to a program, as the configuration of stack `dev`."""

    def give(config: dict[str, str]) -> None:
        monkeypatch.delenv("PULUMI_CONFIG", raising=False)
        set_all_config({"aws:region": "us-east-2", "headwater:serving": SERVING} | config)

    configure(Settings(project="headwater", stack="dev", dry_run=True))
    yield give
    set_all_config({})
    pulumi.runtime.settings.reset_options()


def test_defaults_of_the_project_and_keys_of_other_programs_are_no_settings(handed_over):
    handed_over({"headwater:cluster": "{}", "pulumi:tags": "{}", "other:key": "1"})
    assert load_settings().serving.models[0].name == "q"


@pytest.mark.parametrize("key", ["headwater:clustr", "aws:profile"])
def test_a_key_that_nothing_reads_is_refused_by_up_too(handed_over, key):
    handed_over({key: json.dumps({"protect": True})})
    with pytest.raises(Refusal) as refused:
        load_settings()
    assert [fault.path for fault in refused.value.faults] == [key]

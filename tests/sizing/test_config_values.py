"""Every number of a config.json: impossible ones are refused by name, or are of no consequence; nothing ever breaks."""

from __future__ import annotations

import copy
import datetime as dt
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.catalog.architecture import Architecture
from headwater.plan import build_plan
from headwater.refusal import Refusal
from headwater.settings import settings_from_config
from headwater.sizing.config_layers import READERS
from headwater.sizing.from_config import architecture_from_config
from headwater.sizing.precision import WeightFormat
from headwater.sizing.units import SizingError
from headwater.sizing.weights import count_parameters
from tests.conftest import ROOT
from tests.sizing.test_config import FILES, LLAMA

Path = tuple[str, ...]
MEANS_WHOLE_CHANNEL = "group_size"


def smallest() -> dict[str, dict[str, Any]]:
    """One real config of each class we read."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(FILES, key=lambda f: f.stat().st_size):
        content = json.loads(file.read_text())
        if content["architectures"][0] in READERS:
            found.setdefault(content["architectures"][0], content)
    return found


CONFIGS = smallest() | {"LlamaForCausalLM": LLAMA}


def numbers(content: Mapping[str, Any], within: Path = ()) -> Iterator[Path]:
    for key, value in content.items():
        if isinstance(value, dict) and key != "quantized_layers":
            yield from numbers(value, (*within, key))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield (*within, key)


def changed(content: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(content)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


def read(content: dict[str, Any]) -> tuple[Architecture, WeightFormat] | str:
    """What the config says, or why it is refused."""
    try:
        return architecture_from_config(content)
    except SizingError as error:
        return str(error)


def planned(architecture: dict[str, Any]) -> str:
    model = {"name": "q", "model": {"repository": "a/b", "architecture": architecture}, "context": 2048}
    serving = {"stack": "llm-d", "models": [model | {"concurrency": 1}]}
    try:
        build_plan(
            settings_from_config({"aws:region": "us-east-2", "headwater:serving": serving}, "dev"),
            project=ROOT,
            today=dt.date(2026, 11, 30),
        )
    except Refusal as refusal:
        return refusal.text()
    return ""


@pytest.mark.parametrize("cls", sorted(CONFIGS))
def test_a_number_no_model_has_is_refused_by_name_or_of_no_consequence(cls):
    before = architecture_from_config(CONFIGS[cls])
    for path in numbers(CONFIGS[cls]):
        for value in (-1, -5, float("nan"), float("-inf"), "7", True, [], {}):
            if path[-1] == MEANS_WHOLE_CHANNEL and value == -1:
                continue
            after = read(changed(CONFIGS[cls], path, value))
            if isinstance(after, str):
                assert path[-1] in after, (path, value, after)
                assert "not of the kind" not in after
            else:
                assert after == before or value in ([], {}), (path, value)


@pytest.mark.parametrize("cls", sorted(CONFIGS))
def test_zero_and_huge_numbers_never_break_the_arithmetic(cls):
    for path in numbers(CONFIGS[cls]):
        for value in (0, 1, 10**9, 10**12, 10**400, 1.5):
            found = read(changed(CONFIGS[cls], path, value))
            assert isinstance(found, str) or count_parameters(found[0]) > 0, (path, value)


PLACES = [(cls, path) for cls in sorted(CONFIGS) for path in numbers(CONFIGS[cls])]


@given(
    st.sampled_from(PLACES), st.sampled_from(PLACES), st.sampled_from([-1, 0, 1, 3, 7, 10**6, 0.5]), st.integers(-2, 99)
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_whatever_stands_in_a_config_the_answer_is_a_plan_or_a_refusal(place, other, value, second):
    content = changed(CONFIGS[place[0]], place[1], value)
    if other[0] == place[0]:
        content = changed(content, other[1], second)
    assert "Traceback" not in planned(content)


@pytest.mark.parametrize("key", sorted(k for k, v in LLAMA.items() if isinstance(v, int) and not isinstance(v, bool)))
@pytest.mark.parametrize("value", [0, -1])
def test_the_refusal_names_the_key_path_the_value_and_the_bound(key, value):
    said = planned(LLAMA | {key: value})
    if (key, value) == ("intermediate_size", 0):
        assert "`intermediate_size` is missing" in said
        return
    head, why, remedy = said.splitlines()
    assert head == f"headwater:serving.models[0].model.architecture.{key} = {value}"
    assert why.startswith("  This must be a whole number from ")
    assert remedy == "  The model's own config.json on the hub has the right one."


def test_a_nested_key_is_named_as_it_stands_in_the_file(tmp_path):
    content = CONFIGS["KimiK25ForConditionalGeneration"]
    said = planned(changed(content, ("text_config", "kv_lora_rank"), 0))
    assert said.startswith("headwater:serving.models[0].model.architecture.text_config.kv_lora_rank = 0\n")
    said = planned(changed(content, ("vision_config", "patch_size"), 0))
    assert said.startswith("headwater:serving.models[0].model.architecture.vision_config.patch_size = 0\n")


def test_a_family_that_spells_a_key_its_own_way_sees_its_own_spelling():
    content = LLAMA | {"architectures": ["Ernie4_5_MoeForCausalLM"], "moe_num_experts": -8}
    assert ".architecture.moe_num_experts = -8\n" in planned(content)


def test_a_file_is_named_with_the_key_in_it(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(LLAMA | {"vocab_size": 0}), encoding="utf-8")
    model = {"name": "q", "model": {"repository": "a/b", "config": "c.json"}}
    found = settings_from_config({"aws:region": "us-east-2", "headwater:serving": {"models": [model]}}, "dev")
    with pytest.raises(Refusal) as refused:
        build_plan(found, project=tmp_path, today=dt.date(2026, 11, 30))
    assert refused.value.text().splitlines()[:2] == [
        "headwater:serving.models[0].model.config = c.json",
        "  `vocab_size` is 0 there; it must be a whole number from 1 to 100,000,000.",
    ]


def test_an_index_files_total_is_a_number_of_bytes(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    for total in (-1, "x", [1], 1e300):
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": total}}))
        with pytest.raises(SizingError, match=r"metadata\.total_size"):
            architecture_from_config(tmp_path)

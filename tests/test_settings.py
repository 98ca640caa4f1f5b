"""The stack file becomes one frozen object, or a list of sentences."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from headwater.refusal import Fault, Refusal, did_you_mean, nearest
from headwater.settings import SECTIONS, environment_of, load_stack, settings_from_config, stack_path
from headwater.settings.base import duration, parse_duration
from headwater.settings.load import ENCRYPTED, reveal
from headwater.settings.yaml12 import read_yaml
from tests.conftest import ROOT

MODEL = {"name": "qwen", "model": "qwen3-32b"}
STACKS = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))


def settings(model=None, **sections):
    serving = {"models": [{**MODEL, **(model or {})}]}
    config = {"aws:region": "us-east-2", "headwater:serving": serving}
    return settings_from_config({**config, **{f"headwater:{k}": v for k, v in sections.items()}}, "test")


@pytest.mark.parametrize("file", STACKS, ids=lambda p: p.name)
def test_shipped_stack_files_are_small_and_read(file: Path):
    assert len(file.read_text(encoding="utf-8").splitlines()) < 60
    assert load_stack(file).environment == file.stem.removeprefix("Pulumi.")


def test_dev_is_a_handful_of_lines():
    assert len((ROOT / "stacks" / "Pulumi.dev.yaml").read_text().splitlines()) <= 9


def test_only_region_and_models_are_needed():
    found = settings()
    assert (found.region, found.serving.stack, found.cluster.endpoint) == ("us-east-2", "auto", "private")
    assert found.cluster_name == "headwater-test"


def test_settings_cannot_be_changed():
    with pytest.raises(ValidationError):
        settings().region = "us-east-1"


@pytest.mark.parametrize(
    ("text", "seconds"), [("40ms", 0.04), ("2s", 2.0), ("1.5s", 1.5), ("15m", 900.0), ("2h", 7200.0), ("1d", 86400.0)]
)
def test_durations_carry_their_unit(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


def test_a_merge_key_brings_what_is_not_given_again():
    found = read_yaml("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n")
    assert found["b"] == {"x": 1, "y": 3}


@pytest.mark.parametrize("text", ["2", 2, 2.0, float("inf"), "2 minutes", "ms", "-2s", "", "2sm"])
def test_a_duration_without_unit_is_refused(text):
    with pytest.raises(ValueError, match="number with its unit"):
        parse_duration(text)


@given(st.integers(1, 10**6), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_every_whole_duration_up_to_a_year_is_read(count, unit):
    seconds = count * {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}[unit]
    if seconds <= 366 * 86400:
        assert parse_duration(f"{count}{unit}") == pytest.approx(seconds)
        assert parse_duration(duration(parse_duration(f"{count}{unit}"))) == pytest.approx(seconds)
    else:
        with pytest.raises(ValueError, match="at most 366d"):
            parse_duration(f"{count}{unit}")


@pytest.mark.parametrize(
    ("seconds", "text"), [(60.0, "1m"), (90.0, "90s"), (86400.0, "1d"), (0.04, "40ms"), (0.5, "500ms")]
)
def test_a_duration_is_written_in_the_largest_unit_that_divides_it(seconds, text):
    assert duration(seconds) == text


def test_replicas_may_be_one_number():
    assert settings({"replicas": 3}).serving.models[0].replicas.most == 3
    assert settings({"replicas": {"min": 0}}).serving.models[0].replicas.most == 1


@pytest.mark.parametrize("key", ["disaggregate", "kvCache"])
def test_off_is_a_word_whatever_the_yaml_loader_thinks(key):
    value = {"offload": False} if key == "kvCache" else False
    model = settings({key: value}).serving.models[0]
    assert model.disaggregate == "off"
    assert model.kv_cache.offload == "off"


def test_yaml_keeps_words_that_only_look_like_booleans():
    assert read_yaml("{a: off, b: yes, c: 'true', d: true, e: 2027-01-31}") == {
        "a": "off", "b": "yes", "c": "true", "d": True, "e": "2027-01-31",
    }  # fmt: skip


def test_a_key_that_stands_twice_is_refused():
    with pytest.raises(Refusal, match="stands twice, again in line 2"):
        read_yaml("a: 1\na: 2\n")


def test_broken_yaml_is_refused_with_its_place():
    with pytest.raises(Refusal, match="line 1, column"):
        read_yaml("{a: [}")


@pytest.mark.parametrize("section", SECTIONS)
def test_an_unknown_key_is_refused_in_every_section(section):
    if section == "capacity":
        sections = {"capacity": {"h100": {"nonsense": 1}}}
    elif section == "tags":
        return  # any key is a tag there
    elif section == "serving":
        with pytest.raises(Refusal, match="no key `nonsense`"):
            settings({"nonsense": 1})
        return
    else:
        sections = {section: {"nonsense": 1}}
    with pytest.raises(Refusal, match="no key `nonsense`"):
        settings(**sections)


def test_other_programs_keys_are_left_alone():
    config = {
        "aws:region": "us-east-2",
        "pulumi:tags": {"a": "b"},
        "other:x": 1,
        "headwater:serving": {"models": [MODEL]},
    }
    assert settings_from_config(config, "test").region == "us-east-2"


def test_every_fault_is_said_at_once():
    with pytest.raises(Refusal) as refused:
        settings({"acclerator": "h100", "context": 1}, network={"cidr": "8.8.8.0/24"}, capacity={"h300": {}})
    paths = [fault.path for fault in refused.value.faults]
    assert len(paths) == 4
    assert "headwater:serving.models[0].acclerator" in paths
    assert "headwater:network.cidr" in paths


def test_a_secret_is_never_shown():
    with pytest.raises(Refusal) as refused:
        settings(huggingFace={"token": ["hf_verysecret"]})
    assert "hf_verysecret" not in refused.value.text()
    assert "hf_verysecret" not in repr(settings(huggingFace={"token": "hf_verysecret"}))
    assert "hf_verysecret" not in settings(huggingFace={"token": "hf_verysecret"}).model_dump_json()


def test_encrypted_values_are_replaced_by_a_marker():
    assert reveal({"a": [{"secure": "v1:abc"}], "b": {"secure": 1}}) == {"a": [ENCRYPTED], "b": {"secure": 1}}


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        ({"public": ["0.0.0.0/0"]}, "whole internet"),
        ({"public": ["10.0.0.0/8", "::/0"]}, "::/0 is the whole internet"),
        ({"public": ["128.0.0.0/1", "64.0.0.0/2", "2001:db8::/32", "0.0.0.0/2"]}, "0.0.0.0/2 together are the whole"),
        ({"public": ["8000::/1", "::/1"]}, "together are the whole internet"),
        ({"public": []}, "At least 1"),
        ("public", "must be"),
    ],
)
def test_the_api_is_never_open_to_everybody(endpoint, message):
    with pytest.raises(Refusal, match=message):
        settings(cluster={"endpoint": endpoint})


@pytest.mark.parametrize("cidr", ["10.0.0.0/15", "10.0.0.0/19", "10.0.0.1/16", "fd00::/16", "ten"])
def test_a_network_range_is_private_and_of_a_useful_size(cidr):
    with pytest.raises(Refusal, match=r"network\.cidr"):
        settings(network={"cidr": cidr})


def test_a_block_without_end_is_refused():
    reservation = {"id": "cr-0abc", "kind": "block"}
    with pytest.raises(Refusal, match="Capacity Block has an end"):
        settings(capacity={"h100": {"buy": ["reserved"], "reservations": [reservation]}})


def test_a_reservation_nobody_buys_from_is_refused():
    with pytest.raises(Refusal, match="paid for and unused"):
        settings(capacity={"h100": {"reservations": [{"id": "cr-0abc"}]}})


@pytest.mark.parametrize("name", ["Qwen", "1qwen", "qwen_3", "-qwen", "q" * 30, ""])
def test_a_model_name_becomes_a_kubernetes_name(name):
    with pytest.raises(Refusal, match=r"models\[0\]\.name"):
        settings({"name": name})


def test_the_environment_is_the_files_name():
    assert environment_of(Path("stacks/Pulumi.prod-eu.yaml")) == "prod-eu"
    assert environment_of(Path("other.yaml")) == "other"


def test_a_stack_that_does_not_exist_is_answered_with_those_that_do():
    with pytest.raises(Refusal, match="Did you mean `prod`"):
        stack_path("prd", ROOT)
    with pytest.raises(Refusal, match="no such file"):
        stack_path("nowhere.yaml", ROOT)
    assert stack_path("dev", ROOT) == ROOT / "stacks" / "Pulumi.dev.yaml"


def test_a_file_that_is_no_stack_is_refused(tmp_path):
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text("- 1\n")
    with pytest.raises(Refusal, match="one mapping, `config:`"):
        load_stack(file)
    with pytest.raises(Refusal, match="cannot be read"):
        load_stack(tmp_path / "absent.yaml")


def test_the_nearest_word_ignores_case_and_distance_has_an_end():
    assert nearest("H100", ["h100", "h200"]) == "h100"
    assert nearest("banana", ["h100", "h200"]) is None
    assert did_you_mean("banana", ["b", "a"]) == "Known: a, b."


def test_a_fault_without_value_or_remedy_has_no_empty_lines():
    assert Fault("a.b", "", "Why.", "").text("f.yaml") == "f.yaml, a.b\n  Why."
    assert Fault("a.b", "1", "Why.", "Do.").text() == "a.b = 1\n  Why.\n  Do."


@pytest.mark.parametrize("text", ["", " ", "hf_" + "a" * 34 + "\n", "hf_" + "a" * 34 + " #mine", "hf_ä"])
def test_a_token_with_blanks_or_line_ends_is_refused_without_repeating_it(text):
    config = {
        "aws:region": "us-east-2",
        "headwater:huggingFace": {"token": text},
        "headwater:serving": {"models": [{"name": "q", "model": "qwen3-32b"}]},
    }
    with pytest.raises(Refusal) as refused:
        settings_from_config(config, "dev")
    [fault] = refused.value.faults
    assert (fault.path, fault.value, "one word" in fault.why) == ("headwater:huggingFace.token", "", True)
    assert "aaaa" not in refused.value.text()

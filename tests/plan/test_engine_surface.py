"""The catalogue's engine surface says what the released engines accept."""

import json
from pathlib import Path

import pytest

from headwater.catalog.engine_surface import UnknownEngineError, known_versions, surface
from headwater.catalog.releases import engines


@pytest.mark.parametrize("version", known_versions())
def test_every_word_is_the_released_engines_own(shared: Path, version: str) -> None:
    theirs = json.loads((shared / "data" / "vllm_surface.json").read_text())["versions"][version]
    ours = surface(version)
    assert ours.engine_flags == {f[2:] for f, fact in theirs["flags"].items() if fact["in"] == "engine"}
    assert ours.server_flags == {f[2:] for f, fact in theirs["flags"].items() if fact["in"] != "engine"}
    for name in (
        "tool_parsers", "reasoning_parsers", "kv_connectors", "kv_cache_dtypes", "quantization_methods",
        "architectures",
    ):  # fmt: skip
        assert getattr(ours, name) == set(theirs[name]), name


def test_the_surface_of_both_pinned_engines_is_known() -> None:
    assert {engine.vllm for engine in engines().values()} <= set(known_versions())


def test_a_flag_that_went_away_is_gone() -> None:
    old, new = (surface(v) for v in known_versions()[:2])
    assert "calculate-kv-scales" in old.flags
    assert "calculate-kv-scales" not in new.flags


@pytest.mark.parametrize("version", known_versions())
def test_managed_and_secret_flags_exist_in_some_version(version: str) -> None:
    every = frozenset().union(*(surface(v).flags for v in known_versions()))
    assert set(surface(version).managed) <= every
    assert surface(version).secret_flags <= every
    assert surface(version).switches <= surface(version).flags


def test_an_unknown_engine_version_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UnknownEngineError, match=known_versions()[0]):
        surface("0.1.0")


@pytest.mark.parametrize("version", known_versions())
def test_choices_are_of_flags_that_are_there_and_not_empty(version: str) -> None:
    ours = surface(version)
    assert set(ours.choices) <= ours.flags - ours.switches - ours.managed.keys()
    assert all(ours.choices.values())
    assert ours.any_case <= frozenset().union(*(surface(v).choices for v in known_versions()))


def test_choices_come_and_go_with_versions() -> None:
    old, *_, new = (surface(version) for version in known_versions())
    assert old.takes("mamba-cache-mode", "all")
    assert not new.takes("mamba-cache-mode", "all")
    assert not old.takes("all2all-backend", "moonep")
    assert new.takes("all2all-backend", "moonep")


def test_case_matters_only_where_the_engine_minds_it() -> None:
    ours = surface("0.26.0")
    assert ours.takes("attention-backend", "flash_attn")
    assert ours.takes("moe-backend", "Marlin")
    assert not ours.takes("scheduling-policy", "FCFS")
    assert ours.takes("seed", "anything")

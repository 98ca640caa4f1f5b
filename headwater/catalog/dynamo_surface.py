"""What the pinned release of NVIDIA Dynamo accepts, and which release may follow which."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from headwater.catalog.source import load_yaml


@dataclass(frozen=True)
class Parsers:
    """Parsers of Dynamo's frontend.

    Attributes:
        names: as Dynamo spells them.
        aliases: vLLM's name to Dynamo's, where they differ.
    """

    names: frozenset[str]
    aliases: Mapping[str, str]

    def of_vllm(self, name: str) -> str | None:
        """Dynamo's name of the parser that vLLM calls ``name``; None when Dynamo has none."""
        known = self.aliases.get(name, name)
        return known if known in self.names else None


@dataclass(frozen=True)
class DynamoSurface:
    """The accepted words of one release. Flags are without dashes.

    Attributes:
        version: the release whose programs were run and read.
        releases: releases of the same line, which take the same words.
        frontend_flags: that neither warn nor are ignored; ``frontend_switches`` take no value.
        deprecated_flags: still parsed, gone in the next line.
        worker_flags: of the vLLM worker, beside its engine's.
        planner_fields: of the planner's configuration, with their kind: int, float, bool, text, other.
        policy_keys: of the router's policy file, by section.
        decode_context_events: whether the KV router understands events of workers with decode context parallelism.
    """

    version: str
    as_of: dt.date
    releases: tuple[str, ...]
    vllm: str
    frontend_flags: frozenset[str]
    frontend_switches: frozenset[str]
    deprecated_flags: frozenset[str]
    router_modes: frozenset[str]
    worker_flags: frozenset[str]
    disaggregation_modes: frozenset[str]
    tool_parsers: Parsers
    reasoning_parsers: Parsers
    planner_fields: Mapping[str, str]
    policy_keys: Mapping[str, frozenset[str]]
    decode_context_events: bool


@lru_cache(maxsize=1)
def dynamo_surface() -> DynamoSurface:
    """The surface of the pinned release."""
    data = load_yaml("dynamo_surface")
    line = data["lines"][line_of(data["version"])]

    def parsers(name: str) -> Parsers:
        return Parsers(_words(data[name]["names"]), dict(data[name]["as"]))

    return DynamoSurface(
        version=data["version"],
        as_of=data["as_of"],
        releases=tuple(line["releases"]),
        vllm=line["vllm"],
        frontend_flags=_words(data["frontend"]["flags"]),
        frontend_switches=_words(data["frontend"]["switches"]),
        deprecated_flags=_words(data["frontend"]["deprecated"]),
        router_modes=_words(data["frontend"]["router_modes"]),
        worker_flags=_words(data["worker"]["flags"]),
        disaggregation_modes=_words(data["worker"]["disaggregation_modes"]),
        tool_parsers=parsers("tool_parsers"),
        reasoning_parsers=parsers("reasoning_parsers"),
        planner_fields={field: kind for kind, fields in data["planner"].items() for field in fields.split()},
        decode_context_events=data["kv_events_with_decode_context"]["value"],
        policy_keys={section: _words(keys) for section, keys in data["policy"].items()},
    )


def line_of(version: str) -> str:
    """``1.6`` for ``1.6.1``."""
    return version.rsplit(".", 1)[0]


def lines() -> tuple[str, ...]:
    """Release lines that were published, oldest first."""
    return tuple(load_yaml("dynamo_surface")["lines"])


def lines_between(old: str, new: str) -> int | None:
    """Steps from the line of ``old`` to that of ``new``: 0 within a line, 1 to the next; None for an unknown line."""
    known = lines()
    if line_of(old) not in known or line_of(new) not in known:
        return None
    return known.index(line_of(new)) - known.index(line_of(old))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())

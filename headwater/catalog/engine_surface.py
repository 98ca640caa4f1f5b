"""What an engine version accepts: flags and their choices, parsers, KV connectors, dtypes, architectures."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from headwater.catalog.source import load_yaml


class UnknownEngineError(LookupError):
    """The surface of that engine version is not in the catalogue."""


@dataclass(frozen=True)
class Surface:
    """The accepted words of one vLLM version. Flags are without dashes, ``no-`` forms of switches left out.

    Attributes:
        engine_flags: of the engine itself; Dynamo's workers take these.
        server_flags: of the API server only.
        switches: flags that take no value.
        managed: flag to what it belongs to, for flags the platform sets and nobody overrides.
        secret_flags: flags that would put a secret on a command line.
        intranode_all2all: all-to-all backends that cannot cross nodes over EFA.
        choices: words a flag takes, for flags whose list is closed.
        any_case: flags of which upper and lower case do not matter.
    """

    version: str
    engine_flags: frozenset[str]
    server_flags: frozenset[str]
    switches: frozenset[str]
    tool_parsers: frozenset[str]
    reasoning_parsers: frozenset[str]
    kv_connectors: frozenset[str]
    kv_cache_dtypes: frozenset[str]
    quantization_methods: frozenset[str]
    architectures: frozenset[str]
    dtypes: frozenset[str]
    managed: Mapping[str, str]
    secret_flags: frozenset[str]
    intranode_all2all: frozenset[str]
    choices: Mapping[str, frozenset[str]]
    any_case: frozenset[str]

    @property
    def flags(self) -> frozenset[str]:
        """Engine and server flags together."""
        return self.engine_flags | self.server_flags

    def takes(self, flag: str, word: str) -> bool:
        """Whether ``word`` is among the choices of ``flag``, or the flag has none."""
        known = self.choices.get(flag)
        if known is None or word in known:
            return True
        return flag in self.any_case and word.casefold() in {each.casefold() for each in known}

    def is_switch(self, flag: str) -> bool:
        """Whether ``flag`` takes no value."""
        return flag in self.switches


def known_versions() -> tuple[str, ...]:
    """Engine versions whose surface is known, oldest first."""
    return tuple(load_yaml("engine_surface")["versions"])


def as_of() -> dt.date:
    """The day the surfaces were read."""
    day = load_yaml("engine_surface")["as_of"]
    assert isinstance(day, dt.date)
    return day


@cache
def surface(version: str) -> Surface:
    """The surface of a vLLM version.

    Raises:
        UnknownEngineError: the catalogue has no such version.
    """
    data = load_yaml("engine_surface")
    if version not in data["versions"]:
        raise UnknownEngineError(
            f"the flags of vLLM {version} are not in the catalogue (known: {', '.join(data['versions'])})"
        )
    upto = data["versions"][: data["versions"].index(version) + 1]

    def words(name: str) -> frozenset[str]:
        return _accumulate(data[name], upto)

    engine, server = words("engine"), words("server")
    return Surface(
        version=version,
        engine_flags=engine,
        server_flags=server,
        switches=frozenset(data["switches"].split()) & (engine | server),
        tool_parsers=words("tool_parsers"),
        reasoning_parsers=words("reasoning_parsers"),
        kv_connectors=words("kv_connectors"),
        kv_cache_dtypes=words("kv_cache_dtypes"),
        quantization_methods=words("quantization_methods"),
        architectures=words("architectures"),
        dtypes=words("dtypes"),
        managed={flag: reason for reason, flags in data["managed"].items() for flag in flags.split()},
        secret_flags=frozenset(data["secrets"].split()),
        intranode_all2all=frozenset(data["deepep_first_generation"].split()),
        choices={flag: _accumulate(entry, upto) for flag, entry in data["choices"].items() if flag in engine | server},
        any_case=frozenset(data["any_case"].split()),
    )


def _accumulate(entry: dict[str, Any], upto: list[str]) -> frozenset[str]:
    """Words of the first version, with the changes of every version up to the last of ``upto`` applied in order."""
    found = set(entry["first"].split())
    for version in upto[1:]:
        change = entry.get("changes", {}).get(version, {})
        found |= set(change.get("added", "").split())
        found -= set(change.get("removed", "").split())
    return frozenset(found)

"""The models of the catalogue: shapes, checkpoints, parsers; and the search by the names people write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from headwater.catalog.architecture import (
    Architecture,
    Attention,
    Compressed,
    GatedDelta,
    Indexer,
    Kda,
    Layer,
    Mamba2,
    Mixer,
    Mla,
    Mlp,
    Moe,
    Tower,
)
from headwater.catalog.shapes import build
from headwater.catalog.source import load_yaml
from headwater.refusal import nearest

__all__ = [
    "Architecture",
    "Attention",
    "Checkpoint",
    "Compressed",
    "GatedDelta",
    "Indexer",
    "Kda",
    "Layer",
    "Mamba2",
    "Mixer",
    "Mla",
    "Mlp",
    "Model",
    "Moe",
    "Tower",
    "UnknownModelError",
    "find_model",
    "load_models",
    "split_name",
]


class UnknownModelError(ValueError):
    """No such model; the message names the nearest one and how to bring one's own."""


@dataclass(frozen=True)
class Checkpoint:
    """Published weights. ``format`` is a weight format of ``checkpoints.yaml``.

    ``size_bytes`` on disk when published.
    """

    repository: str
    format: str
    note: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True)
class Model:
    """A model of the catalogue.

    Attributes:
        key: what the stack file calls it.
        checkpoints: published weights, the original precision first.
        tool_parser: vLLM's tool-call parser, known to every vLLM version we deploy; None when there is none.
        reasoning_parser: vLLM's reasoning parser, likewise.
        repository_code: what of the model is code in its repository (``tokenizer``); None where engines need none.
        listed: False for variants and older models that only sizing knows.
    """

    key: str
    family: str
    architecture: Architecture
    checkpoints: tuple[Checkpoint, ...]
    tool_parser: str | None
    reasoning_parser: str | None
    source: str
    as_of: str
    repository_code: str | None = None
    listed: bool = True


def _checkpoint(entry: dict[str, Any]) -> Checkpoint:
    size = entry.get("size_gb")
    return Checkpoint(entry["repository"], entry["format"], entry.get("note"), round(size * 1e9) if size else None)


def _model(
    key: str, entry: dict[str, Any], architecture: Architecture, defaults: dict[str, Any], *, listed: bool
) -> Model:
    return Model(
        key=key,
        family=entry.get("family", defaults.get("family", key)),
        architecture=architecture,
        checkpoints=tuple(_checkpoint(c) for c in entry["checkpoints"]),
        tool_parser=entry.get("tool_parser"),
        reasoning_parser=entry.get("reasoning_parser"),
        source=entry.get("source", defaults["source"]),
        as_of=defaults["as_of"],
        repository_code=entry.get("repository_code", defaults.get("repository_code")),
        listed=listed,
    )


@lru_cache(maxsize=1)
def load_models() -> dict[str, Model]:
    """Every model, by key: first the list for stack files, then variants and older models."""
    main, more = load_yaml("models"), load_yaml("variants")
    shapes: dict[str, dict[str, Any]] = {key: entry["shapes"] for key, entry in main["models"].items()}
    models: dict[str, Model] = {}
    dated = {"as_of": str(main["as_of"]), "source": ""}
    for key, entry in main["models"].items():
        models[key] = _model(key, entry, build(entry["shapes"]), dated, listed=True)
    for key, entry in more["models"].items():
        like = entry.get("like")
        shapes[key] = {**shapes.get(like, {}), **entry.get("shapes", {})}
        defaults: dict[str, Any] = {
            "as_of": str(more["as_of"]),
            "source": f"shapes of {like}" if like else str(more["source"]),
        }
        defaults["family"] = models[like].family if like else shapes[key]["class"].split("For")[0].lower()
        defaults["repository_code"] = models[like].repository_code if like else None
        models[key] = _model(key, entry, build(shapes[key]), defaults, listed=False)
    return models


_QUANTIZED = re.compile(
    r"[-_.]?(fp8[-_]dynamic|fp8[-_]static[-_]pertensor|fp8[-_]kv|fp8[-_]block|fp8|nvfp4(?:[-_]v\d)?|mxfp4|fp4|awq(?:[-_]int4|[-_]marlin|[-_][48]bit)?|gptq(?:[-_]int[48]|[-_]marlin)?"
    r"|quantized\.w\d+a\d+|w\d+a\d+|int[48](?:[-_]mix)?|bf16|fp16|bfloat16|float16)$"
)
_ROLE = re.compile(r"[-_](instruct|it|chat|hf|base)$")
_FOREIGN = re.compile(r"gguf|bnb|bitsandbytes|exl[23]|q[2-8]_[k0-9]|mlx", re.IGNORECASE)


def split_name(name: str) -> tuple[str, str | None]:
    """The model part of a checkpoint name in lower case, and its quantisation suffix (None when it carries none).

    ``RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic`` gives ``("llama-3.3-70b-instruct", "fp8-dynamic")``.
    """
    stem = name.strip().rsplit("/", 1)[-1].lower()
    found = _QUANTIZED.search(stem)
    if not found:
        return stem, None
    return stem[: found.start()], found.group(1).replace("_", "-")


def _plain(stem: str) -> str:
    """Stem without vendor prefix and role suffixes, so that base and instruct checkpoints meet."""
    for prefix in ("meta-llama-", "nvidia-"):
        stem = (
            stem.removeprefix("meta-")
            if prefix == "meta-llama-" and stem.startswith(prefix)
            else stem.removeprefix(prefix)
        )
    while (shorter := _ROLE.sub("", stem)) != stem:
        stem = shorter
    return stem.replace("_", "-")


@lru_cache(maxsize=1)
def _index() -> tuple[dict[str, str], dict[str, str]]:
    exact: dict[str, str] = {}
    loose: dict[str, str] = {}
    for key, model in load_models().items():
        exact[key.lower()] = key
        loose.setdefault(_plain(key.lower()), key)
        for checkpoint in model.checkpoints:
            exact.setdefault(checkpoint.repository.lower(), key)
            stem, _ = split_name(checkpoint.repository)
            exact.setdefault(stem, key)
            loose.setdefault(_plain(stem), key)
    return exact, loose


@lru_cache(maxsize=1024)
def refuse_foreign(name: str) -> None:
    """Refuse a name that says its checkpoint is in a format whose bytes are not known.

    Raises:
        UnknownModelError: it says GGUF, bitsandbytes, MLX or EXL.
    """
    if _FOREIGN.search(name):
        raise UnknownModelError(
            f"{name!r} is a GGUF, bitsandbytes, MLX or EXL checkpoint: their bytes per parameter are "
            "not known here; use a checkpoint in bf16, fp8, int8, AWQ, GPTQ, MXFP4 or NVFP4"
        )


def find_model(name: str) -> Model:
    """The model people mean: a key, a repository id, or a checkpoint name with a quantisation suffix.

    Raises:
        UnknownModelError: with the nearest key; a name is never half-matched to another model.
    """
    exact, loose = _index()
    wanted = name.strip().lower()
    stem, _ = split_name(wanted)
    for table, form in ((exact, wanted), (exact, wanted.rsplit("/", 1)[-1]), (exact, stem), (loose, _plain(stem))):
        if form in table:
            return load_models()[table[form]]
    refuse_foreign(name)
    near = nearest(_plain(stem), load_models())
    hint = f"did you mean {near!r}?" if near else "`headwater models` lists what it knows."
    raise UnknownModelError(f"model {name!r} is not in the catalogue; {hint} Or give its config.json.")


def gated(repository: str) -> bool:
    """Whether the hub gives the repository's files only to accounts that agreed to its terms, as far as known."""
    return repository.startswith(tuple(load_yaml("models")["gated"]["repositories"]))

"""The stack file's ``engine:`` arguments: checked against the pinned engine, and read where they change the sizing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.catalog.engine_surface import Surface, known_versions
from headwater.catalog.engine_surface import surface as engine_surface
from headwater.plan.model import StackName
from headwater.refusal import Fault, did_you_mean
from headwater.settings import ModelSettings
from headwater.settings.base import LARGEST
from headwater.settings.serving import EngineValue

WHOLE = frozenset(
    {
        "max-model-len", "max-num-seqs", "max-num-batched-tokens", "tensor-parallel-size", "pipeline-parallel-size",
        "data-parallel-size", "decode-context-parallel-size", "block-size", "max-loras", "max-lora-rank",
    }
)  # fmt: skip
SHARES = frozenset({"gpu-memory-utilization", "kv-offloading-size"})
JSON_FLAGS = frozenset({"speculative-config", "kv-transfer-config", "hf-overrides", "compilation-config"})
UNSIZED = {
    "kv-cache-memory-bytes": "it replaces the memory calculation the plan stands on; use gpu-memory-utilization",
    "num-gpu-blocks-override": "it replaces the block count the plan stands on; use gpu-memory-utilization",
    "prefill-context-parallel-size": "its memory is not modelled",
    "device-memory-utilization": "it replaces gpu-memory-utilization, which is what the plan sizes with",
    "cpu-offload-gb": "every step would read those weights over PCIe; use a smaller precision or one more GPU",
    "offload-backend": "every step would read those weights over PCIe; use a smaller precision or one more GPU",
    "enable-elastic-ep": "the number of ranks would change under the plan",
    "quantization": "the checkpoint's own format decides; choose another with the model's `precision`",
    "performance-mode": "it changes batch sizes the plan sizes with; set max-num-seqs and max-num-batched-tokens",
}
UNSIZED_FORMATS = frozenset({"gguf", "bitsandbytes"})
UNMODELLED = {
    "enable-eplb": "redundant experts take memory",
    "eplb-config": "redundant experts take memory",
    "enable-dbo": "two half batches keep buffers of their own",
    "enable-sleep-mode": "its allocator keeps pools of its own",
    "hf-overrides": "the shapes may differ from those sized",
    "compilation-config": "CUDA graphs may take another size",
    "cudagraph-capture-sizes": "CUDA graphs may take another size",
    "limit-mm-per-prompt": "the image batch of the start-up profile changes",
    "mm-encoder-tp-mode": "the vision tower may be copied to every GPU",
}
"""Accepted, and said aloud: their memory is not part of the addition."""
SAID_ELSEWHERE = {
    "max-model-len": "context",
    "kv-cache-dtype": "kvCache.dtype",
    "speculative-config": "speculative",
    "kv-offloading-size": "kvCache.offload",
    "trust-remote-code": "trustRemoteCode",
}
"""Flags with a setting of their own: the stack file may use either, not both."""
TRANSLATED = frozenset({"enable-auto-tool-choice", "tool-call-parser"})
"""Server flags that both stacks understand: Dynamo's worker has its own spelling of them."""


@dataclass(frozen=True)
class Overrides:
    """Engine arguments of one model as the person wrote them, in order; typed where sizing reads them."""

    values: Mapping[str, EngineValue] = field(default_factory=dict)

    def whole(self, flag: str) -> int | None:
        """A count, None when it was not given."""
        value = self.values.get(flag)
        return None if value is None else int(value)

    def number(self, flag: str) -> float | None:
        """A number, None when it was not given."""
        value = self.values.get(flag)
        return None if value is None else float(value)

    def word(self, flag: str) -> str | None:
        """Text, None when it was not given."""
        value = self.values.get(flag)
        return None if value is None else str(value)

    def switch(self, flag: str) -> bool | None:
        """A switch, None when it was not given; ``no-<flag>: true`` is the same as ``<flag>: false``."""
        if f"no-{flag}" in self.values:
            return not self.values[f"no-{flag}"]
        value = self.values.get(flag)
        return None if value is None else bool(value)


def read_overrides(
    index: int, model: ModelSettings, surfaces: Mapping[StackName, Surface]
) -> tuple[Overrides, list[Fault]]:
    """Arguments of one model and everything wrong with them.

    Args:
        index: the model's place in the stack file.
        model: its settings.
        surfaces: of each serving stack the plan may end on; every argument must be right for all of them.
    """
    faults: list[Fault] = []
    good: dict[str, EngineValue] = {}
    for flag, value in model.engine.items():
        path = f"headwater:serving.models[{index}].engine.{flag}"
        found = list(_check(path, flag, value, model, surfaces))
        faults += found
        if not found:
            good[flag] = value
    return Overrides(good), faults


def _shown(value: EngineValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(
    path: str, flag: str, value: EngineValue, model: ModelSettings, surfaces: Mapping[StackName, Surface]
) -> Iterable[Fault]:
    if flag.startswith("-"):
        yield Fault(path, _shown(value), "Engine arguments are written without dashes.", f"Write `{flag.lstrip('-')}`.")
        return
    for stack, surface in surfaces.items():
        bare = flag.removeprefix("no-") if flag.removeprefix("no-") in surface.switches else flag
        if bare not in surface.flags:
            yield _unknown(path, flag, value, stack, surface)
            return
        if bare in surface.secret_flags:
            why = "A secret on a command line is readable by everybody who sees the pod."
            yield Fault(path, "", why, "Use `headwater:huggingFace`, or authenticate at the gateway.")
            return
        if bare in surface.managed:
            why = f"The serving stack decides {surface.managed[bare]}; an override would break what its parts agree on."
            yield Fault(path, _shown(value), why, "Leave it out.")
            return
        if bare in UNSIZED:
            yield Fault(path, _shown(value), f"This cannot be overridden: {UNSIZED[bare]}.", "")
            return
        if stack == "dynamo" and bare in surface.server_flags and bare not in TRANSLATED:
            why = "This is an argument of vLLM's API server; under Dynamo the frontend serves the API and ignores it."
            yield Fault(path, _shown(value), why, "Leave it out, or set `headwater:serving.stack: llm-d`.")
            return
    surface = next(iter(surfaces.values()))
    bare = flag.removeprefix("no-") if flag.removeprefix("no-") in surface.switches else flag
    if bare == "kv-transfer-config" and (model.disaggregate != "off" or model.kv_cache.offload != "off"):
        why = "The KV connector is the serving stack's when prefill and decode are apart or KV cache is offloaded."
        yield Fault(path, _shown(value), why, "Leave it out, or set `disaggregate: off` and `kvCache: {offload: off}`.")
        return
    form = list(_form(path, bare, value, surface))
    yield from form
    yield from _twice(path, bare, value, model)
    if not form:
        yield from _words(path, bare, value, surfaces)


def _unknown(path: str, flag: str, value: EngineValue, stack: StackName, surface: Surface) -> Fault:
    why = f"vLLM {surface.version}, the engine of {stack}, has no argument `{flag}`."
    having = [version for version in known_versions() if flag in engine_surface(version).flags]
    if having:
        remedy = f"vLLM {' and '.join(having)} {'has' if len(having) == 1 else 'have'} it; leave it out here."
    else:
        hint = did_you_mean(flag, surface.flags - surface.managed.keys())
        remedy = hint if hint.startswith("Did") else "`vllm serve --help=all` of that version lists them."
    return Fault(path, _shown(value), why, remedy)


def _form(path: str, flag: str, value: EngineValue, surface: Surface) -> Iterable[Fault]:
    """Switches are true or false, counts are whole numbers, shares are numbers, JSON is JSON."""
    if surface.is_switch(flag):
        if not isinstance(value, bool):
            yield Fault(path, _shown(value), "This argument is a switch: true or false.", "")
        return
    if isinstance(value, bool):
        yield Fault(path, _shown(value), "This argument takes a value, not true or false.", "")
    elif not str(value).strip() or "\0" in str(value):
        yield Fault(path, "", "This argument takes a value, and there is none.", "Leave it out.")
    elif flag == "load-format" and str(value) in UNSIZED_FORMATS:
        why = "The bytes of such weights are not known here, so the plan would be a guess."
        yield Fault(path, _shown(value), why, "Use a safetensors checkpoint of another `precision`.")
    elif flag == "block-size" and _is_whole(value) and int(value) % 16:
        yield Fault(path, _shown(value), "A block of the KV cache holds a multiple of 16 tokens.", "Leave it out.")
    elif flag in WHOLE:
        if not _is_whole(value):
            why = f"This must be a whole number from 1 to {LARGEST:,}."
            yield Fault(path, _shown(value), why, _auto_fit(flag, value))
    elif flag in SHARES:
        yield from _share(path, flag, value)
    elif flag in JSON_FLAGS:
        try:
            content = json.loads(str(value))
        except json.JSONDecodeError as error:
            yield Fault(path, _shown(value), f"This must be JSON: {error.msg} at character {error.pos + 1}.", "")
        else:
            if not isinstance(content, dict):
                yield Fault(path, _shown(value), "This must be a JSON object.", "")


def _is_whole(value: EngineValue) -> bool:
    try:
        return LARGEST >= float(value) == int(value) >= 1
    except ValueError:
        return False


def _auto_fit(flag: str, value: EngineValue) -> str:
    if flag == "max-model-len" and _shown(value) in {"-1", "auto"}:
        return "Say the context; `headwater explain` shows how much fits."
    return ""


def _share(path: str, flag: str, value: EngineValue) -> Iterable[Fault]:
    try:
        number = float(value)
    except ValueError:
        yield Fault(path, _shown(value), "This must be a number.", "")
        return
    if flag == "gpu-memory-utilization" and not 0.1 <= number <= 0.98:
        why = "This is the share of GPU memory the engine may use: 0.1 to 0.98; CUDA and NCCL need the rest."
        yield Fault(path, _shown(value), why, "Use 0.92 unless a start-up log says otherwise.")
    elif number < 0:
        yield Fault(path, _shown(value), "This must not be negative.", "")


def _twice(path: str, flag: str, value: EngineValue, model: ModelSettings) -> Iterable[Fault]:
    """One question, one answer: an argument that repeats a setting of the same model with another value."""
    given = {
        "context": model.context,
        "kvCache.dtype": None if model.kv_cache.dtype == "auto" else model.kv_cache.dtype,
        "kvCache.offload": None if model.kv_cache.offload == "off" else model.kv_cache.offload,
        "speculative": model.speculative,
        "trustRemoteCode": model.trust_remote_code,
    }
    setting = SAID_ELSEWHERE.get(flag)
    if setting and given[setting] is not None and str(given[setting]) != str(value):
        why = f"`{setting}` of the same model already says this, differently."
        yield Fault(path, _shown(value), why, f"Keep `{setting}` and leave the argument out.")


def _words(path: str, flag: str, value: EngineValue, surfaces: Mapping[StackName, Surface]) -> Iterable[Fault]:
    """Parsers, dtypes, quantisation methods, connectors and what else is one of a list must be ones this engine has."""
    for surface in surfaces.values():
        if not surface.takes(flag, str(value)):
            *most, last = sorted(surface.choices[flag], key=lambda word: (len(word) if word.isdigit() else 0, word))
            listed = f"{', '.join(most)} or {last}" if most else last
            near = [] if last.isdigit() else surface.choices[flag]
            hint = did_you_mean(str(value), near)
            remedy = hint if hint.startswith("Did") else "Use one of them, or leave it out."
            yield Fault(path, _shown(value), f"vLLM {surface.version} takes {listed} here.", remedy)
            return
        known: dict[str, tuple[str, frozenset[str]]] = {
            "tool-call-parser": ("tool-call parser", surface.tool_parsers),
            "reasoning-parser": ("reasoning parser", surface.reasoning_parsers),
            "kv-cache-dtype": ("KV cache dtype", surface.kv_cache_dtypes),
            "quantization": ("quantisation method", surface.quantization_methods),
            "dtype": ("dtype", surface.dtypes),
        }
        if flag in known and str(value) not in known[flag][1]:
            kind, words = known[flag]
            why = f"vLLM {surface.version} has no {kind} `{value}`."
            yield Fault(path, _shown(value), why, did_you_mean(str(value), words))
            return
        if flag == "kv-transfer-config":
            connector = _connector(value)
            if connector not in surface.kv_connectors:
                why = f"vLLM {surface.version} has no KV connector `{connector}`."
                yield Fault(path, _shown(value), why, did_you_mean(str(connector), surface.kv_connectors))
                return


def _connector(value: EngineValue) -> Any:
    try:
        content = json.loads(str(value))
    except json.JSONDecodeError:
        return ""
    return content.get("kv_connector", "") if isinstance(content, dict) else ""

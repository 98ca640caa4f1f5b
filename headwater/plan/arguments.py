"""The engine's command line: every argument with who decided it and why; the person's own win and are marked."""

from __future__ import annotations

import json
from collections.abc import Mapping

from headwater.catalog.engine_surface import Surface
from headwater.plan.choose import Choice
from headwater.plan.model import EngineArg, Origin, RoleName, StackName
from headwater.plan.overrides import Overrides
from headwater.settings import ModelSettings
from headwater.sizing.placement import utilization

NGRAM_LOOKUP = 4
"""Longest run of prompt tokens that n-gram speculation matches."""


class Unemittable(AssertionError):
    """The plan chose an argument the pinned engine does not have: a bug of ours."""


class _Line:
    """Arguments in order, one a flag."""

    def __init__(self) -> None:
        self.args: dict[str, EngineArg] = {}

    def add(self, flag: str, value: object, why: str, origin: Origin = "plan") -> None:
        text = None if value is None else str(value)
        self.args[flag] = EngineArg(flag=f"--{flag}", value=text, origin=origin, why=why)


def arguments(
    choice: Choice, role: RoleName, offload_gib: float, kv_dtype: str, surfaces: Mapping[StackName, Surface]
) -> tuple[EngineArg, ...]:
    """Arguments of one role, the plan's own first, the person's additions last.

    Args:
        choice: where the model runs.
        role: prefill and decode leave the KV connector, and with it offloading, to the serving stack.
        offload_gib: host memory for KV cache of one replica, 0 when off.
        kv_dtype: type of the KV cache as the engine is told.
        surfaces: of every stack the plan may end on; each argument is checked against them.
    """
    subject, line = choice.subject, _Line()
    _memory(line, choice, kv_dtype)
    _parallel(line, choice)
    line.add("enable-chunked-prefill", None, "long prompts do not stall running answers")
    line.add("enable-prefix-caching", None, "routers send prompts to where their prefix is cached")
    if subject.weight_format.online:
        line.add(
            "quantization",
            subject.weight_format.method or "fp8",
            "the checkpoint is 16 bit, weights shrink while loading",
        )
    if offload_gib and role == "serve":
        line.add(
            "kv-offloading-size",
            f"{offload_gib:g}",
            "GiB of host memory for KV cache, all ranks of the replica together",
        )
        line.add("kv-offloading-backend", "native", "vLLM's own host-memory tier")
    _speaking(line, choice)
    _overrides(line, subject.overrides)
    for surface in surfaces.values():
        _verify(line, surface)
    return tuple(line.args.values())


def _memory(line: _Line, choice: Choice, kv_dtype: str) -> None:
    p, subject = choice.placement, choice.subject
    needed = p.per_replica
    line.add(
        "gpu-memory-utilization",
        f"{utilization(choice.question):g}",
        "share of GPU memory the engine uses",
    )
    line.add("max-model-len", p.sizing.max_model_len, "longest request asked")
    line.add("max-num-seqs", p.max_num_seqs, f"{needed} longest requests a replica, with room for shorter ones")
    line.add(
        "max-num-batched-tokens", p.sizing.max_num_batched_tokens, "tokens of one step; decides the activation peak"
    )
    origin: Origin = "plan" if subject.settings.kv_cache.dtype == "auto" else "user"
    why = {
        "plan": "the model's own type"
        if kv_dtype == "auto"
        else "said out loud: engine versions differ in what auto means",
        "user": "kvCache.dtype of the stack file",
    }[origin]
    line.add("kv-cache-dtype", kv_dtype, why, origin)


def _parallel(line: _Line, choice: Choice) -> None:
    d = choice.placement.degrees
    line.add("tensor-parallel-size", d.tensor, "GPUs that share every layer")
    if d.pipeline > 1:
        line.add("pipeline-parallel-size", d.pipeline, "stages, one a node")
    if d.data > 1:
        line.add("data-parallel-size", d.data, "attention ranks, each with its own KV cache")
    if d.expert:
        line.add("enable-expert-parallel", None, "whole experts on each GPU")
    if d.decode_context > 1:
        line.add("decode-context-parallel-size", d.decode_context, "the latent cache is split over ranks, not copied")


def _speaking(line: _Line, choice: Choice) -> None:
    subject = choice.subject
    settings = subject.settings
    if settings.tool_calling and subject.tool_parser:
        line.add("enable-auto-tool-choice", None, "the model calls tools", "model")
        line.add("tool-call-parser", subject.tool_parser, "the model's own tool-call format", "model")
    if settings.reasoning and subject.reasoning_parser:
        line.add(
            "reasoning-parser", subject.reasoning_parser, "thoughts leave the answer as a field of their own", "model"
        )
    if settings.speculative is not None:
        line.add("speculative-config", _speculative(settings), "speculative of the stack file", "user")
    if settings.trust_remote_code:
        line.add("trust-remote-code", None, "allowed in the stack file: code from the model's repository runs", "user")
    elif subject.repository_code is not None:
        line.add("trust-remote-code", None, f"the model's {subject.repository_code} is code in its repository", "model")
    line.add("served-model-name", settings.name, "what clients ask for", "user")


def _speculative(settings: ModelSettings) -> str:
    asked = settings.speculative
    assert asked is not None
    content: dict[str, object] = {"method": asked.method, "num_speculative_tokens": asked.tokens}
    if asked.method == "ngram":
        content["prompt_lookup_max"] = NGRAM_LOOKUP
    if asked.model is not None:
        content["model"] = asked.model
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _overrides(line: _Line, overrides: Overrides) -> None:
    """The person's arguments replace ours in place; new ones come last."""
    for flag, value in overrides.values.items():
        why = "your argument wins over the plan's" if flag.removeprefix("no-") in line.args else "your argument"
        if isinstance(value, bool):
            on = value != flag.startswith("no-")
            bare = flag.removeprefix("no-")
            kept = {k: a for k, a in line.args.items() if k not in (bare, f"no-{bare}")}
            spelled = bare if on else f"no-{bare}"
            entry = EngineArg(flag=f"--{spelled}", value=None, origin="user", why=why)
            if bare in line.args:  # keep its place
                kept = {(spelled if k == bare else k): (entry if k == bare else a) for k, a in line.args.items()}
            else:
                kept[spelled] = entry
            line.args = kept
        else:
            line.add(flag, value, why, "user")


def _verify(line: _Line, surface: Surface) -> None:
    """Every emitted argument is one the engine has; what a person wrote was refused earlier, so a miss is our bug.

    Raises:
        Unemittable: with flag and version.
    """
    for flag, arg in line.args.items():
        bare = flag.removeprefix("no-") if flag.removeprefix("no-") in surface.switches else flag
        if bare not in surface.flags:
            raise Unemittable(f"vLLM {surface.version} has no argument --{flag}")
        if (arg.value is None) != surface.is_switch(bare):
            raise Unemittable(
                f"--{flag} of vLLM {surface.version} {'takes' if arg.value is None else 'takes no'} value"
            )
        words = {
            "tool-call-parser": surface.tool_parsers, "reasoning-parser": surface.reasoning_parsers,
            "kv-cache-dtype": surface.kv_cache_dtypes, "quantization": surface.quantization_methods,
        }.get(bare)  # fmt: skip
        if (words is not None and arg.value not in words) or not surface.takes(bare, arg.value or ""):
            raise Unemittable(f"vLLM {surface.version} has no {bare} {arg.value}")

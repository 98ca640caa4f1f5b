"""One model of the stack file, understood: its shapes, its checkpoint, its demand. No hardware yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.catalog.calibration import Calibration
from headwater.catalog.defaults import default
from headwater.catalog.engine_surface import Surface
from headwater.catalog.engine_surface import surface as engine_surface
from headwater.catalog.models import Architecture, UnknownModelError, find_model, load_models, refuse_foreign
from headwater.catalog.releases import engines
from headwater.plan.model import StackName
from headwater.plan.overrides import UNMODELLED, Overrides, read_overrides
from headwater.refusal import Fault, did_you_mean, nearest
from headwater.settings import InlineModel, ModelSettings, there
from headwater.sizing.config_values import REMEDY, ConfigValueError
from headwater.sizing.from_config import architecture_from_config, names_code
from headwater.sizing.lora import lora_gib
from headwater.sizing.precision import WORDS, WeightFormat, parse_format
from headwater.sizing.question import Fixed
from headwater.sizing.throughput import Workload
from headwater.sizing.units import SizingError
from headwater.sizing.weights import require_shapes


@dataclass(frozen=True)
class Demand:
    """What must be held and how fast.

    Attributes:
        context: longest request, tokens.
        concurrency: requests of that length over all replicas; 0 when ``rate`` decides.
        replicas: fixed number at the minimum, None when the search may choose.
        assumed: defaults that were used, as sentences.
    """

    context: int
    concurrency: int
    work: Workload
    rate: float
    replicas: int | None
    assumed: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """A model as asked. ``key`` is the catalogue key, or ``inline``."""

    index: int
    settings: ModelSettings
    key: str
    architecture: Architecture
    weight_format: WeightFormat
    repository: str
    tool_parser: str | None
    reasoning_parser: str | None
    overrides: Overrides
    demand: Demand
    kv_cache_dtype: str
    calibration: Calibration | None
    fixed: Fixed
    speculative_tokens: int
    draft_layers: int
    repository_code: str | None
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """What clients ask for."""
        return self.settings.name

    def path(self, key: str) -> str:
        """Key path of one of its settings."""
        return model_path(self.index, key)


def model_path(index: int, key: str = "") -> str:
    """``headwater:serving.models[0].context``."""
    return f"headwater:serving.models[{index}]" + (f".{key}" if key else "")


AUTO_MAP = "its config.json names code of its repository (auto_map); if the engine asks for it: trustRemoteCode: true"


@dataclass(frozen=True)
class _Known:
    key: str
    architecture: Architecture
    weight_format: WeightFormat
    repository: str
    tool_parser: str | None
    reasoning_parser: str | None
    repository_code: str | None = None
    notes: tuple[str, ...] = ()


def read_subject(
    index: int,
    settings: ModelSettings,
    surfaces: Mapping[StackName, Surface],
    calibrations: Mapping[str, Calibration],
    project: Path,
) -> tuple[Subject | None, list[Fault]]:
    """One model and everything wrong with it; no subject when it cannot be sized at all.

    Args:
        index: its place in the stack file.
        settings: of the model.
        surfaces: of the stacks it may run on.
        calibrations: entries the stack file may refer to, by key.
        project: folder that paths in the stack file start from.
    """
    overrides, faults = read_overrides(index, settings, surfaces)
    known = _resolve(index, settings, project, faults)
    if known is None:
        return None, faults
    _architecture_known(index, settings, known, surfaces, faults)
    try:
        require_shapes(known.architecture)
    except SizingError as error:
        name = settings.model if isinstance(settings.model, str) else settings.model.repository
        faults.append(Fault(model_path(index, "model"), name, _sentence(str(error)), ""))
        return None, faults
    demand = _demand(index, settings, known.architecture, overrides, faults)
    tokens, drafts = _speculation(index, settings, known, faults)
    calibration = None
    if settings.calibration is not None:
        calibration = calibrations.get(settings.calibration)
        if calibration is None:
            why = f"There is no calibration entry `{settings.calibration}`."
            remedy = (
                did_you_mean(settings.calibration, calibrations)
                if calibrations
                else "None was written yet: headwater calibrate < startup.log"
            )
            faults.append(Fault(model_path(index, "calibration"), settings.calibration, why, remedy))
    _code_allowed(index, settings, known, overrides, faults)
    notes = [*known.weight_format.notes, *known.notes, *_unmodelled(settings, overrides)]
    subject = Subject(
        index=index, settings=settings, key=known.key, architecture=known.architecture,
        weight_format=known.weight_format, repository=known.repository,
        tool_parser=_parser(known.tool_parser, surfaces, "tool_parsers", notes),
        reasoning_parser=_parser(known.reasoning_parser, surfaces, "reasoning_parsers", notes), overrides=overrides,
        demand=demand, kv_cache_dtype=overrides.word("kv-cache-dtype") or settings.kv_cache.dtype,
        calibration=calibration, fixed=_fixed(index, known.architecture, demand.context, overrides, faults),
        speculative_tokens=tokens, draft_layers=drafts, repository_code=known.repository_code,
        notes=tuple(notes),
    )  # fmt: skip
    return subject, faults


def _resolve(index: int, settings: ModelSettings, project: Path, faults: list[Fault]) -> _Known | None:
    if isinstance(settings.model, InlineModel):
        return _inline(index, settings, settings.model, project, faults)
    try:
        model = find_model(settings.model)
    except UnknownModelError as error:
        faults.append(_unknown_model(index, settings.model, str(error)))
        return None
    try:
        weights = parse_format(model, settings.precision)
    except SizingError as error:
        precision = settings.precision or ""
        known = [*WORDS, *(c.format for c in model.checkpoints)]
        near = nearest(precision, known)
        remedy = f"Did you mean `{near}`?" if near and near != precision else ""
        why = _sentence(str(error).split("; known")[0].split("; did you mean")[0])
        faults.append(Fault(model_path(index, "precision"), precision, why, remedy))
        return None
    repository = weights.repository or model.checkpoints[0].repository
    return _Known(
        model.key, model.architecture, weights, repository, model.tool_parser, model.reasoning_parser,
        model.repository_code,
    )  # fmt: skip


def _unknown_model(index: int, name: str, why: str) -> Fault:
    path = model_path(index, "model")
    if "GGUF" in why:
        return Fault(path, name, _sentence(why), "")
    listed = [key for key, entry in load_models().items() if entry.listed]
    near = nearest(name, listed)
    first = f"Did you mean `{near}`?" if near else "`headwater models` lists what it has."
    own = "Or bring its config.json: model: {repository: org/name, config: path}."
    return Fault(path, name, f"The catalogue has no model `{name}`.", f"{first} {own}")


def _inline(
    index: int, settings: ModelSettings, inline: InlineModel, project: Path, faults: list[Fault]
) -> _Known | None:
    try:
        refuse_foreign(inline.repository)
    except UnknownModelError as error:
        faults.append(Fault(model_path(index, "model.repository"), inline.repository, _sentence(str(error)), ""))
        return None
    where, source = "model.architecture", inline.architecture or {}
    config: Mapping[str, Any] | Path = source
    if inline.config is not None:
        where, config = "model.config", project / inline.config
        if not (there(config) or there(config, folder=True)):
            why = "There is no such file; paths start at the project's folder."
            faults.append(Fault(model_path(index, where), inline.config, why, "Put the model's config.json there."))
            return None
    try:
        architecture, weights = architecture_from_config(config, inline.repository, settings.precision)
    except ConfigValueError as error:
        remedy = _sentence(REMEDY)
        if inline.config is None:
            path, value, what = f"{where}.{error.key}", str(error.value), "This"
        else:
            path, value, what = where, inline.config, f"`{error.key}` is {error.value} there; it"
        faults.append(Fault(model_path(index, path), value, f"{what} must be {error.expected}.", remedy))
        return None
    except SizingError as error:
        faults.append(Fault(model_path(index, where), inline.config or "", _sentence(str(error)), ""))
        return None
    notes = [AUTO_MAP] if settings.trust_remote_code is None and names_code(config) else []
    return _Known("inline", architecture, weights, inline.repository, None, None, notes=tuple(notes))


def _code_allowed(
    index: int, settings: ModelSettings, known: _Known, overrides: Overrides, faults: list[Fault]
) -> None:
    """A model that is partly code in its repository cannot be served where that code may not run."""
    for key, said in (
        ("trustRemoteCode", settings.trust_remote_code),
        ("engine.trust-remote-code", overrides.switch("trust-remote-code")),
    ):
        if said is False and known.repository_code is not None:
            why = f"The {known.repository_code} of {known.key} is code in its repository; no engine loads it without."
            remedy = "Leave it out, or choose a model whose repository holds no code."
            faults.append(Fault(model_path(index, key), "false", why, remedy))


def _architecture_known(
    index: int, settings: ModelSettings, known: _Known, surfaces: Mapping[StackName, Surface], faults: list[Fault]
) -> None:
    """Every engine the plan may end on must have the model's class."""
    name = known.architecture.name
    lacking = next(((stack, s) for stack, s in surfaces.items() if name not in s.architectures), None)
    if lacking is None:
        return
    stack, surface = lacking
    value = settings.model if isinstance(settings.model, str) else settings.model.repository
    why = f"vLLM {surface.version}, the engine of {stack}, does not know the class {name}."
    other = next((s for s, e in engines().items() if name in engine_surface(e.vllm).architectures), None)
    near = nearest(name, surface.architectures)
    remedy = f"The nearest it has is {near}." if near else "Choose another model."
    if other is not None:
        remedy = f"The engine of {other} does: `headwater:serving.stack: {other}`."
    faults.append(Fault(model_path(index, "model"), value, why, remedy))


def _demand(
    index: int, settings: ModelSettings, arch: Architecture, overrides: Overrides, faults: list[Fault]
) -> Demand:
    assumed: list[str] = []
    context = overrides.whole("max-model-len") or settings.context
    where = "context" if settings.context else "engine.max-model-len"
    if context is None:
        context = min(default("demand", "context"), arch.max_position)
        assumed.append(f"context {context:,} tokens (default)")
    if context > arch.max_position and "hf-overrides" not in overrides.values:
        who = settings.model if isinstance(settings.model, str) else settings.name
        why = f"{who} was trained for {arch.max_position:,} tokens."
        remedy = "Ask at most that, or set rope scaling yourself: engine: {hf-overrides: '{\"rope_parameters\": …}'}."
        faults.append(Fault(model_path(index, where), str(context), why, remedy))
        context = arch.max_position
    load = settings.load
    if load is not None and load.input + load.output > context:
        why = f"The mean request, {load.input:,} + {load.output:,} tokens, is longer than the context of {context:,}."
        faults.append(Fault(model_path(index, "load"), "", why, f"Ask context: {load.input + load.output} or more."))
    replicas = None
    if "replicas" in settings.model_fields_set:
        replicas = max(settings.replicas.min, 1)
    if load is not None:
        return Demand(context, 0, Workload(load.input, load.output), load.requests_per_second, replicas, tuple(assumed))
    concurrency = settings.concurrency
    if concurrency is None:
        concurrency = int(default("demand", "concurrency"))
        assumed.append(f"{concurrency} requests of the full context at once (default)")
    prompt = max(1, min(default("demand", "typical_input"), context * 3 // 4))
    answer = max(1, min(default("demand", "typical_output"), context // 4))
    return Demand(context, concurrency, Workload(prompt, answer), 0.0, replicas, tuple(assumed))


def _speculation(index: int, settings: ModelSettings, known: _Known, faults: list[Fault]) -> tuple[int, int]:
    """Draft tokens a step, and draft layers loaded from the checkpoint for them."""
    speculative = settings.speculative
    if speculative is None:
        return 0, 0
    if speculative.method == "mtp":
        layers = known.architecture.mtp_layers
        if not layers:
            why = f"{known.architecture.name} of this checkpoint has no multi-token-prediction layer."
            faults.append(
                Fault(model_path(index, "speculative.method"), "mtp", why, "Use ngram, or eagle3 with `model`.")
            )
            return 0, 0
        return speculative.tokens, layers
    return speculative.tokens, 0


def _parser(name: str | None, surfaces: Mapping[StackName, Surface], kind: str, notes: list[str]) -> str | None:
    """The model's own parser, when every engine the plan may end on has it."""
    if name is None:
        return None
    for surface in surfaces.values():
        if name not in getattr(surface, kind):
            notes.append(f"vLLM {surface.version} has no {kind[:-1].replace('_', ' ')} `{name}`: left out")
            return None
    return name


def _unmodelled(settings: ModelSettings, overrides: Overrides) -> list[str]:
    """What is accepted although its memory is not part of the addition."""
    given = [(flag, why) for flag, why in UNMODELLED.items() if flag in overrides.values]
    lines = [f"engine.{flag}: {why}; not in the memory addition" for flag, why in given]
    if settings.speculative is not None and settings.speculative.method == "eagle3":
        lines.append(f"the draft model {settings.speculative.model} is not in the memory addition")
    return lines


def _fixed(index: int, arch: Architecture, context: int, overrides: Overrides, faults: list[Fault]) -> Fixed:
    tokens = overrides.whole("max-num-batched-tokens")
    if overrides.switch("enable-chunked-prefill") is False:
        if tokens is not None and tokens < context:
            why = f"Without chunked prefill one step must hold the longest prompt, {context:,} tokens."
            path = model_path(index, "engine.max-num-batched-tokens")
            faults.append(Fault(path, str(tokens), why, "Raise it, or leave chunked prefill on."))
        tokens = max(tokens or 0, context)
    lora = bool(overrides.switch("enable-lora"))
    if lora:
        try:
            lora_gib(arch, slots=1, rank=1, tp=1)
        except SizingError as error:
            faults.append(
                Fault(model_path(index, "engine.enable-lora"), "true", _sentence(str(error)), "Leave it out.")
            )
            lora = False
    return Fixed(
        tensor=overrides.whole("tensor-parallel-size"),
        pipeline=overrides.whole("pipeline-parallel-size"),
        data=overrides.whole("data-parallel-size"),
        expert=overrides.switch("enable-expert-parallel"),
        decode_context=overrides.whole("decode-context-parallel-size"),
        max_num_seqs=overrides.whole("max-num-seqs"),
        max_num_batched_tokens=tokens,
        utilization=overrides.number("gpu-memory-utilization"),
        block_size=overrides.whole("block-size"),
        enforce_eager=bool(overrides.switch("enforce-eager")),
        prefix_caching=overrides.switch("enable-prefix-caching") is not False,
        lora_slots=(overrides.whole("max-loras") or 1) if lora else 0,
        lora_rank=(overrides.whole("max-lora-rank") or 16) if lora else 0,
    )


def _sentence(text: str) -> str:
    """With a capital, unless it starts with a name, and a full stop."""
    first = text.split(" ", 1)[0]
    start = text[0].upper() + text[1:] if first.isalpha() else text
    return start + ("" if text.endswith((".", "?", ")")) else ".")

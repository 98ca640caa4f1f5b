"""Any model from its own ``config.json``: shapes, cache kinds and weight format, or a refusal by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwater.catalog.architecture import Architecture, Layer
from headwater.sizing.config_classes import TIED_BY_DEFAULT, nearest_class, own_key, usual_keys
from headwater.sizing.config_layers import READERS
from headwater.sizing.config_quant import format_from_quantization
from headwater.sizing.config_tower import tower_from_config
from headwater.sizing.config_values import BASIC, ConfigValueError, head_dim, inside, number, real
from headwater.sizing.precision import WORDS, WeightFormat, weight_format
from headwater.sizing.shards import Split
from headwater.sizing.units import SizingError
from headwater.sizing.weights import stage_weights

Config = dict[str, Any]
INDEX_TOLERANCE = 0.02
"""Difference from the index file's total that is only noted beyond; larger than ``INDEX_LIMIT`` it is refused."""
INDEX_LIMIT = 0.15
NESTED = ("text_config", "llm_config", "language_config")
"""Where a multimodal model keeps its language model's part."""
DRAFT_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
_GEMMA3 = {
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "vocab_size": 262208,
    "max_position_embeddings": 131072,
    "sliding_window": 4096,
    "hidden_size": 2304,
    "num_hidden_layers": 26,
    "intermediate_size": 9216,
}
"""Values transformers leaves out of a Gemma-3 text config because they are its defaults."""


def architecture_from_config(
    config: Mapping[str, Any] | str | Path,
    repository: str | None = None,
    precision: str | None = None,
    *,
    index_total: int | None = None,
) -> tuple[Architecture, WeightFormat]:
    """Shapes and weight format of a model we may never have seen.

    Args:
        config: content of ``config.json``, or its path; beside a path, ``hf_quant_config.json`` and
            ``model.safetensors.index.json`` are read when present.
        repository: where the weights are, kept in the format.
        precision: a precision word or format that overrides a plain checkpoint; must agree with a quantised one.
        index_total: bytes of all tensors, ``metadata.total_size`` of the index file.

    Raises:
        SizingError: for a class or quantisation we do not model (with the nearest we do), or contradictory content.
    """
    content, quantization, total = _load(config)
    total = index_total if index_total is not None else total
    cls = _class_of(content)
    text = _text(content, cls)
    quantization = text.get("quantization_config") or content.get("quantization_config") or quantization
    if cls not in READERS:
        near = nearest_class(cls, text, READERS)
        raise SizingError(
            f"architecture class {cls} is not modelled; the nearest we model is {near}. "
            "Its memory is not guessed from that one"
        )
    text = usual_keys(text, cls)
    if quantization is not None and not isinstance(quantization, dict):
        raise SizingError(f"config.json: `quantization_config` = {str(quantization)[:60]!r}: expected an object")
    try:
        arch = _architecture(content, text, cls)
        dtype = str(
            text.get("torch_dtype")
            or text.get("dtype")
            or content.get("torch_dtype")
            or content.get("dtype")
            or "bfloat16"
        )
        fmt = format_from_quantization(quantization, arch, dtype.removeprefix("torch."))
    except ConfigValueError as error:
        key = own_key(error.key, content, cls)
        nested = next((k for k in NESTED if key.split(".")[0] in (content.get(k) or ())), None)
        raise ConfigValueError(f"{nested}.{key}" if nested else key, error.value, error.expected) from None
    except (TypeError, AttributeError, KeyError, IndexError, ValueError, ArithmeticError) as error:
        if isinstance(error, SizingError):
            raise
        raise SizingError(
            f"config.json: a value is not of the kind a {cls} config holds ({type(error).__name__}: {error})"
        ) from error
    fmt = _precise(replace(fmt, repository=repository), precision)
    return arch, _checked(arch, fmt, total)


def names_code(config: Mapping[str, Any] | Path) -> bool:
    """Whether a config names Python files of its repository (``auto_map``), at the top or nested."""
    content, _, _ = _load(config)
    return any(isinstance(part, dict) and part.get("auto_map") for part in (content, *map(content.get, NESTED)))


def _load(config: Mapping[str, Any] | str | Path) -> tuple[Config, Config | None, int | None]:
    if isinstance(config, Mapping):
        return dict(config), None, None
    path = Path(config)
    if path.is_dir():
        path /= "config.json"
    content = _json(path)
    beside = [
        path.parent / "hf_quant_config.json",
        path.with_name(path.name.replace("_config.json", "_hf_quant_config.json")),
    ]
    quantization = next((_json(p) for p in beside if p != path and p.is_file()), None)
    index = path.parent / "model.safetensors.index.json"
    total = None
    if index.is_file():
        stated = (_json(index).get("metadata") or {}).get("total_size")
        if stated and not (isinstance(stated, (int, float)) and 0 < stated < 1e15):
            raise SizingError(f"{index}: `metadata.total_size` = {str(stated)[:60]}: expected a number of bytes")
        total = int(stated) if stated else None
    return content, quantization, total


def _json(path: Path) -> Config:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SizingError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SizingError(f"{path}: not JSON: {error}") from error
    if not isinstance(content, dict):
        raise SizingError(f"{path}: expected a JSON object, the content of a model's config.json")
    return content


def _class_of(content: Config) -> str:
    classes = content.get("architectures")
    if not classes or not isinstance(classes, list):
        raise SizingError("config.json: `architectures` is missing; it names the class that decides the shapes")
    return str(classes[0])


def _text(content: Config, cls: str) -> Config:
    """The language model's part of the config, with the top level filling what it leaves out."""
    nested = next((content[k] for k in NESTED if isinstance(content.get(k), dict)), None)
    if nested is None:
        return content
    outer = {k: v for k, v in content.items() if not isinstance(v, dict) and k not in {"architectures", "model_type"}}
    merged = {**outer, **nested}
    if "tie_word_embeddings" not in nested and "tie_word_embeddings" in content:
        merged["tie_word_embeddings"] = content["tie_word_embeddings"]
    return {**_GEMMA3, **merged} if cls.startswith("Gemma3") else merged


def _rope(c: Config, cls: str, layers: tuple[Layer, ...]) -> tuple[tuple[int, int], int]:
    """``((rotary dimension, set-ups), positions)`` of the rotary tables."""
    limit = number(c, "max_position_embeddings", "max_sequence_length", default=2048)
    sets = 2 if cls.startswith(("Gemma3", "Gemma4", "MiMoV2")) else 1
    if not any(layer.mixer for layer in layers) or cls.startswith(("NemotronH", "KimiLinear", "KimiK3")):
        return (0, 0), limit
    dim = number(c, "qk_rope_head_dim", default=0, least=0)
    if not dim:
        with inside("rope_parameters"):
            share = real(c.get("rope_parameters") or {}, "partial_rotary_factor", 1.0, 1.0)
        share = real(c, "partial_rotary_factor", share, 1.0)
        dim = number(c, "rotary_dim", default=int(head_dim(c) * share), least=0)
    return (dim, sets), _stretched(c, limit, {"yarn", "dynamic"})


def _stretched(c: Config, limit: int, kinds: set[str], *, stated: bool = False) -> int:
    """Positions after the rope scaling the config configures, of one of ``kinds``; else ``limit``.

    Args:
        c: the language model's config.
        limit: positions without scaling.
        kinds: of scaling that count.
        stated: only where the original length is stated too.
    """
    key = "rope_scaling" if c.get("rope_scaling") else "rope_parameters"
    scaling = c.get(key) or {}
    with inside(key):
        factor = real(scaling, "factor", 1.0, 10_000)
        original = number(scaling, "original_max_position_embeddings", default=0, least=0)
    if str(scaling.get("rope_type") or scaling.get("type") or "") not in kinds or (stated and not original):
        return limit
    return max(limit, int((original or limit) * factor))


def _architecture(content: Config, c: Config, cls: str) -> Architecture:
    for key in BASIC:
        number(c, key, default=1)
    layers = READERS[cls](c, cls)
    shared: dict[Layer, Layer] = {}
    layers = tuple(shared.setdefault(layer, layer) for layer in layers)
    hidden = number(c, "hidden_size")
    rotary, length = _rope(c, cls, layers)
    merge = number(content, "spatial_merge_size", default=2)
    multimodal = cls.endswith("ForConditionalGeneration")
    state = c.get("mamba_ssm_dtype") or c.get("mamba_ssm_cache_dtype")
    if state is None and (cls.startswith("NemotronH") or c.get("linear_attn_config")):
        state = "float32"
    return Architecture(
        name=cls,
        layers=layers,
        hidden=hidden,
        vocabulary=number(c, "vocab_size"),
        tied=bool(c.get("tie_word_embeddings", cls.startswith(TIED_BY_DEFAULT))),
        max_position=_context(c),
        rotary=rotary,
        rope_length=length,
        tower=tower_from_config(content.get("vision_config"), cls, hidden, merge) if multimodal else None,
        mtp_layers=number(c, *DRAFT_LAYERS, default=0, least=0),
        state_dtype={"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}.get(str(state)),
        head_bias=cls.startswith("PhiFor"),
    )


def _context(c: Config) -> int:
    """Longest context the config allows: rope scaling that is configured counts."""
    limit = number(c, "max_position_embeddings", "max_sequence_length", default=2048)
    return _stretched(c, limit, {"yarn"}, stated=True)


def _precise(fmt: WeightFormat, precision: str | None) -> WeightFormat:
    if precision is None:
        return fmt
    wanted = precision.strip().lower().replace("_", "-")
    if wanted in {fmt.word, fmt.name, fmt.name.split(" ")[0]}:
        return fmt
    if fmt.method is not None:
        raise SizingError(
            f"config.json says the weights are {fmt.name.split(' ')[0]}; precision {precision!r} contradicts it"
        )
    if wanted in {"fp32", "fp16", "bf16"}:
        return replace(weight_format(wanted), repository=fmt.repository, notes=("cast while loading",))
    if wanted in {"fp8", "fp8-online"}:
        return replace(
            weight_format("fp8-online"), repository=fmt.repository, notes=("16-bit weights quantised while loading",)
        )
    if wanted in WORDS:
        raise SizingError(
            f"config.json describes 16-bit weights; a {precision} checkpoint has a `quantization_config` of its own"
        )
    raise SizingError(f"precision {precision!r} does not apply to 16-bit weights; use fp32, bf16, fp16 or fp8")


def _checked(arch: Architecture, fmt: WeightFormat, total: int | None) -> WeightFormat:
    """Compare the count with the index file's total: a note when it differs, a refusal when it differs a lot."""
    if total is None or fmt.online:
        return fmt
    counted = []
    for drafts in sorted({0, arch.mtp_layers}):
        w = stage_weights(arch, fmt, Split(), "files", draft_layers=drafts)[0]
        counted.append(w.total - w.absorbed - w.rotary)
    off = min((c / total - 1 for c in counted), key=abs)
    if abs(off) > INDEX_LIMIT:
        raise SizingError(
            f"shapes give {counted[0] / 1e9:.1f} GB but model.safetensors.index.json says {total / 1e9:.1f} GB: "
            f"the checkpoint is not what its config.json says of {arch.name}"
        )
    if abs(off) > INDEX_TOLERANCE:
        note = f"model.safetensors.index.json says {total / 1e9:.1f} GB, shapes give {off:+.1%}"
        return replace(fmt, notes=(*fmt.notes, note))
    return fmt

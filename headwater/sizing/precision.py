"""Weight formats: which tensors a checkpoint quantises, and how many bytes a parameter of each class then takes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from headwater.catalog.keyed import Keyed
from headwater.catalog.models import Checkpoint, Model, find_model, split_name
from headwater.catalog.source import load_yaml
from headwater.refusal import nearest
from headwater.sizing.units import SizingError

CLASSES = ("attention", "mlp", "shared", "experts", "head", "tower")
WORDS = ("fp32", "bf16", "fp16", "fp8", "int8", "int4", "fp4")
REFUSED = {
    "gguf": "GGUF files mix block types per tensor",
    "bitsandbytes": "bitsandbytes packs weights while loading",
    "bnb": "bitsandbytes packs weights while loading",
    "exl3": "EXL files choose bits per tensor",
    "exl2": "EXL files choose bits per tensor",
}


@dataclass(frozen=True, slots=True)
class Packing:
    """Bytes of one parameter with its scales (``bytes``), without them (``weight_bytes``), and bytes per output row."""

    name: str
    bytes: float
    weight_bytes: float
    row_bytes: float = 0.0

    def mixed(self, other: Packing, share: float) -> Packing:
        """``share`` of the parameters in this packing and the rest in ``other``."""
        if share >= 1.0:
            return self
        if share <= 0.0:
            return other
        value = share * self.bytes + (1 - share) * other.bytes
        weight = share * self.weight_bytes + (1 - share) * other.weight_bytes
        return Packing(f"{share:.0%} {self.name}, rest {other.name}", value, weight, share * self.row_bytes)


@dataclass(frozen=True, eq=False)
class WeightFormat(Keyed):
    """How a checkpoint stores its weights.

    Attributes:
        name: format name, as in ``checkpoints.yaml``.
        attention: projections of attention and recurrent blocks; likewise ``mlp``, ``shared``, ``experts``, ``head``,
            ``tower``.
        plain: what never shrinks (embeddings, norms, gates, biases, rotary tables).
        kv_cache: KV-cache type that ``auto`` means for this checkpoint, None for the model's own.
        block: side of the FP8 quantisation block when tensors must split on it.
        marlin: int4 kernels whose shard sizes are restricted.
        method: vLLM's name for the quantisation, None for plain checkpoints.
        repository: where the weights are, when known.
        online: quantised while loading (``--quantization``), the files stay 16 bit.
    """

    name: str
    attention: Packing
    mlp: Packing
    shared: Packing
    experts: Packing
    head: Packing
    tower: Packing
    plain: Packing
    kv_cache: str | None = None
    block: int | None = None
    marlin: bool = False
    method: str | None = None
    repository: str | None = None
    online: bool = False
    notes: tuple[str, ...] = ()

    @property
    def dtype_bytes(self) -> int:
        """Bytes of one activation: 4 for fp32, 2 otherwise."""
        return 4 if self.plain.bytes == 4 else 2

    @property
    def word(self) -> str:
        """The stack file's word for this precision."""
        entry = load_yaml("checkpoints")["formats"].get(self.name.split(" ")[0], {})
        return str(entry.get("word", self.name))


@lru_cache(maxsize=64)
def packing(name: str) -> Packing:
    """A packing of ``checkpoints.yaml``."""
    entry: dict[str, Any] = load_yaml("checkpoints")["packings"][name]
    weight = entry["bits"] / 8
    return Packing(name, weight + entry.get("scale", 0) / entry.get("group", 1), weight, entry.get("row", 0))


@lru_cache(maxsize=256)
def weight_format(name: str, repository: str | None = None) -> WeightFormat:
    """A format by its exact name.

    Raises:
        SizingError: for an unknown format, or one whose bytes are not known (GGUF, bitsandbytes, EXL).
    """
    formats: dict[str, dict[str, Any]] = load_yaml("checkpoints")["formats"]
    wanted = name.strip().lower().replace("_", "-")
    for word, why in REFUSED.items():
        if word in wanted:
            raise SizingError(
                f"weight format {name!r} is not sized: {why}, so bytes per parameter are not known from shapes"
            )
    aliases = {
        "bfloat16": "bf16",
        "float16": "fp16",
        "half": "fp16",
        "float32": "fp32",
        "float": "fp32",
        "w4a16": "gptq",
        "w8a8": "int8-w8a8",
    }
    wanted = aliases.get(wanted, wanted)
    if wanted not in formats:
        near = nearest(wanted, formats)
        hint = f"did you mean {near!r}?" if near else "known: " + ", ".join(formats)
        raise SizingError(f"weight format {name!r} is unknown; {hint}")
    entry = formats[wanted]
    plain = packing(entry.get("all", "bf16"))
    parts = {c: packing(entry[c]) if c in entry else plain for c in CLASSES}
    return WeightFormat(
        name=wanted,
        plain=plain,
        kv_cache=entry.get("kv_cache"),
        block=entry.get("block"),
        marlin=entry.get("marlin", False),
        method=entry.get("method"),
        online=entry.get("online", False),
        repository=repository,
        attention=parts["attention"],
        mlp=parts["mlp"],
        shared=parts["shared"],
        experts=parts["experts"],
        head=parts["head"],
        tower=parts["tower"],
    )


def _from_checkpoint(checkpoint: Checkpoint) -> WeightFormat:
    return weight_format(checkpoint.format, checkpoint.repository)


def _words_of(model: Model) -> str:
    return ", ".join(f"{c.format} ({c.repository})" for c in model.checkpoints)


def default_format(model: Model) -> WeightFormat:
    """The model's first checkpoint: what its publisher trained or shipped."""
    return _from_checkpoint(model.checkpoints[0])


def parse_format(model: Model, precision: str | None) -> WeightFormat:
    """The checkpoint of ``model`` in the asked precision: a stack-file word (``fp8``) or an exact format (``awq``).

    ``fp16`` is a cast of a 16-bit checkpoint; ``fp32`` a cast that doubles it; ``fp8`` without an FP8 checkpoint means
    quantising a 16-bit one while loading. Anything else must exist as a checkpoint.

    Raises:
        SizingError: naming the checkpoints that do exist.
    """
    if precision is None:
        return default_format(model)
    wanted = precision.strip().lower().replace("_", "-")
    formats: dict[str, dict[str, Any]] = load_yaml("checkpoints")["formats"]
    if wanted not in WORDS:
        wanted = weight_format(wanted).name
    for checkpoint in model.checkpoints:
        form = checkpoint.format
        if form == wanted or form.startswith(f"{wanted}-") or (wanted in WORDS and formats[form]["word"] == wanted):
            return _from_checkpoint(checkpoint)
    plain = next((c for c in model.checkpoints if c.format in {"bf16", "fp16", "fp32"}), None)
    if plain is not None and wanted in {"fp32", "fp16", "bf16"}:
        return replace(
            weight_format(wanted, plain.repository), notes=(f"cast from the {plain.format} checkpoint while loading",)
        )
    if plain is not None and wanted in {"fp8", "fp8-online"}:
        note = "no FP8 checkpoint in the catalogue: the 16-bit weights are quantised while loading (--quantization fp8)"
        return replace(weight_format("fp8-online", plain.repository), notes=(note,))
    raise SizingError(f"{model.key} has no {precision} checkpoint in the catalogue; it has {_words_of(model)}")


_SUFFIXES = {
    "fp8-dynamic": "fp8-channel",
    "fp8-static-pertensor": "fp8-tensor",
    "fp8-kv": "fp8-tensor",
    "fp8-block": "fp8-block",
    "nvfp4": "nvfp4",
    "fp4": "nvfp4",
    "mxfp4": "mxfp4",
    "awq": "awq",
    "awq-int4": "awq",
    "awq-4bit": "awq",
    "awq-marlin": "awq",
    "gptq": "gptq",
    "gptq-int4": "gptq",
    "gptq-marlin": "gptq",
    "w4a16": "gptq",
    "quantized.w4a16": "gptq",
    "w8a8": "int8-w8a8",
    "quantized.w8a8": "int8-w8a8",
    "int8": "int8-w8a8",
    "int4": "gptq",
    "bf16": "bf16",
    "bfloat16": "bf16",
    "fp16": "fp16",
    "float16": "fp16",
}
_BLOCK_VENDORS = ("qwen", "deepseek-ai", "zai-org", "minimaxai", "moonshotai", "xiaomimimo", "stepfun-ai")
_PLAIN_WORDS = {"", "auto", "none", "bf16", "bfloat16", "fp16", "float16", "half", "fp32", "float32", "float"}


def _from_suffix(name: str, suffix: str, model: Model) -> WeightFormat:
    vendor = name.split("/", 1)[0].lower() if "/" in name else ""
    suffix = re.sub(r"^(nvfp4)-v\d$", r"\1", suffix)
    if suffix == "awq-4bit":
        note = (
            "the name does not state the int4 group size: 128 assumed; groups of 32 take 8 % more (config.json tells)"
        )
        return replace(weight_format("awq", name), notes=(note,))
    if suffix != "fp8":
        if suffix not in _SUFFIXES:
            raise SizingError(
                f"quantisation suffix {suffix!r} of {name!r} is unknown; known: " + ", ".join(sorted(_SUFFIXES))
            )
        if suffix in {"nvfp4", "fp4"}:
            listed = next((c for c in model.checkpoints if c.format.startswith("nvfp4")), None)
            return weight_format(listed.format if listed else "nvfp4", name)
        return weight_format(_SUFFIXES[suffix], name)
    if vendor == "nvidia":
        return weight_format("fp8-tensor", name)
    listed = next((c for c in model.checkpoints if c.format.startswith("fp8")), None)
    if vendor in _BLOCK_VENDORS or (not vendor and listed is not None and listed.format == "fp8-block"):
        return weight_format("fp8-block", name)
    if vendor == "meta-llama":
        return weight_format(listed.format if listed else "fbgemm-fp8", name)
    if vendor in {"redhatai", "neuralmagic"}:
        return weight_format("fp8-channel", name)
    return (
        weight_format(listed.format, name)
        if listed
        else replace(
            weight_format("fp8-tensor", name),
            kv_cache=None,
            notes=("FP8 layout not stated by the name: per tensor assumed",),
        )
    )


def format_of_name(name: str, quantization: str | None = None) -> tuple[Model, WeightFormat]:
    """Model and format from a checkpoint name as people write it, and vLLM's ``quantization`` word when there is one.

    Raises:
        SizingError: when the word contradicts the name or is unknown; never falls back to bf16 silently.
    """
    model = find_model(name)
    word = (quantization or "").strip().lower()
    for refused, why in REFUSED.items():
        if refused in word:
            raise SizingError(f"quantization {quantization!r} is not sized: {why}")
    exact = next((c for c in model.checkpoints if c.repository.lower() == name.strip().lower()), None)
    _, suffix = split_name(name)
    if exact is not None:
        base = _from_checkpoint(exact)
    elif suffix is not None:
        base = _from_suffix(name.strip(), suffix, model)
    else:
        base = replace(default_format(model), repository=name) if "/" in name else default_format(model)
    return model, _apply_word(base, model, word)


def _apply_word(base: WeightFormat, model: Model, word: str) -> WeightFormat:
    """What ``quantization=word`` makes of a checkpoint."""
    quantised = base.method is not None
    if word in _PLAIN_WORDS:
        cast = {
            "fp32": "fp32",
            "float32": "fp32",
            "float": "fp32",
            "fp16": "fp16",
            "float16": "fp16",
            "half": "fp16",
        }.get(word)
        return replace(weight_format(cast), repository=base.repository) if cast and not quantised else base
    if quantised:
        return base
    if word in {"fp8", "fp8_per_tensor", "online"}:
        return replace(
            weight_format("fp8-online"), repository=base.repository, notes=("16-bit weights quantised while loading",)
        )
    listed = {
        "awq": "awq",
        "gptq": "gptq",
        "mxfp4": "mxfp4",
        "nvfp4": "nvfp4",
        "int4": "gptq",
        "int8": "int8-w8a8",
        "w4a16": "gptq",
        "w8a8": "int8-w8a8",
    }
    for part, name in listed.items():
        if part in word:
            return replace(weight_format(name), repository=base.repository)
    if word in load_yaml("checkpoints")["formats"]:
        return replace(weight_format(word), repository=base.repository)
    if word in {"compressed-tensors", "modelopt", "fbgemm_fp8", "modelopt_fp4"}:
        raise SizingError(
            f"quantization {word!r} does not say how {model.key} is stored; name the checkpoint (its "
            "suffix tells) or give its config.json"
        )
    raise SizingError(
        f"quantization {word!r} is unknown; known formats: " + ", ".join(load_yaml("checkpoints")["formats"])
    )

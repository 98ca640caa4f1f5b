"""The weight format a ``quantization_config`` describes.

Packing of each tensor class, and what the checkpoint leaves out.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from headwater.catalog.architecture import Architecture, Layer
from headwater.sizing.config_values import Config, inside, number
from headwater.sizing.precision import REFUSED, Packing, WeightFormat, packing, weight_format
from headwater.sizing.units import SizingError

Excluded = Callable[[str], bool]
CLASSES = ("attention", "mlp", "shared", "experts")


def _plain_name(text: str) -> str:
    text = text.replace("language_model.", "").replace("backbone.", "model.")
    while text.startswith(("model.", "*model.")):
        text = text.removeprefix("*").removeprefix("model.")
    return text


def _matcher(patterns: Iterable[str]) -> Excluded:
    """True for module names that an ignore list covers: exact names, parents, globs, ``re:`` expressions."""
    exact: set[str] = set()
    globs: list[re.Pattern[str]] = []
    for raw in patterns:
        if raw.startswith("re:"):
            globs.append(re.compile(raw[3:]))
        elif any(x in raw for x in "*?["):
            globs.append(re.compile(fnmatch.translate(_plain_name(raw))))
        else:
            exact.add(_plain_name(raw))

    def excluded(name: str) -> bool:
        parts = name.split(".")
        if any(".".join(parts[:i]) in exact for i in range(1, len(parts) + 1)):
            return True
        return any(g.match(name) or g.match(f"model.{name}") or g.match(".".join(parts[:-1])) for g in globs)

    return excluded


def _modules(layer: Layer, i: int, kind: str) -> list[str]:
    """Names under which checkpoints keep a class's main matrix in layer ``i``."""
    base = f"layers.{i}"
    if kind == "attention" and layer.mixer is not None:
        return [
            f"{base}.self_attn.o_proj",
            f"{base}.linear_attn.out_proj",
            f"{base}.mixer.o_proj",
            f"{base}.mixer.out_proj",
        ]
    if kind == "mlp" and layer.mlp is not None:
        return [f"{base}.mlp.down_proj", f"{base}.mixer.down_proj", f"{base}.feed_forward.down_proj"]
    if kind == "shared" and layer.moe is not None and layer.moe.shared:
        names = ("mlp.shared_experts", "mlp.shared_expert", "mixer.shared_experts", "feed_forward.shared_expert")
        return [f"{base}.{n}.down_proj" for n in names]
    if kind == "experts" and layer.moe is not None:
        own = ("experts.0.down_proj", "moe.experts.0.down_proj", "experts.down_proj")
        inner = ("mlp.experts.0.down_proj", "mlp.experts", "block_sparse_moe.experts.0.w2", "mixer.experts.0.down_proj")
        found = own if layer.mlp is not None else (*own, *inner, "feed_forward.experts.down_proj")
        return [f"{base}.{n}" for n in found]
    return []


def _shares(arch: Architecture, excluded: Excluded) -> dict[str, float]:
    """Share of the layers with each class that stay quantised."""
    shares = {}
    for kind in CLASSES:
        kept = total = 0
        for i, layer in enumerate(arch.layers):
            if names := _modules(layer, i, kind):
                total += 1
                kept += not any(excluded(n) for n in names)
        shares[kind] = kept / total if total else 1.0
    return shares


def _assemble(
    name: str, arch: Architecture, packed: dict[str, Packing], excluded: Excluded, head: Packing | None
) -> WeightFormat:
    base, plain = weight_format("bf16"), packing("bf16")
    shares = _shares(arch, excluded)
    parts = {kind: packed[kind].mixed(plain, shares[kind]) if kind in packed else plain for kind in CLASSES}
    return replace(
        base,
        name=f"{name} (config.json)",
        head=head or plain,
        attention=parts["attention"],
        mlp=parts["mlp"],
        shared=parts["shared"],
        experts=parts["experts"],
    )


def _kv(q: Config) -> str | None:
    scheme = q.get("kv_cache_scheme")
    algo = str(q.get("kv_cache_quant_algo") or (scheme if isinstance(scheme, str) else "")).upper()
    if algo.startswith("FP8") or (isinstance(scheme, dict) and scheme.get("num_bits") == 8):
        return "fp8"
    return "nvfp4" if algo.startswith("NVFP4") else None


def _int_packing(bits: int, group: int | None, symmetric: bool) -> Packing:
    if bits not in {2, 3, 4, 8}:
        raise SizingError(f"quantization_config: {bits} bits per weight is not modelled")
    weight = bits / 8
    if not group or group < 0:
        return Packing(f"int{bits}", weight, weight, 2.0)
    scale = (2.0 if symmetric else 2.0 + bits / 8) / group
    return Packing(f"int{bits}-g{group}", weight + scale, weight)


def _weights_of(group: Config) -> Packing:
    """Packing of one ``config_groups`` entry of compressed-tensors or ModelOpt."""
    w = group.get("weights") or {}
    with inside("quantization_config.config_groups.weights"):
        size = number(w, "group_size", default=0, least=-1)
        bits = number(w, "num_bits", default=0)
    kind, strategy = w.get("type"), w.get("strategy")
    if kind == "float" and bits == 8:
        if strategy == "block":
            return packing("fp8-block")
        if size == 32:
            return packing("mxfp8")
        return packing("fp8-channel" if strategy == "channel" else "fp8-tensor")
    if kind == "float" and bits == 4:
        return packing("mxfp4" if size == 32 else "nvfp4")
    if kind == "int" and bits:
        return _int_packing(bits, size, bool(w.get("symmetric", True)))
    raise SizingError(f"quantization_config: weights of {bits} bits, type {kind!r} are not modelled")


_ALGORITHMS = {
    "FP8": "fp8-tensor",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8-channel",
    "FP8_PB_WO": "fp8-block",
    "FP8_BLOCK": "fp8-block",
    "NVFP4": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
    "W4A8_NVFP4_FP8": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "MXFP4": "mxfp4",
    "MXFP8": "mxfp8",
    "W4A16_AWQ": "int4-g128",
    "INT4_AWQ": "int4-g128",
}


def _algorithm(name: str) -> Packing:
    if name.upper() not in _ALGORITHMS:
        raise SizingError(
            f"quantization_config: algorithm {name!r} is not modelled; known: {', '.join(sorted(_ALGORITHMS))}"
        )
    return packing(_ALGORITHMS[name.upper()])


def _per_module(arch: Architecture, layers: dict[str, Config]) -> tuple[dict[str, Packing], Packing | None]:
    """Mixed precision: an algorithm for every quantised module; each class takes its commonest.

    Also the output head's.
    """
    named = {_plain_name(name): _algorithm(str(entry.get("quant_algo"))) for name, entry in layers.items()}
    packed: dict[str, Packing] = {}
    for kind in CLASSES:
        found: Counter[Packing] = Counter()
        total = 0
        for i, layer in enumerate(arch.layers):
            names = _modules(layer, i, kind)
            total += bool(names)
            found.update(named[n] for n in names if n in named)
        if found:
            commonest, count = found.most_common(1)[0]
            packed[kind] = commonest.mixed(packing("bf16"), count / total)
    return packed, named.get("lm_head")


def _modelopt(q: Config, arch: Architecture) -> WeightFormat:
    algo = str(q.get("quant_algo") or "")
    ignore = _matcher([*(q.get("ignore") or ()), *(q.get("exclude_modules") or ())])
    if algo.upper() == "MIXED_PRECISION":
        packed, head = _per_module(arch, q.get("quantized_layers") or {})
        return replace(
            _assemble("mixed", arch, packed, lambda _: False, head), method="modelopt_mixed", kv_cache=_kv(q)
        )
    packing_ = _algorithm(algo)
    method = "modelopt_fp4" if "FP4" in algo.upper() else "modelopt"
    fmt = _assemble(packing_.name, arch, dict.fromkeys(CLASSES, packing_), ignore, None)
    return replace(fmt, method=method, kv_cache=_kv(q))


def _compressed(q: Config, arch: Architecture) -> WeightFormat:
    ignore = _matcher(q.get("ignore") or ())
    groups = list((q.get("config_groups") or {}).values())
    if not groups:
        raise SizingError("quantization_config: compressed-tensors without `config_groups`")
    packs = [_weights_of(g) for g in groups]
    packed: dict[str, Packing] = {}
    for group, pack in zip(groups, packs, strict=True):
        targets = group.get("targets") or ["Linear"]
        within = _matcher(t for t in targets if t != "Linear")
        for kind in CLASSES:
            names = [n for i, layer in enumerate(arch.layers) for n in _modules(layer, i, kind)]
            if "Linear" in targets or any(within(n) for n in names):
                packed.setdefault(kind, pack)
    name = packs[0].name if len(set(packs)) == 1 else "mixed"
    fmt = _assemble(name, arch, packed, ignore, None)
    marlin = packs[0].name.startswith("int4")
    block = 128 if any(p.name == "fp8-block" for p in packs) else None
    return replace(
        fmt, method="compressed-tensors", kv_cache=_kv(q), marlin=marlin and "attention" in packed, block=block
    )


def format_from_quantization(q: Config | None, arch: Architecture, dtype: str) -> WeightFormat:
    """The format of a checkpoint from its ``quantization_config`` (None: plain weights of ``dtype``).

    Raises:
        SizingError: for a method whose bytes per parameter are not known.
    """
    if not q:
        return weight_format({"float32": "fp32", "float16": "fp16"}.get(dtype, "bf16"))
    if "quantization" in q and "quant_method" not in q:
        q = {**q["quantization"], "quant_method": "modelopt"}
    method = str(q.get("quant_method") or ("modelopt" if q.get("quant_algo") else "")).lower()
    for word, why in REFUSED.items():
        if word in method:
            raise SizingError(f"quantization_config: {method} is not sized: {why}")
    ignore = _matcher(q.get("modules_to_not_convert") or q.get("ignored_layers") or ())
    if method == "fp8":
        block = q.get("weight_block_size")
        if block and list(block) != [128, 128]:
            raise SizingError(f"quantization_config: FP8 blocks of {block} are not modelled, only [128, 128]")
        name = "fp8-block" if block else "fp8-tensor"
        fmt = _assemble(name, arch, dict.fromkeys(CLASSES, packing(name)), ignore, None)
        return replace(fmt, method="fp8", block=128 if block else None)
    if method == "fbgemm_fp8":
        fmt = _assemble("fbgemm-fp8", arch, {"mlp": packing("fp8-channel")}, lambda _: False, None)
        return replace(fmt, method=method)
    if method in {"mxfp4", "gpt_oss_mxfp4"}:
        return replace(_assemble("mxfp4", arch, {"experts": packing("mxfp4")}, lambda _: False, None), method="mxfp4")
    if method in {"gptq", "awq", "gptq_marlin", "awq_marlin", "auto_gptq", "auto_awq"}:
        with inside("quantization_config"):
            bits = number(q, "bits", "w_bit", default=4)
            group = number(q, "group_size", "q_group_size", default=128, least=-1) or 128
        symmetric = bool(q.get("sym", True)) if "gptq" in method else not q.get("zero_point", True)
        pack = _int_packing(bits, group, symmetric)
        fmt = _assemble(
            "gptq" if "gptq" in method else "awq",
            arch,
            dict.fromkeys(CLASSES, pack),
            ignore,
            pack if q.get("lm_head") else None,
        )
        return replace(fmt, method=method, marlin=bits == 4)
    if method == "compressed-tensors":
        return _compressed(q, arch)
    if method.startswith("modelopt"):
        return _modelopt(q, arch)
    raise SizingError(
        f"quantization_config: method {method or 'unnamed'!r} is not modelled; known: fp8, "
        "fbgemm_fp8, mxfp4, gptq, awq, compressed-tensors, modelopt"
    )

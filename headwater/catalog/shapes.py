"""From the catalogue's own words for a model's shapes to an :class:`Architecture`."""

from __future__ import annotations

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

Entry = dict[str, Any]


def _attention(e: Entry, letter: str) -> Attention:
    """``F`` full, ``S`` sliding window, ``C`` chunked local; full layers take the sizes under ``global`` when given."""
    sizes = {**e, **e.get("global", {})} if letter == "F" else e
    return Attention(
        heads=sizes["heads"],
        kv_heads=sizes["kv_heads"],
        head_dim=sizes["head_dim"],
        value_dim=sizes.get("value_dim", sizes["head_dim"]),
        bias=e.get("qkv_bias", False),
        output_bias=e.get("output_bias", False),
        qk_norm=e.get("qk_norm", False),
        gated=e.get("gated_attention", False),
        window=e["window"] if letter == "S" else None,
        chunk=e["chunk"] if letter == "C" else None,
    )


def indexer_layers(n_layers: int, frequency: int, offset: int, pattern: str | None = None) -> tuple[bool, ...]:
    """Which layers have an indexer of their own; the others read a neighbour's (GLM-5.2)."""
    if pattern:
        return tuple(pattern[i % len(pattern)] != "S" for i in range(n_layers))
    return tuple(max(0, i - offset + 1) % frequency == 0 for i in range(n_layers))


def _mla(e: Entry, with_indexer: bool) -> Mla:
    m, ix = e["mla"], e.get("indexer")
    return Mla(
        heads=e["heads"],
        q_lora=m.get("q_lora"),
        kv_lora=m["kv_lora"],
        rope=m["rope"],
        nope=m["nope"],
        value_dim=m["value"],
        indexer=Indexer(ix["heads"], ix["dim"], ix["topk"]) if ix and with_indexer else None,
        sparse=ix is not None,
        gated=m.get("gated", False),
    )


def _recurrent(e: Entry) -> Mixer:
    r = e["recurrent"]
    if r["kind"] == "gated_delta":
        return GatedDelta(r["key_heads"], r["value_heads"], r["key_dim"], r["value_dim"], r["conv"])
    if r["kind"] == "mamba2":
        return Mamba2(r["heads"], r["head_dim"], r["state"], r["groups"], r["conv"])
    return Kda(r["heads"], r["head_dim"], r["conv"], r.get("full_rank_gate", False))


def _moe(e: Entry) -> Moe | None:
    m = e.get("moe")
    if not m:
        return None
    return Moe(
        experts=m["experts"],
        active=m["active"],
        intermediate=m["intermediate"],
        shared=m.get("shared", 0),
        shared_gate=m.get("shared_gate", False),
        gated=m.get("gated", True),
        bias=m.get("bias", False),
        latent=m.get("latent"),
    )


def _mixers(e: Entry) -> list[Mixer]:
    n = e["layers"]
    if "compress_ratios" in e:
        c = e["compressed"]
        ratios = [e["compress_ratios"][i % len(e["compress_ratios"])] for i in range(n)]
        ratios[: len(e.get("compress_first", []))] = e.get("compress_first", [])
        return [
            Compressed(e["heads"], r, e["window"], c["state_bytes"], c["index_bytes"] if r == c["indexed"] else 0)
            for r in ratios
        ]
    pattern = e.get("pattern", "F")
    indexed = indexer_layers(n, e.get("indexer", {}).get("frequency", 1), e.get("indexer", {}).get("offset", 2))
    full_last = e.get("full_last", False)
    letters = ["F" if full_last and i == n - 1 else pattern[i % len(pattern)] for i in range(n)]
    mixers: list[Mixer] = []
    for i, letter in enumerate(letters):
        if letter == "R":
            mixers.append(_recurrent(e))
        elif "mla" in e:
            mixers.append(_mla(e, indexed[i]))
        else:
            mixers.append(_attention(e, letter))
    return mixers


def _stack(e: Entry) -> list[Layer]:
    moe, norms = _moe(e), e.get("norms", 2)
    mlp = Mlp(e["mlp"], e.get("mlp_gated", True), e.get("mlp_bias", False)) if e.get("mlp") else None
    first, every = e.get("moe", {}).get("first_dense", 0), e.get("moe", {}).get("every", 1)
    both = e.get("moe", {}).get("beside_dense", False)
    layers = []
    for i, mixer in enumerate(_mixers(e)):
        sparse = moe is not None and i >= first and (i - first) % every == every - 1
        layers.append(Layer(mixer, mlp if not sparse or both else None, moe if sparse else None, norms))
    return layers


def _blocks(e: Entry) -> list[Layer]:
    """One letter a layer, one thing a layer.

    ``M`` Mamba-2, ``*`` attention, ``E`` experts, ``-`` dense feed-forward.
    """
    moe, mlp = _moe(e), Mlp(e["mlp"], e.get("mlp_gated", True), False) if e.get("mlp") else None
    table = {
        "M": Layer(_recurrent(e) if "recurrent" in e else None, norms=1),
        "*": Layer(_attention(e, "F") if "heads" in e else None, norms=1),
        "E": Layer(None, moe=moe, norms=1),
        "-": Layer(None, mlp=mlp, norms=1),
    }
    return [table[letter] for letter in e["blocks"]]


def build(e: Entry) -> Architecture:
    """The architecture of one catalogue entry; sizes are elements, windows and lengths are tokens."""
    if e.get("uncountable") and "layers" not in e:
        return Architecture(
            e["class"],
            (),
            0,
            0,
            tied=False,
            max_position=e["context"],
            published_parameters=e.get("published_parameters"),
            uncountable=e["uncountable"],
        )
    layers = _blocks(e) if "blocks" in e else _stack(e)
    shared: dict[Layer, Layer] = {}
    stack = tuple(shared.setdefault(layer, layer) for layer in layers)
    rope = e.get("rope", {})
    default_dim = e["mla"]["rope"] if "mla" in e else e.get("head_dim", 0)
    tower = e.get("tower")
    return Architecture(
        name=e["class"],
        layers=stack,
        hidden=e["hidden"],
        vocabulary=e["vocabulary"],
        tied=e.get("tied", False),
        max_position=e["context"],
        rotary=(rope.get("dim", default_dim), rope.get("sets", 1)),
        rope_length=max(rope.get("length", 0), e["context"]),
        tower=Tower(**tower) if tower else None,
        mtp_layers=e.get("mtp", 0),
        dtype=e.get("dtype", "bf16"),
        state_dtype=e.get("state_dtype"),
        head_bias=e.get("head_bias", False),
        published_parameters=e.get("published_parameters"),
        uncountable=e.get("uncountable"),
    )

"""Calibration entries: what one start-up log taught about one (vLLM version, GPU, layout)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import yaml


class CalibrationError(ValueError):
    """The entry is malformed, or does not belong to the request."""


@dataclass(frozen=True)
class Calibration:
    """Measured terms that replace priors, GiB per GPU; None keeps the prior.

    Attributes:
        version: vLLM release of the log.
        gpu: GPU key, or the GPU's name when it is not in the catalogue.
        visible_gib: total memory CUDA saw.
        kernel: quantisation kernel (vLLM's method name), ``none`` for plain weights.
        model: catalogue key or repository the log is about.
        non_torch: memory outside PyTorch (persistent sampler state already taken out).
        sampler_q: rows of vocabulary-sized floats per sequence in the sampler pass.
        graph_estimate: CUDA-graph memory subtracted before the KV cache; ``graph_actual`` what capture took.
        context_reserve: CUDA context and NCCL before the first snapshot.
        digest: SHA-256 of the log text.
    """

    version: str
    gpu: str
    visible_gib: float
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: bool = False
    kernel: str = "none"
    model: str | None = None
    non_torch: float | None = None
    sampler_q: float | None = None
    graph_estimate: float | None = None
    graph_actual: float | None = None
    context_reserve: float | None = None
    block_size: int | None = None
    digest: str = ""
    as_of: str = ""
    source: str = ""

    @property
    def name(self) -> str:
        """What the stack file's ``calibration`` key says."""
        parts = [self.gpu, f"vllm{self.version}", f"tp{self.tp}"]
        parts += [f"pp{self.pp}"] if self.pp > 1 else []
        parts += [f"dp{self.dp}"] if self.dp > 1 else []
        parts += ["ep"] if self.ep else []
        parts += [self.kernel] if self.kernel != "none" else []
        return "-".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, unset ones left out, for a YAML file."""
        return {k: v for k, v in asdict(self).items() if v is not None and v != ""}

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Calibration:
        """The entry of a YAML file.

        Raises:
            CalibrationError: naming unknown or missing keys, and values of another type.
        """
        if not isinstance(entry, dict):
            raise CalibrationError("calibration entry: expected a mapping of keys to values")
        known = {f.name for f in fields(cls)}
        if unknown := sorted({str(key) for key in entry} - known):
            raise CalibrationError(
                f"calibration entry: unknown keys {', '.join(unknown)}; known: {', '.join(sorted(known))}"
            )
        if missing := [k for k in ("version", "gpu", "visible_gib") if k not in entry]:
            raise CalibrationError(f"calibration entry: missing {', '.join(missing)}")
        found: dict[str, Any] = {
            key: str(value) if key in {"version", "as_of"} else value for key, value in entry.items()
        }
        kinds = {f.name: str(f.type).removesuffix(" | None") for f in fields(cls)}
        for key, value in found.items():
            if not _is(kinds[key], value):
                raise CalibrationError(f"calibration entry: {key} = {str(value)[:60]}: expected {_KINDS[kinds[key]]}")
        if found["visible_gib"] <= 0:
            raise CalibrationError(f"calibration entry: visible_gib = {found['visible_gib']:g}: expected more than 0")
        return cls(**found)


_KINDS = {"str": "text", "int": "a whole number above zero", "float": "a number", "bool": "true or false"}


def _is(kind: str, value: Any) -> bool:
    """Whether a value of a YAML file is of a field's type; what may be left out may not be empty."""
    if kind in {"str", "bool"}:
        return isinstance(value, str if kind == "str" else bool)
    if isinstance(value, bool) or not isinstance(value, int if kind == "int" else (int, float)):
        return False
    return value > 0 if kind == "int" else math.isfinite(value) and abs(value) < 1e6  # GiB, or rows of a sampler


def load_calibrations(path: Path) -> dict[str, Calibration]:
    """Entries of a YAML file that `headwater calibrate --write` made, by key; none when the file does not exist.

    Raises:
        CalibrationError: when the file is not of that form.
    """
    if not path.is_file():
        return {}
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        why = getattr(error, "problem", None) or "not text in UTF-8"
        mark = getattr(error, "problem_mark", None)
        raise CalibrationError(f"{path}{f', line {mark.line + 1}' if mark else ''}: not YAML: {why}") from None
    entries = document.get("calibrations") if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        raise CalibrationError(f"{path}: expected a mapping `calibrations` of entries")
    return {str(key): Calibration.from_dict(entry) for key, entry in entries.items()}


def save_calibration(path: Path, entry: Calibration) -> str:
    """Add or replace one entry of the file, keys sorted; returns the entry's key.

    Raises:
        CalibrationError: when the existing file is not of the expected form.
    """
    entries = {**load_calibrations(path), entry.name: entry}
    document = {"calibrations": {key: entries[key].to_dict() for key in sorted(entries)}}
    path.write_text(yaml.safe_dump(document, sort_keys=True, allow_unicode=True), encoding="utf-8")
    return entry.name

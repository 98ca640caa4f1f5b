"""Calibration entries: what one start-up log taught about one (vLLM version, GPU, layout)."""

from __future__ import annotations

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
            CalibrationError: naming unknown or missing keys.
        """
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(entry) - known):
            raise CalibrationError(
                f"calibration entry: unknown keys {', '.join(unknown)}; known: {', '.join(sorted(known))}"
            )
        if missing := [k for k in ("version", "gpu", "visible_gib") if k not in entry]:
            raise CalibrationError(f"calibration entry: missing {', '.join(missing)}")
        return cls(**{**entry, "version": str(entry["version"])})


def load_calibrations(path: Path) -> dict[str, Calibration]:
    """Entries of a YAML file that `headwater calibrate --write` made, by key; none when the file does not exist.

    Raises:
        CalibrationError: when the file is not of that form.
    """
    if not path.is_file():
        return {}
    document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
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

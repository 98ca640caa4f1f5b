"""Scores the sizing engine on measured vLLM start-ups and rewrites the tables of docs/sizing.md.

Run as ``python -m tests.accuracy`` (``make accuracy``); ``--check`` only prints. A record that cannot be scored is
listed with its reason.
"""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.sizing.engine import Sizing, size
from headwater.sizing.records import request_from
from tests.conftest import ROOT, shared_folder

BEGIN, END = "<!-- accuracy:begin (make accuracy) -->", "<!-- accuracy:end -->"
PRINTED = 0.005
"""Half of the last printed digit of a GiB value."""

UNSCORED = {
    119: "no memory was left: the KV figure is negative",
    138: "unified memory shared with other programs, utilization not stated",
    170: "two different GPUs with a hand-made layer split; the start was refused",
}
"""Records whose own text says why a prediction cannot be compared with them."""

UNCOUNTED = {138: "the count fits an FP8 cache, the record says auto"}
"""Records whose token count cannot come from the KV type they state."""


@dataclass
class Point:
    """One record: what was predicted and measured, and why parts of it are not scored."""

    record: dict[str, Any]
    sizing: Sizing | None = None
    reason: str = ""
    kv_reason: str = ""
    weights: tuple[float, float] | None = None
    kv: tuple[float, float] | None = None
    tokens: tuple[int, int] | None = None
    inside: bool | None = None
    exact: bool | None = None
    exact_reason: str = ""

    @property
    def calibrated(self) -> bool:
        """In a measured (version, GPU, layout) cell."""
        return self.sizing is not None and self.sizing.calibrated


@dataclass
class Score:
    """Relative errors in per cent and absolute ones in GiB of one quantity."""

    percent: list[float] = field(default_factory=list)
    gib: list[float] = field(default_factory=list)

    def add(self, pair: tuple[float, float]) -> None:
        """One (predicted, measured) pair."""
        self.percent.append(abs(pair[0] - pair[1]) / pair[1] * 100)
        self.gib.append(abs(pair[0] - pair[1]))

    def cells(self) -> list[str]:
        """n, MAE, median, p90, max in per cent, MAE in GiB."""
        if not self.percent:
            return ["0", "–", "–", "–", "–"]
        ordered = sorted(self.percent)
        p90 = ordered[min(len(ordered) - 1, round(0.9 * (len(ordered) - 1)))]
        values = [statistics.fmean(ordered), statistics.median(ordered), p90, ordered[-1]]
        return [str(len(ordered)), *(f"{v:.2f} %" for v in values)]

    @property
    def mae(self) -> float:
        """Mean absolute error, per cent."""
        return statistics.fmean(self.percent) if self.percent else 0.0

    @property
    def median(self) -> float:
        """Median absolute error, per cent."""
        return statistics.median(self.percent) if self.percent else 0.0


def _weights(s: Sizing, measured: float) -> tuple[float, float]:
    """With pipeline stages a record holds one rank's line and does not say whose: the nearest stage counts."""
    return min(((x.weights_gib.expected, measured) for x in s.stages), key=lambda pair: abs(pair[0] - pair[1]))


def _kv_reason(record: dict[str, Any], measured: dict[str, Any]) -> str:
    if measured["kv_gib"] is None:
        return "no KV figure"
    if record["id"] in UNSCORED:
        return UNSCORED[record["id"]]
    if record["gpu_memory_utilization"] is None:
        return "utilization not stated"
    if record["vllm_version"] is None:
        return "version not stated"
    return ""


def evaluate(record: dict[str, Any]) -> Point:
    """Predict one record and compare."""
    point, measured = Point(record), record["measured_per_gpu"]
    if not record.get("model"):
        point.reason = "model not stated"
        return point
    try:
        request, _ = request_from(record)
    except ValueError as error:
        point.reason = str(error).split(";")[0].split(". ")[0]
        return point
    s = point.sizing = size(request)
    if measured["weights_gib"] is not None:
        point.weights = _weights(s, measured["weights_gib"])
    point.kv_reason = _kv_reason(record, measured)
    if not point.kv_reason:
        first = s.stages[0].kv
        band = first if len(s.stages) > 1 else s.kv
        point.kv = (max(0.0, band.expected), measured["kv_gib"])
        point.inside = band.low - PRINTED <= measured["kv_gib"] <= band.high + PRINTED
        if measured["kv_tokens"]:
            point.tokens = (s.kv_tokens_printed, measured["kv_tokens"])
    elif point.kv_reason == "version not stated":
        point.inside = s.kv.low - PRINTED <= measured["kv_gib"] <= s.kv.high + PRINTED
    _arithmetic(point, s, measured)
    return point


def _arithmetic(point: Point, s: Sizing, measured: dict[str, Any]) -> None:
    """Blocks and tokens that follow from the measured KV bytes must bracket the measured ones."""
    kv, tokens, blocks = measured["kv_gib"], measured["kv_tokens"], measured["kv_blocks"]
    if kv is None or kv <= 0 or (tokens is None and blocks is None):
        point.exact_reason = "no KV bytes with a count"
    elif point.record["id"] in UNCOUNTED:
        point.exact_reason = UNCOUNTED[point.record["id"]]
    elif len(s.stages) > 1:
        point.exact_reason = "the KV line is the first stage's, the count the last's"
    else:
        low, high = s.stage.blocks(kv - PRINTED), s.stage.blocks(kv + PRINTED)
        # Some records hold tokens / 16 as "blocks"; the printed token count decides where there is one.
        point.exact = s.tokens_of(low) <= tokens <= s.tokens_of(high) if tokens else low <= blocks <= high


def points(folder: Path) -> list[Point]:
    """Every record of the reference data, in its order."""
    records = json.loads((folder / "data" / "vllm_startup_profiles.json").read_text(encoding="utf-8"))["records"]
    return [evaluate(record) for record in records]


def scores(found: list[Point]) -> dict[tuple[str, str], Score]:
    """Scores by (quantity, cell)."""
    table: dict[tuple[str, str], Score] = {}
    for p in found:
        for name, pair in (("weights", p.weights), ("KV cache", p.kv), ("tokens printed", p.tokens)):
            if pair is not None and pair[1] > 0:
                for cell in ("calibrated" if p.calibrated else "other", "all"):
                    table.setdefault((name, cell), Score()).add((float(pair[0]), float(pair[1])))
    return table


def coverage(found: list[Point]) -> tuple[int, int]:
    """``(inside, of)``: measured KV figures inside the predicted band."""
    judged = [p for p in found if p.inside is not None]
    return sum(bool(p.inside) for p in judged), len(judged)


def exactness(found: list[Point]) -> tuple[int, int]:
    """``(exact, of)``: records whose counts follow from their KV bytes."""
    judged = [p for p in found if p.exact is not None]
    return sum(bool(p.exact) for p in judged), len(judged)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _pair(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else f"{pair[0]:,.2f} / {pair[1]:,.2f}"


def report(found: list[Point]) -> str:
    """The tables, in Markdown."""
    table, lines = scores(found), []
    lines += [_row(["", "cell", "records", "mean", "median", "p90", "worst"]), _row(["---"] * 7)]
    for name in ("weights", "KV cache", "tokens printed"):
        for cell in ("calibrated", "other", "all"):
            lines.append(_row([name, cell, *table.get((name, cell), Score()).cells()]))
    (inside, judged), (exact, counted) = coverage(found), exactness(found)
    gib = table[("KV cache", "calibrated")].gib
    lines += [
        "",
        f"Mean absolute error of the KV cache in calibrated cells: {statistics.fmean(gib):.2f} GiB.",
        f"Measured KV inside the predicted band: {inside} of {judged} ({inside / judged:.0%}).",
        f"Blocks and tokens exactly as the measured KV bytes give: {exact} of {counted}.",
        "",
        "Predicted / measured, GiB per GPU; `–` where a record says too little, with the reason.",
        "",
        _row(["id", "model", "vLLM", "GPU", "TP × PP", "weights", "KV cache", "in band", "cell", "not scored"]),
        _row(["---"] * 10),
    ]
    for p in found:
        r = p.record
        why = "; ".join(dict.fromkeys(x for x in (p.reason, p.kv_reason, p.exact_reason) if x))
        lines.append(
            _row(
                [
                    str(r["id"]),
                    (r.get("model") or "–").split("/")[-1],
                    r["vllm_version"] or "–",
                    r["gpu"] or "–",
                    f"{r['tp']} × {r['pp']}",
                    _pair(p.weights) or "–",
                    _pair(p.kv) or "–",
                    "" if p.inside is None else "yes" if p.inside else "no",
                    "" if p.sizing is None else "calibrated" if p.calibrated else "other",
                    why,
                ]
            )
        )
    return "\n".join(lines)


def rewrite(text: str, tables: str) -> str:
    """The document with the part between the markers replaced."""
    head, rest = text.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    return f"{head}{BEGIN}\n\n{tables}\n\n{END}{tail}"


def main() -> int:
    """Print the tables; without ``--check`` also rewrite docs/sizing.md."""
    folder = shared_folder()
    if folder is None:
        sys.stderr.write("no reference data: set HEADWATER_SHARED to a folder with data/vllm_startup_profiles.json\n")
        return 2
    tables = report(points(folder))
    sys.stdout.write(tables + "\n")
    if "--check" not in sys.argv:
        page = ROOT / "docs" / "sizing.md"
        page.write_text(rewrite(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

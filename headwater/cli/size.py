"""`headwater size`: requests as JSON lines in, one JSON line out for each."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from headwater.catalog.calibration import Calibration

Record = dict[str, Any]


def _records() -> Iterator[tuple[Record, bool]]:
    """Requests, and whether each is readable: an unreadable line comes as its own answer."""
    from headwater.sizing.records import KEYS

    for number, raw in enumerate(getattr(sys.stdin, "buffer", sys.stdin), 1):
        line = raw.decode("utf-8", errors="replace") if isinstance(raw, bytes) else raw
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield {"error": f"line {number}: not JSON: {error}"}, False
            continue
        if isinstance(record, dict):
            yield record, True
        else:
            yield {"error": f"line {number}: expected an object with keys {', '.join(KEYS)}"}, False


def _print(answer: dict[str, Any]) -> None:
    # Escaped: a line must reach any terminal encoding, whatever characters a request held.
    sys.stdout.write(json.dumps(answer) + "\n")


def size_command(  # noqa: PLR0917 - a typer signature
    config: Annotated[
        Path | None, typer.Option(help="A model's config.json (or its folder) instead of a catalogue model.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Catalogue key or repository id: sizes this one instead of reading JSON lines.")
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="GPU, for example h100 or 'NVIDIA H200'.")] = None,
    quantization: Annotated[str | None, typer.Option(help="Weight format when the name does not say it.")] = None,
    tp: Annotated[int, typer.Option(min=1, help="Tensor parallel size.")] = 1,
    pp: Annotated[int, typer.Option(min=1, help="Pipeline parallel size.")] = 1,
    dp: Annotated[int, typer.Option(min=1, help="Data parallel size.")] = 1,
    expert_parallel: Annotated[bool, typer.Option("--expert-parallel", help="Whole experts on ranks.")] = False,
    max_model_len: Annotated[int | None, typer.Option(min=1, help="Context in tokens.")] = None,
    max_num_seqs: Annotated[int | None, typer.Option(min=1, help="Most sequences of a step.")] = None,
    kv_cache_dtype: Annotated[str, typer.Option(help="auto, fp8, bfloat16, ...")] = "auto",
    vllm_version: Annotated[
        str | None, typer.Option(help="vLLM release; without it the band covers all known ones.")
    ] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="YAML file of `headwater calibrate`; entries that match are used.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the addition as a table (needs --model or --config with --gpu).")
    ] = False,
) -> None:
    """Size vLLM engines: reads JSON lines (keys of a start-up record), or one engine from the options."""
    from headwater.catalog.calibration import CalibrationError, load_calibrations
    from headwater.sizing.records import size_record

    try:
        if calibration and not calibration.is_file():
            raise CalibrationError(f"{calibration}: there is no such file")
        entries = tuple(load_calibrations(calibration).values()) if calibration else ()
    except (CalibrationError, OSError) as error:
        raise typer.BadParameter(str(error)) from None
    if model is None and not (config is not None and gpu is not None):
        if explain:
            raise typer.BadParameter("--explain needs one engine: --model (or --config) and --gpu")
        for record, readable in _records():
            _print(size_record(record, config, entries) if readable else record)
        return
    record = {
        "model": model,
        "gpu": gpu,
        "quantization": quantization,
        "tp": tp,
        "pp": pp,
        "dp": dp,
        "enable_expert_parallel": expert_parallel,
        "max_model_len": max_model_len,
        "max_num_seqs": max_num_seqs,
        "kv_cache_dtype": kv_cache_dtype,
        "vllm_version": vllm_version,
    }
    answer = size_record({k: v for k, v in record.items() if v is not None}, config, entries)
    if "error" in answer:
        typer.echo(answer["error"], err=True)
        raise typer.Exit(2)
    if explain:
        _explain(record, config, entries)
    else:
        _print(answer)


def _explain(record: Record, config: Path | None, entries: tuple[Calibration, ...]) -> None:
    from rich.console import Console
    from rich.table import Table

    from headwater.sizing.engine import calibration_for, size
    from headwater.sizing.records import request_from

    request, notes = request_from({k: v for k, v in record.items() if v is not None}, config)
    s = size(request, calibration_for(request, entries))
    table = Table(
        "term", "GiB per GPU", "low", "high", "formula", "with", title=f"vLLM {s.version}, {request.gpu.name}"
    )
    for a in s.addends:
        put_in = ", ".join(f"{k} {v}" for k, v in a.inputs)
        table.add_row(a.name, f"{a.gib.expected:.2f}", f"{a.gib.low:.2f}", f"{a.gib.high:.2f}", a.formula, put_in)
    console = Console()
    console.print(table)
    for note in (*notes, *s.notes):
        console.print(f"· {note}")

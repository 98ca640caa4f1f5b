"""`headwater calibrate`: a start-up log in, predicted against measured out, and an entry the stack file can name."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from headwater.sizing.calibrate import Lesson


def _as_dict(lesson: Lesson) -> dict[str, Any]:
    rows = [
        {
            "term": r.name,
            "unit": r.unit,
            "predicted": round(r.predicted.expected, 4),
            "low": round(r.predicted.low, 4),
            "high": round(r.predicted.high, 4),
            "measured": r.measured,
            "inside": r.inside,
        }
        for r in lesson.rows
    ]
    after = lesson.after
    return {
        "version": lesson.before.version,
        "rows": rows,
        "entry": {lesson.entry.name: lesson.entry.to_dict()} if lesson.entry else None,
        "kv_gib_after": round(after.kv.expected, 4) if after else None,
        "notes": list(lesson.notes),
    }


def _show(lesson: Lesson) -> None:
    import yaml

    width = max((len(r.name) for r in lesson.rows), default=4)
    typer.echo(f"{'term':<{width}}  {'measured':>12}  {'predicted':>12}  {'band':>23}")
    for r in lesson.rows:
        digits = 2 if r.unit == "GiB" or r.unit.startswith("x") else 0
        band = f"{r.predicted.low:,.{digits}f} … {r.predicted.high:,.{digits}f}"
        mark = "" if r.inside else "  outside"
        typer.echo(
            f"{r.name:<{width}}  {r.measured:>12,.{digits}f}  {r.predicted.expected:>12,.{digits}f}  "
            f"{band:>23}  {r.unit}{mark}"
        )
    for note in lesson.notes:
        typer.echo(f"· {note}")
    if lesson.entry is not None and lesson.after is not None:
        typer.echo(f"with this entry the engine says KV cache {lesson.after.kv.expected:.2f} GiB")
        typer.echo("")
        typer.echo(
            yaml.safe_dump({"calibrations": {lesson.entry.name: lesson.entry.to_dict()}}, sort_keys=True).rstrip()
        )


def calibrate_command(  # noqa: PLR0917 - a typer signature
    log: Annotated[Path | None, typer.Argument(help="Start-up log; standard input without it.")] = None,
    gpu: Annotated[str | None, typer.Option(help="GPU of the log, when its memory alone does not tell.")] = None,
    model: Annotated[str | None, typer.Option(help="Model of the log, when the log does not say it.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="The model's config.json, when it is not in the catalogue.")
    ] = None,
    write: Annotated[Path | None, typer.Option(help="YAML file the entry is added to.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Compare a vLLM start-up log with the prediction, and make a calibration entry of it."""
    from headwater.catalog.calibration import CalibrationError, save_calibration
    from headwater.catalog.gpus import UnknownGpuError
    from headwater.catalog.models import UnknownModelError
    from headwater.sizing.calibrate import learn
    from headwater.sizing.from_config import architecture_from_config
    from headwater.sizing.startup_log import parse_log
    from headwater.sizing.units import SizingError

    try:
        text = log.read_text(encoding="utf-8", errors="replace") if log else sys.stdin.read()
        parsed = parse_log(text)
        known = architecture_from_config(config, model or parsed.model) if config else None
        lesson = learn(parsed, gpu, model, known, today=dt.datetime.now(tz=dt.UTC).date())
        key = save_calibration(write, lesson.entry) if write and lesson.entry else None
    except OSError as error:
        typer.echo(f"{error.filename}: {error.strerror}", err=True)
        raise typer.Exit(2) from None
    except (SizingError, CalibrationError, UnknownGpuError, UnknownModelError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    if as_json:
        sys.stdout.write(json.dumps(_as_dict(lesson), ensure_ascii=False, sort_keys=True) + "\n")
    else:
        _show(lesson)
        if key:
            typer.echo(f"\nwritten to {write}; in the stack file: calibration: {key}")
    if write and not lesson.entry:
        raise typer.Exit(1)

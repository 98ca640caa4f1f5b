"""The catalogue of models, one line each."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headwater.catalog.models import Model, load_models
from headwater.cli.places import wide


def models_json() -> list[dict[str, Any]]:
    """Every model people may name, as plain data."""
    return [
        {
            "key": model.key,
            "family": model.family,
            "architecture": model.architecture.name,
            "maxContext": model.architecture.max_position,
            "toolParser": model.tool_parser,
            "reasoningParser": model.reasoning_parser,
            "checkpoints": [{"repository": c.repository, "format": c.format} for c in model.checkpoints],
            "source": model.source,
            "asOf": str(model.as_of),
        }
        for model in _listed()
    ]


def models_screen(screen: Console) -> None:
    """Print the catalogue: what to write after ``model:`` and ``precision:``."""
    if not wide(screen):
        for model in _listed():
            screen.print(
                Text(f"{model.key}: {_formats(model)}; {_context(model)} tokens; {model.checkpoints[0].repository}")
            )
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("MODEL", "CHECKPOINTS", "CONTEXT", "TOOLS", "REASONING", "FIRST REPOSITORY"):
        table.add_column(title, justify="right" if title == "CONTEXT" else "left")
    for model in _listed():
        table.add_row(
            model.key,
            _formats(model),
            _context(model),
            model.tool_parser or "",
            model.reasoning_parser or "",
            model.checkpoints[0].repository,
        )
    screen.print(table)


def _listed() -> list[Model]:
    return [model for model in load_models().values() if model.listed]


def _formats(model: Model) -> str:
    return ", ".join(dict.fromkeys(c.format for c in model.checkpoints))


def _context(model: Model) -> str:
    longest = model.architecture.max_position
    return f"{longest:,}" if longest else "?"

"""One model's addition as a table: each addend, its formula, the numbers put in, the band, the source."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headwater.cli.places import wide
from headwater.plan.explain import Explanation, Term
from headwater.plan.model import Range


def explain_json(found: Explanation) -> dict[str, Any]:
    """The explanation as plain data."""

    def plain(value: Any) -> Any:
        if isinstance(value, Range):
            return value.model_dump()
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return value

    out: dict[str, Any] = plain(found)
    return out


def explain_screen(found: Explanation, screen: Console) -> None:
    """Print the addition, then assumptions and what would change the answer."""
    versions = f"shown for vLLM {found.version}, which leaves the least room of " + ", ".join(found.versions)
    screen.print(Text.assemble((f"{found.model}   {found.layout}   {found.verdict}", "bold"), f"   {versions}"))
    screen.print()
    if wide(screen):
        screen.print(_table(found))
    else:
        for line in _lines(found):
            screen.print(line)
    low, expected = found.held
    screen.print()
    screen.print(
        Text.assemble(
            ("HOLDS", "bold"),
            f"  {low:,.2f} (lower bound) to {expected:,.2f} (expected) requests of {found.context:,} tokens a replica; "
            f"asked {found.asked}, which takes {found.kv_asked_gib:.2f} GiB of KV cache per GPU",
        )
    )
    screen.print(Text(f"       the engine will log a KV cache of {found.tokens_printed:,} tokens"))
    for title, sentences in (("WHY", found.why), ("ASSUMED", found.assumptions)):
        for text in sentences:
            screen.print(Text.assemble((f"{title:<8}", "bold"), text))
    for line in _changes(found):
        screen.print(line)


def _table(found: Explanation) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("GiB PER GPU", "LOW", "EXPECTED", "HIGH"):
        table.add_column(title, justify="left" if title == "GiB PER GPU" else "right", no_wrap=True)
    for title in ("FORMULA", "WITH", "SOURCE"):
        table.add_column(title, overflow="fold")
    for term in found.terms:
        figures = [f"{value:.2f}" for value in (term.gib.low, term.gib.expected, term.gib.high)]
        table.add_row(_name(term), *figures, term.formula, _inputs(term), term.source)
    return table


def _lines(found: Explanation) -> Iterator[Text]:
    yield Text("GiB per GPU: expected (low … high)", style="bold")
    for term in found.terms:
        band = f"{term.gib.expected:.2f} ({term.gib.low:.2f} … {term.gib.high:.2f})"
        yield Text(f"  {_name(term)}: {band} = {term.formula}; {_inputs(term)} [{term.source}]")


def _name(term: Term) -> str:
    return term.name if term.sign else f"  {term.name}"


def _inputs(term: Term) -> str:
    return ", ".join(f"{name} {value}" for name, value in term.inputs)


def _changes(found: Explanation) -> Iterator[Text]:
    for change in found.changes:
        note = f" ({change.note})" if change.note else ""
        yield Text.assemble(
            ("CHANGE  ", "bold"),
            f"{change.what}: holds {change.holds:,.1f}, {change.dollars_per_hour:,.2f} $/h, {change.verdict}{note}",
        )

"""Which accelerator the models that left it open run on: the one that makes the whole fleet's bill smallest.

A share of a large node is what ranks one model's placements; the bill is whole nodes. A one-GPU model alone on an
eight-GPU node costs eight GPUs, and costs nothing on a node that another model left room on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from headwater.plan.choose import Choice
from headwater.plan.wording import words

MOST_COMBINATIONS = 64
"""Beyond this many combinations each model takes its own cheapest share."""


def cheapest_fleet(
    options: Sequence[Sequence[Choice]], bill: Callable[[Sequence[Choice]], float]
) -> tuple[Choice, ...]:
    """One option of each model.

    Args:
        options: of each model, the cheapest share first; never empty.
        bill: $/h of whole nodes that a choice for every model takes.
    """
    first = tuple(choice[0] for choice in options)
    count = 1
    for choice in options:
        count *= len(choice)
    if count == 1 or count > MOST_COMBINATIONS:
        return first

    def price(chosen: Sequence[Choice]) -> tuple[bool, float, float, float]:
        placements = [c.placement for c in chosen]
        tight = any(p.verdict != "fits" for p in placements)
        missed = sum(p.slo_miss for p in placements)
        return tight, round(missed, 3), round(bill(chosen), 4), round(sum(p.dollars for p in placements), 4)

    best = min(itertools.product(*options), key=price)
    return tuple(_explained(chosen, alone) for chosen, alone in zip(best, first, strict=True))


def _explained(chosen: Choice, alone: Choice) -> Choice:
    """The choice, with a word about the cheaper share that would have bought more nodes."""
    if chosen is alone:
        return chosen
    p = alone.placement
    line = (
        f"{words(p.hardware, p.degrees, p.replicas)} would be {p.dollars:.2f} $/h of a shared "
        f"{p.hardware.instance.name}; with whole nodes counted, this fleet is cheaper"
    )
    return replace(chosen, why=(*chosen.why, line))

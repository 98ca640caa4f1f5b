"""The network interfaces of a node that has EFA, listed one by one: they are there whatever its first pod asks for.

Listed interfaces are ``efa-only``: they take no address, where Karpenter's own choice takes one for each of them.
Layout: AWS, EC2 User Guide, EFA on accelerated instance types (read 2026-11-30).
"""

from __future__ import annotations

from typing import Any


def static_interfaces(cards: int, efa: int) -> list[dict[str, Any]]:
    """An ordinary interface on card 0, and one ``efa-only`` interface on each of the first ``efa`` cards.

    Args:
        cards: network cards of the instance type.
        efa: EFA interfaces wanted, at most one a card.

    Raises:
        ValueError: more interfaces than cards.
    """
    if not 0 <= efa <= cards:
        raise ValueError(f"{efa} EFA interfaces do not fit on {cards} network cards")
    ordinary = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    return [ordinary] + [
        {"networkCardIndex": card, "deviceIndex": 1 if card == 0 else 0, "interfaceType": "efa-only"}
        for card in range(efa)
    ]

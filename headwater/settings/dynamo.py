"""Settings of the NVIDIA Dynamo serving stack."""

from __future__ import annotations

from typing import Literal

from headwater.settings.base import Frozen


class Dynamo(Frozen):
    """How Dynamo routes.

    Attributes:
        router: ``kv`` (cache-aware, needs KV events), ``round-robin`` or ``random``.
    """

    router: Literal["kv", "round-robin", "random"] = "kv"

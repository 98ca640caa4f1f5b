"""Settings of the llm-d serving stack."""

from __future__ import annotations

from typing import Literal

from headwater.settings.base import Frozen


class Llmd(Frozen):
    """How llm-d routes.

    Attributes:
        mode: ``gateway`` (Gateway API with the endpoint picker behind it) or ``standalone`` (Envoy beside it).
    """

    mode: Literal["gateway", "standalone"] = "gateway"

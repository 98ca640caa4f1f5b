"""What every part of a plan is: frozen, and nothing but what it declares."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Decided(BaseModel):
    """A frozen part of the plan."""

    model_config = ConfigDict(frozen=True, extra="forbid")

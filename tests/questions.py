"""The whole catalogue as placement questions: every listed model × {8k, 32k, 128k} × {model's own, fp8} KV cache."""

from __future__ import annotations

from headwater.catalog.models import load_models
from headwater.sizing.question import Question
from headwater.sizing.units import SizingError
from tests.sizing_placement.test_placement import VERSIONS, ask

CONTEXTS = (8192, 32768, 131072)


def catalogue_questions() -> list[Question]:
    """Eight users each; models whose shapes are not published are left out."""
    found = []
    for model in (m for m in load_models().values() if m.listed):
        for context in CONTEXTS:
            for dtype in ("auto", "fp8"):
                reach = min(context, model.architecture.max_position)
                try:
                    found.append(ask(model.key, None, reach, 8, versions=(VERSIONS[-1],), kv_cache_dtype=dtype))
                except SizingError:
                    continue
    return found

"""What the reader of a plan must not miss."""

import pytest

from headwater.plan import build_plan
from headwater.settings import settings_from_config

GATED = {"name": "q", "model": "llama-3.1-8b", "accelerator": "h100", "context": 8192}
TOKEN = {"secretArn": "arn:aws:secretsmanager:us-east-2:123456789012:secret:hf"}


@pytest.mark.parametrize(
    ("model", "sections", "warned"),
    [
        (GATED, {}, True),
        (GATED, {"weights": {"mirror": "s3://models/w", "fill": True}}, True),
        (GATED, {"weights": {"mirror": "s3://models/w"}}, False),
        (GATED, {"huggingFace": TOKEN}, False),
        (GATED | {"model": "qwen3-8b"}, {}, False),
    ],
)
def test_weights_nobody_may_fetch_without_a_token_are_said(model, sections, warned):
    config = {f"headwater:{key}": value for key, value in sections.items()}
    found = build_plan(
        settings_from_config({"aws:region": "us-east-2", "headwater:serving": {"models": [model]}, **config}, "test")
    )
    assert any("agreed to its terms" in text for text in found.warnings) == warned

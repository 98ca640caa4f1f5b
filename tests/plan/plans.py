"""Plans of small stacks, for tests: only what a test is about is written out."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from headwater.plan import ModelPlan, Plan, Role, build_plan
from headwater.settings import load_stack, settings_from_config
from tests.conftest import ROOT

DAY = dt.date(2026, 11, 30)


def shipped(stack: str) -> Plan:
    """The plan of a committed stack."""
    return build_plan(load_stack(ROOT / "stacks" / f"Pulumi.{stack}.yaml"), today=DAY)


def plan(*models: dict[str, Any], stack: str = "llm-d", project: Path | None = None, **sections: Any) -> Plan:
    """A plan of these models in us-east-2; other sections of the stack file by name."""
    config = {
        "aws:region": "us-east-2",
        "headwater:serving": {"stack": stack, "models": list(models)},
        **{f"headwater:{name}": value for name, value in sections.items()},
    }
    return build_plan(settings_from_config(config, "test"), today=DAY, project=project, calibrations={})


def qwen(**changes: Any) -> dict[str, Any]:
    """Qwen3-32B FP8 on one H100."""
    base = {"name": "qwen", "model": "qwen3-32b", "precision": "fp8", "accelerator": "h100"}
    return {**base, "context": 32768, "concurrency": 4, **changes}


def llama(**changes: Any) -> dict[str, Any]:
    """Llama-3.3-70B BF16 on four H100."""
    base = {"name": "llama", "model": "llama-3.3-70b", "precision": "bf16", "accelerator": "h100"}
    return {**base, "context": 32768, "concurrency": 8, **changes}


def kimi(**changes: Any) -> dict[str, Any]:
    """Kimi K2.5 INT4 on a node of H200."""
    base = {"name": "kimi", "model": "kimi-k2.5", "precision": "int4", "accelerator": "h200"}
    return {**base, "context": 131072, "concurrency": 4, **changes}


def glm(**changes: Any) -> dict[str, Any]:
    """GLM-5 FP8 on two nodes of H100."""
    base = {"name": "glm", "model": "glm-5", "precision": "fp8", "accelerator": "h100"}
    return {**base, "context": 65536, "concurrency": 4, **changes}


def only(found: Plan | ModelPlan) -> Role:
    """The one role of a plan's one model."""
    model = found.models[0] if isinstance(found, Plan) else found
    assert len(model.roles) == 1
    return model.roles[0]

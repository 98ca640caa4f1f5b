"""The edges of the program: configuration in, outputs out."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env

from components.deploy import Deployment
from headwater.plan import Plan
from headwater.settings import SECTIONS, Settings, settings_from_config

OURS = ("headwater:", "aws:")
"""Namespaces in which a key that nothing reads is refused; others are other programs'."""


def load_settings() -> Settings:
    """The stack's configuration, parsed and checked once.

    Raises:
        Refusal: the configuration asks for what cannot be.
    """
    own, aws = pulumi.Config("headwater"), pulumi.Config("aws")
    found: dict[str, Any] = {f"headwater:{key}": own.get_object(key) for key in SECTIONS}
    found["aws:region"] = aws.get("region")
    given = {key: value for key, value in found.items() if value not in (None, {})}  # {} is Pulumi.yaml's "not given"
    given |= {key: "" for key in {*CONFIG.get(), *get_config_env()} - found.keys() if key.startswith(OURS)}
    return settings_from_config(given, pulumi.get_stack())


def outputs(plan: Plan, deployment: Deployment) -> dict[str, Any]:
    """What ``pulumi stack output`` shows: where to send requests, and what it costs."""
    return {
        "endpoint": deployment.endpoint,
        "clusterName": deployment.cluster_name,
        "servingStack": plan.stack,
        "models": {model.name: model.repository for model in plan.models},
        "gpus": sum(model.gpus for model in plan.models),
        "dollarsPerHour": round(plan.cost.now, 2),
    }

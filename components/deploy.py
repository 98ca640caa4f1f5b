"""One environment: the platform, the models' weights, and the serving stack the plan names."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.dynamo import DynamoStack
from components.llmd import LlmdStack
from components.platform import Platform
from components.serving.mirror import with_weights
from headwater.plan import Plan

STACKS: dict[str, type[LlmdStack] | type[DynamoStack]] = {"llm-d": LlmdStack, "dynamo": DynamoStack}


@dataclass(frozen=True)
class Deployment:
    """What the program exports.

    Attributes:
        endpoint: base URL of the OpenAI-compatible API, as clients inside the exposure see it.
        cluster_name: physical name of the EKS cluster.
    """

    endpoint: pulumi.Output[str]
    cluster_name: pulumi.Output[str]


def deploy(plan: Plan) -> Deployment:
    """Create everything ``plan`` decided."""
    platform = Platform("platform", plan)
    serving = STACKS[plan.stack]("serving", plan, with_weights("weights", plan, platform.refs))
    return Deployment(endpoint=serving.endpoint, cluster_name=platform.cluster_name)

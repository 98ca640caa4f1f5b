"""Sample plans for every shape Dynamo serves, on both accelerators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from components.dynamo import DynamoStack
from headwater.plan import ModelPlan, Parallel, Plan
from tests.factories import disaggregated_model, make_model, make_plan, make_role, multi_node_model
from tests.llmd.cases import ACCELERATORS, offloaded, one_server, wide
from tests.llmd.world import World
from tests.llmd.world import world as evaluate

__all__ = ["ACCELERATORS", "ALL", "CASES", "VARIANTS", "dynamo", "elastic_disaggregated", "plan", "world"]


def world(made: Plan, **refs: Any) -> World:
    """What the Dynamo stack makes of a plan."""
    return evaluate(made, DynamoStack, **refs)


def dynamo(**settings: Any) -> dict[str, Any]:
    """Stack-file keys of ``headwater:dynamo``."""
    return {"headwater:dynamo": settings}


def plan(*models: ModelPlan, config: dict[str, Any] | None = None, **settings: Any) -> Plan:
    """A plan for Dynamo; ``settings`` are keys of ``headwater:dynamo``."""
    return make_plan("dynamo", models=models, config={**dynamo(**settings), **(config or {})})


def offloading_apart(accelerator: str = "h200", name: str = "kimi") -> ModelPlan:
    """Prefill and decode, each with 200 GiB of host memory for its KV cache."""
    roles = tuple(
        make_role(
            role, accelerator=accelerator, parallel=Parallel(tensor=8), replicas=(1, 1), efa=True, offload_gib=200.0
        )
        for role in ("prefill", "decode")
    )
    return make_model(name, roles)


def elastic_disaggregated(accelerator: str = "h200", name: str = "kimi") -> ModelPlan:
    """Prefill and decode that may both grow."""
    roles = tuple(
        make_role(role, accelerator=accelerator, parallel=Parallel(tensor=8), replicas=(1, most), efa=True)
        for role, most in (("prefill", 4), ("decode", 2))
    )
    return make_model(name, roles)


def with_slo(made: Plan) -> Plan:
    """The plan with objectives for every model in its stack file."""
    serving = made.settings.serving
    slo = serving.models[0].slo.model_copy(update={"ttft": 2.0, "tpot": 0.04})
    models = tuple(model.model_copy(update={"slo": slo}) for model in serving.models)
    settings = made.settings.model_copy(update={"serving": serving.model_copy(update={"models": models})})
    return made.model_copy(update={"settings": settings})


CASES: dict[str, Callable[[str], Plan]] = {
    "plain": lambda gpu: plan(one_server(gpu)),
    "disaggregated": lambda gpu: plan(disaggregated_model(gpu)),
    "two-nodes": lambda gpu: plan(multi_node_model(gpu)),
    "offloaded": lambda gpu: plan(offloaded(gpu), kvTiers=["gpu", "host"]),
    "wide-ep": lambda gpu: plan(wide(gpu)),
    "planner": lambda gpu: with_slo(plan(elastic_disaggregated(gpu), planner={})),
}
VARIANTS: dict[str, Callable[[str], Plan]] = {
    "several-models": lambda gpu: plan(one_server(gpu), multi_node_model(gpu), disaggregated_model(gpu)),
    "offloaded-apart": lambda gpu: plan(offloading_apart(gpu)),
    "router": lambda gpu: plan(
        one_server(gpu),
        router={
            "mode": "kv",
            "cost": {"overlapCredit": 0.9, "temperature": 0.1},
            "queue": {"order": "wspt"},
            "affinity": {"ttl": "10m"},
            "overload": {"decodeShare": 0.9},
            "predictedTtl": "5s",
        },
    ),
    "round-robin": lambda gpu: plan(one_server(gpu), router="round-robin"),
    "grove": lambda gpu: plan(one_server(gpu), scheduling="grove", queue={"maxGpus": 64}),
    "picker": lambda gpu: plan(one_server(gpu), gateway="picker"),
    "load-planner": lambda gpu: plan(
        one_server(gpu),
        planner={"target": "load", "prefillQueue": {"up": 8000, "down": 1000}, "decodeKv": {"up": 80, "down": 40}},
    ),
    "mirrored": lambda gpu: plan(
        one_server(gpu),
        multi_node_model(gpu),
        config={
            "headwater:weights": {"mirror": "s3://models-test/weights", "cache": "nvme"},
            "headwater:mirror": {"images": "registry.example.com/mirror"},
        },
    ),
    "compiled": lambda gpu: plan(
        one_server(gpu), compilationCache=True, config={"headwater:weights": {"cache": "efs"}}
    ),
    "unprivileged": lambda gpu: plan(disaggregated_model(gpu), privileged=False),
    "public": lambda gpu: plan(
        one_server(gpu),
        config={
            "headwater:gateway": {
                "exposure": "public",
                "host": "llm.example.com",
                "certificate": "arn:aws:acm:us-east-2:123456789012:certificate/abc",
                "allow": ["203.0.113.0/24"],
            }
        },
    ),
}
ALL = {**CASES, **VARIANTS}

"""Sample plans for every way llm-d routes, on both accelerators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headwater.plan import ModelPlan, Parallel, Plan
from tests.factories import disaggregated_model, make_model, make_plan, make_role, multi_node_model

ACCELERATORS = ("h100", "h200")


def one_server(accelerator: str = "h100", name: str = "qwen", **changes: Any) -> ModelPlan:
    """A dense model on part of a node, one to three replicas."""
    tensor = 1 if accelerator == "h100" else 2
    role = make_role(accelerator=accelerator, parallel=Parallel(tensor=tensor), replicas=(1, 3), **changes)
    return make_model(name, (role,))


def offloaded(accelerator: str = "h100", name: str = "qwen") -> ModelPlan:
    """The same with 200 GiB of host memory for its KV cache."""
    return one_server(accelerator, name, offload_gib=200.0)


def wide(accelerator: str = "h200", name: str = "deepseek", nodes: int = 2) -> ModelPlan:
    """Prefill and decode of a large mixture of experts, each data-parallel over whole nodes."""
    parallel = Parallel(tensor=1, data=8 * nodes, expert=True)
    roles = tuple(
        make_role(role, accelerator=accelerator, parallel=parallel, nodes=nodes, replicas=(1, 1), efa=True)
        for role in ("prefill", "decode")
    )
    return make_model(
        name, roles, key="deepseek-r1", repository="deepseek-ai/DeepSeek-R1-0528",
        architecture="DeepseekV3ForCausalLM", mixture_of_experts=True, latent_attention=True,
        tool_parser="deepseek_v3", reasoning_parser="deepseek_r1",
    )  # fmt: skip


def llmd(**settings: Any) -> dict[str, Any]:
    """Stack-file keys of ``headwater:llmd``."""
    return {"headwater:llmd": settings}


CASES: dict[str, Callable[[str], Plan]] = {
    "prefix": lambda gpu: make_plan(models=(one_server(gpu),)),
    "precise": lambda gpu: make_plan(models=(one_server(gpu),), config=llmd(path="precise")),
    "disaggregated": lambda gpu: make_plan(models=(disaggregated_model(gpu),)),
    "tiered": lambda gpu: make_plan(models=(offloaded(gpu),)),
    "slo": lambda gpu: make_plan(models=(one_server(gpu),), config=llmd(path="slo", streaming=True)),
    "wide-ep": lambda gpu: make_plan(models=(wide(gpu),)),
    "two-nodes": lambda gpu: make_plan(models=(multi_node_model(gpu),)),
}
VARIANTS: dict[str, Callable[[str], Plan]] = {
    "several-models": lambda gpu: make_plan(models=(one_server(gpu), multi_node_model(gpu), disaggregated_model(gpu))),
    "agentgateway": lambda gpu: make_plan(
        models=(one_server(gpu), multi_node_model(gpu)), config=llmd(gateway="agentgateway")
    ),
    "istio": lambda gpu: make_plan(models=(one_server(gpu),), config=llmd(gateway="istio")),
    "standalone": lambda gpu: make_plan(
        models=(one_server(gpu), multi_node_model(gpu)),
        config={**llmd(mode="standalone"), "headwater:gateway": {"exposure": "internal"}},
    ),
    "flow-control": lambda gpu: make_plan(
        models=(one_server(gpu),),
        config=llmd(
            flowControl={"enabled": True, "objectives": {"interactive": 100, "batch": -10}},
            autoscaling={"metric": "queue"},
        ),
    ),
    "hpa": lambda gpu: make_plan(models=(one_server(gpu),), config=llmd(autoscaling={"by": "hpa"})),
    "lmcache": lambda gpu: make_plan(
        models=(offloaded(gpu),), config=llmd(kvTier={"engine": "lmcache", "files": "nvme", "gibibytes": 1024})
    ),
    "mooncake": lambda gpu: make_plan(models=(offloaded(gpu),), config=llmd(kvTier={"engine": "mooncake"})),
    "files": lambda gpu: make_plan(models=(offloaded(gpu),), config=llmd(kvTier={"files": "nvme", "gibibytes": 2048})),
    "mirrored": lambda gpu: make_plan(
        models=(one_server(gpu),),
        config={
            "headwater:weights": {"mirror": "s3://models-test/weights", "cache": "nvme"},
            "headwater:mirror": {"images": "registry.example.com/mirror"},
        },
    ),
    "prepulled": lambda gpu: make_plan(
        models=(one_server(gpu), multi_node_model(gpu)), config={"headwater:weights": {"prepull": True}}
    ),
    "public": lambda gpu: make_plan(
        models=(one_server(gpu),),
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

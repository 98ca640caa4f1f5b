"""Sample plans, made by hand: shapes a component must render whatever the planner would choose."""

from __future__ import annotations

from typing import Any

from headwater.catalog.instances import load_instances
from headwater.catalog.prices import as_of, on_demand
from headwater.catalog.releases import engines
from headwater.plan.model import (
    Cost,
    EngineArg,
    Memory,
    ModelPlan,
    Parallel,
    Plan,
    Pod,
    Pool,
    Range,
    Role,
    Throughput,
)
from headwater.plan.system_nodes import system_group
from headwater.settings import settings_from_config

WHOLE = {"h100": "p5.48xlarge", "h200": "p5en.48xlarge"}


def band(value: float) -> Range:
    """A band of a twentieth around a value."""
    return Range(low=round(value * 0.95, 3), expected=value, high=round(value * 1.05, 3))


def make_role(
    role: str = "serve",
    *,
    accelerator: str = "h100",
    parallel: Parallel | None = None,
    nodes: int = 1,
    replicas: tuple[int, int] = (1, 2),
    efa: bool = False,
    context: int = 32768,
    **changes: Any,
) -> Role:
    """One role; a part of a node when it has fewer GPUs than the accelerator's 8-GPU type."""
    parallel = parallel or Parallel(tensor=1)
    per_pod = parallel.gpus // nodes
    instance = "p5.4xlarge" if accelerator == "h100" and per_pod == 1 else WHOLE[accelerator]
    facts = load_instances()[instance]
    whole = per_pod == facts.gpus > 1
    share = per_pod / facts.gpus
    args = {
        "--gpu-memory-utilization": "0.92",
        "--max-model-len": str(context),
        "--max-num-seqs": "64",
        "--max-num-batched-tokens": "8192",
        "--tensor-parallel-size": str(parallel.tensor),
        "--kv-cache-dtype": "auto",
        "--enable-prefix-caching": None,
        "--enable-chunked-prefill": None,
    }
    if parallel.pipeline > 1:
        args["--pipeline-parallel-size"] = str(parallel.pipeline)
    if parallel.data > 1:
        args["--data-parallel-size"] = str(parallel.data)
    if parallel.expert:
        args["--enable-expert-parallel"] = None
    values: dict[str, Any] = {
        "role": role,
        "pool": f"{accelerator}-{'node' if whole else 'part'}",
        "instance": instance,
        "accelerator": accelerator,
        "parallel": parallel,
        "nodes": nodes,
        "replicas_min": replicas[0],
        "replicas_max": replicas[1],
        "pod": Pod(
            gpus=per_pod,
            cpu_millis=int((facts.allocatable.cpu_millis - 4000) * share) // 100 * 100,
            memory_mib=int((facts.allocatable.memory_mib - 8192) * share * 0.9) // 1024 * 1024,
            shared_memory_mib=16384,
            ephemeral_gib=200,
            efa=facts.efa if efa else 0,
            whole_node=whole,
        ),
        "memory": Memory(
            visible=79.19,
            budget=72.85,
            weights=band(32.0),
            activation=band(1.9),
            state=band(0.1),
            non_torch=band(0.3),
            cuda_graph=band(1.0),
            kv=band(37.5),
            kv_asked=30.0,
            verdict="fits",
            calibrated=False,
        ),
        "engine_args": tuple(
            EngineArg(flag=flag, value=value, origin="plan", why="sample") for flag, value in args.items()
        ),
        "kv_tokens": 150_000,
        "kv_blocks": 9375,
        "block_size": 16,
        "concurrency": 4.6,
        "max_num_seqs": 64,
        "max_num_batched_tokens": 8192,
        "offload_gib": 0.0,
        "startup_seconds": 1800,
        "dollars_per_hour": round((on_demand("us-east-2", instance) or 0.0) * share * nodes, 4),
        "throughput": Throughput(
            ttft_seconds=band(0.4),
            tpot_seconds=band(0.03),
            tokens_per_second=band(900.0),
            prefill_tokens_per_second=12000.0,
            note="sample",
        ),
    }
    return Role(**{**values, **changes})


def make_model(name: str = "qwen", roles: tuple[Role, ...] | None = None, **changes: Any) -> ModelPlan:
    """One model; its key facts follow from nothing, so change what a test is about."""
    roles = roles or (make_role(),)
    values: dict[str, Any] = {
        "name": name,
        "key": "qwen3-32b",
        "repository": "Qwen/Qwen3-32B-FP8",
        "architecture": "Qwen3ForCausalLM",
        "precision": "fp8",
        "weight_format": "fp8-block",
        "parameters": 32.8e9,
        "context": 32768,
        "concurrency": 4,
        "disaggregated": len(roles) > 1,
        "roles": roles,
        "checkpoint_gib": 32.0,
        "mixture_of_experts": False,
        "latent_attention": False,
        "hybrid": False,
        "sliding_window": False,
        "tool_parser": "hermes",
        "reasoning_parser": "qwen3",
        "trust_remote_code": False,
        "kv_cache_dtype": "auto",
        "priority": 0,
        "alternatives": (),
        "why": ("sample",),
        "warnings": (),
        "dollars_per_hour": round(sum(r.dollars_per_hour * r.replicas_min for r in roles), 2),
    }
    return ModelPlan(**{**values, **changes})


def make_pools(models: tuple[ModelPlan, ...]) -> tuple[Pool, ...]:
    """One pool for each name the roles use."""
    pools = {}
    for model in models:
        for role in model.roles:
            facts = load_instances()[role.instance]
            pools[role.pool] = Pool(
                name=role.pool,
                accelerator=role.accelerator,
                whole_node=role.pod.whole_node,
                instances=(role.instance,),
                zones=("us-east-2a",) if role.pod.efa else ("us-east-2a", "us-east-2b"),
                buy=("on-demand",),
                reservations=(),
                efa=facts.efa if role.pod.efa else 0,
                cards=facts.cards,
                placement_group=role.pod.efa > 0,
                nodes_now=role.nodes * role.replicas_min,
                nodes_max=role.nodes * role.replicas_max,
                gpus_per_node=facts.gpus,
                gpu_limit=facts.gpus * role.nodes * role.replicas_max,
                warm=0,
                roles=(f"{model.name}/{role.role}",),
                dollars_per_hour=on_demand("us-east-2", role.instance),
                reserved_nodes=0,
            )
    return tuple(pools[name] for name in sorted(pools))


def make_plan(
    stack: str = "llm-d",
    models: tuple[ModelPlan, ...] | None = None,
    config: dict[str, Any] | None = None,
    **changes: Any,
) -> Plan:
    """A plan of these models; ``config`` adds or replaces stack-file keys such as ``headwater:llmd``."""
    models = models or (make_model(),)
    settings = settings_from_config(
        {
            "aws:region": "us-east-2",
            "headwater:serving": {"stack": stack, "models": [{"name": m.name, "model": m.key} for m in models]},
            **(config or {}),
        },
        "test",
    )
    pools = make_pools(models)
    values: dict[str, Any] = {
        "environment": "test",
        "region": "us-east-2",
        "kubernetes": "1.36",
        "stack": stack,
        "stack_why": "",
        "vllm": engines()[stack].vllm,
        "cluster_name": settings.cluster_name,
        "zones": ("us-east-2a", "us-east-2b", "us-east-2c"),
        "models": models,
        "pools": pools,
        "system": system_group(settings, models, ("us-east-2a", "us-east-2b", "us-east-2c"), []),
        "cost": Cost(
            now=sum((p.dollars_per_hour or 0) * p.nodes_now for p in pools),
            most=sum((p.dollars_per_hour or 0) * p.nodes_max for p in pools),
            reserved=0.0,
            platform=1.0,
            as_of=as_of(),
            region="us-east-2",
            complete=True,
        ),
        "warnings": (),
        "settings": settings,
    }
    return Plan(**{**values, **changes})


def multi_node_model(accelerator: str = "h100", name: str = "glm") -> ModelPlan:
    """A large mixture of experts over two nodes: TP 8 x PP 2."""
    role = make_role(
        accelerator=accelerator, parallel=Parallel(tensor=8, pipeline=2), nodes=2, replicas=(1, 1), efa=True
    )
    return make_model(
        name,
        (role,),
        key="glm-5",
        repository="zai-org/GLM-5-FP8",
        architecture="GlmMoeDsaForCausalLM",
        mixture_of_experts=True,
        latent_attention=True,
        tool_parser="glm47",
        reasoning_parser="glm45",
    )


def disaggregated_model(accelerator: str = "h200", name: str = "kimi") -> ModelPlan:
    """Prefill and decode on nodes of their own, KV over EFA."""
    roles = (
        make_role("prefill", accelerator=accelerator, parallel=Parallel(tensor=8), replicas=(2, 2), efa=True),
        make_role("decode", accelerator=accelerator, parallel=Parallel(tensor=8), replicas=(1, 1), efa=True),
    )
    return make_model(
        name,
        roles,
        key="kimi-k2.5",
        repository="moonshotai/Kimi-K2.5",
        architecture="KimiK25ForConditionalGeneration",
        precision="int4",
        weight_format="int4-g32",
        mixture_of_experts=True,
        latent_attention=True,
        tool_parser="kimi_k2",
        reasoning_parser="kimi_k2",
        trust_remote_code=True,
    )

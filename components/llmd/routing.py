"""From plan and settings to what a model's picker must know."""

from __future__ import annotations

from components.llmd.epp import FlowPlan, Routing
from components.llmd.ports import POOL_PORT, ports
from headwater.plan import ModelPlan, Plan
from headwater.plan.llmd_paths import offload_tokens
from headwater.settings.llmd import RoutingPath

LOOK_AHEAD = 8
"""Requests an endpoint may hold beyond its running batch, so that it never waits for the router."""


def render_service(model: ModelPlan) -> str:
    """Name of the Service whose servers turn prompts into tokens."""
    return f"{model.name}-render"


def routing_of(plan: Plan, model: ModelPlan, path: RoutingPath, namespace: str) -> Routing:
    """What the picker of ``model`` is configured from.

    Prefill speed is the measured one where the stack file has it, else the plan's estimate for this model, its GPUs
    and its parallelism: the router's own default belongs to another model.
    """
    own = plan.settings.llmd
    first = model.roles[0]
    model_settings = next((m for m in plan.settings.serving.models if m.name == model.name), None)
    slo = model_settings.slo if model_settings else None
    speed = own.prefill_throughput.get(model.name, first.throughput.prefill_tokens_per_second)
    return Routing(
        path=path,
        served_name=model.name,
        prefill_throughput=round(speed),
        block_size=first.event_block_size,
        render_url=f"http://{render_service(model)}.{namespace}.svc.cluster.local:{POOL_PORT}",
        endpoints=sum(role.replicas_max * role.nodes * ports(role, path).ranks for role in model.roles),
        offload_tokens=offload_tokens(first),
        longest_prompt=model.context,
        disaggregated=model.disaggregated,
        decider=own.decider,
        streaming=own.streaming,
        objectives=slo is not None and (slo.ttft is not None or slo.tpot is not None),
        lora=any(role.has("--enable-lora") for role in model.roles),
        replicas=own.picker.replicas,
        scorers=dict(own.picker.scorers),
        allow_alpha=own.alpha_plugins,
        flow=_flow(plan, model) if own.flow_control.enabled else None,
    )


def _flow(plan: Plan, model: ModelPlan) -> FlowPlan:
    flow = plan.settings.llmd.flow_control
    batch = min(role.max_num_seqs for role in model.roles if role.role != "prefill")
    return FlowPlan(
        max_concurrency=batch + LOOK_AHEAD,
        max_requests=flow.requests,
        gibibytes=flow.gibibytes,
        ttl_seconds=flow.ttl,
        priorities=tuple(sorted(set(flow.objectives.values()))),
    )

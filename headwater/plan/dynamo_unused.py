"""Dynamo settings that would be accepted and ignored: each is refused, with what would give it a meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headwater.plan.dynamo_layout import elastic, entry, orchestrator
from headwater.plan.model import ModelPlan
from headwater.refusal import Fault
from headwater.settings import Settings


def unused(settings: Settings, models: Sequence[ModelPlan]) -> Iterator[Fault]:
    """Settings of Dynamo that nothing would read.

    Args:
        settings: the stack file.
        models: its models, placed.
    """
    own = settings.dynamo
    placed_by = orchestrator(settings, models)
    wide = any(role.nodes > 1 for model in models for role in model.roles)
    if own.scheduling == "lws" and not wide:
        why = "No replica spans nodes, so there is no group to form."
        yield _fault("scheduling", "lws", why, "Leave it out.")
    if own.queue.model_fields_set and placed_by != "grove":
        yield _fault("queue", "", "Only KAI has queues.", "Set `scheduling: grove` beside it, or leave it out.")
    if "privileged" in own.model_fields_set and not any(role.pod.efa for model in models for role in model.roles):
        value = str(own.privileged).lower()
        yield _fault("privileged", value, "No worker uses EFA, so none is privileged.", "Leave it out.")
    cost = own.router.cost
    if cost is not None and "host_credit" in cost.model_fields_set and not _offloads(models):
        why = "No model keeps KV cache in host memory."
        yield _fault(
            "router.cost.hostCredit", f"{cost.host_credit:g}", why, "Set `kvCache: {offload: auto}` of a model."
        )
    if entry(settings, models) == "picker":
        yield from _picker(settings)
    waiting = [model for model in models if elastic(model)]
    if waiting and own.planner is None and not settings.observability.enabled:
        yield Fault(
            "headwater:observability.enabled",
            "false",
            f"`{waiting[0].name}` follows load, and load is read from Prometheus.",
            "Leave observability on, give it one number of replicas, or use the planner with target `load`.",
        )


def _offloads(models: Sequence[ModelPlan]) -> bool:
    return any(role.offload_gib for model in models for role in model.roles)


def _picker(settings: Settings) -> Iterator[Fault]:
    own = settings.dynamo
    if own.frontend.model_fields_set:
        why = "With `gateway: picker` each worker brings a small frontend of its own."
        yield _fault("frontend", "", why, "Leave it out, or use another `gateway`.")
    for key, given in (("affinity", own.router.affinity), ("overload", own.router.overload)):
        if given is not None:
            why = "The frontends do this, and with `gateway: picker` requests pass them by."
            yield _fault(f"router.{key}", "", why, "Leave it out, or use another `gateway`.")


def _fault(key: str, value: str, why: str, remedy: str) -> Fault:
    return Fault(f"headwater:dynamo.{key}", value, why, remedy)

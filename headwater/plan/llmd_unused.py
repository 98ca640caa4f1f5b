"""llm-d settings that would be accepted and ignored: each is refused, with what would give it a meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headwater.plan.llmd_paths import routing_path
from headwater.plan.model import ModelPlan
from headwater.refusal import Fault
from headwater.settings import Settings
from headwater.settings.llmd import Llmd

FLOW_KEYS = {"ttl": "ttl", "requests": "requests", "gibibytes": "gibibytes"}


def unused(settings: Settings, models: Sequence[ModelPlan]) -> Iterator[Fault]:
    """Settings of llm-d that nothing would read."""
    own = settings.llmd
    chosen = {routing_path(own, model) for model in models}
    if own.mode == "standalone" and "gateway" in own.model_fields_set:
        yield _fault(
            "gateway", own.gateway, "Mode `standalone` has no Gateway.", "Leave it out, or use mode `gateway`."
        )
    if own.decider != "always" and not any(model.disaggregated for model in models):
        why = "No model has prefill and decode apart, so nothing is decided."
        yield _fault("decider", str(own.decider), why, "Leave it out, or set `disaggregate` of a model.")
    if own.streaming and "slo" not in chosen:
        yield _fault("streaming", "true", "Only path `slo` reads it.", "Leave it out, or use path `slo`.")
    if own.picker.scorers and "prefix" not in chosen:
        yield _fault("picker.scorers", "", "No model uses path `prefix`.", "Leave it out, or use path `prefix`.")
    yield from _flow(own)
    yield from _tier(own, models)
    yield from _scaling(settings, models)


def _flow(own: Llmd) -> Iterator[Fault]:
    flow = own.flow_control
    if flow.enabled:
        return
    for name in sorted(flow.model_fields_set & set(FLOW_KEYS)):
        value = getattr(flow, name)
        shown = f"{value:g}s" if name == "ttl" else str(value)
        why = "Flow control is off, so nothing waits in the router."
        yield _fault(f"flowControl.{FLOW_KEYS[name]}", shown, why, "Set `enabled: true` beside it, or leave it out.")


def _tier(own: Llmd, models: Sequence[ModelPlan]) -> Iterator[Fault]:
    tier = own.kv_tier
    if not tier.model_fields_set:
        return
    if not any(role.offload_gib > 0 for model in models for role in model.roles):
        why = "No model keeps KV blocks outside GPU memory."
        yield _fault("kvTier", "", why, "Set `kvCache: {offload: auto}` of a model, or leave it out.")
    if "gibibytes" in tier.model_fields_set and tier.files == "off":
        yield _fault("kvTier.gibibytes", str(tier.gibibytes), "There is no file tier.", "Set `files: nvme` beside it.")
    if tier.engine == "mooncake" and tier.files != "off":
        why = "Mooncake keeps blocks in the servers' memory; a file tier below it was never seen to work on AWS."
        yield _fault("kvTier.files", tier.files, why, "Use engine `native` or `lmcache`, or leave files out.")


def _scaling(settings: Settings, models: Sequence[ModelPlan]) -> Iterator[Fault]:
    own = settings.llmd.autoscaling
    elastic = [model for model in models if any(r.replicas_max > r.replicas_min for r in model.roles)]
    if own.model_fields_set and not elastic:
        why = "No model may change its number of replicas."
        yield _fault("autoscaling", "", why, "Give a model `replicas: {min, max}`, or leave it out.")
    if elastic and not settings.observability.enabled:
        yield Fault(
            "headwater:observability.enabled",
            "false",
            f"`{elastic[0].name}` follows load, and load is read from Prometheus.",
            "Leave observability on, or give the model one number of replicas.",
        )
    if own.by == "hpa" and own.metric != "requests":
        why = "Kubernetes' own autoscaler reads the engines' requests, not the router's metrics."
        yield _fault("autoscaling.metric", own.metric, why, "Use metric `requests`, or `by: keda`.")


def _fault(key: str, value: str, why: str, remedy: str) -> Fault:
    return Fault(f"headwater:llmd.{key}", value, why, remedy)

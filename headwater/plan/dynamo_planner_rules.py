"""What Dynamo's Planner cannot do as asked, and every key of its configuration that it would ignore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headwater.catalog.dynamo_surface import dynamo_surface
from headwater.plan.dynamo_layout import entry, least_gpus, most_gpus, planned
from headwater.plan.model import ModelPlan
from headwater.refusal import Fault, did_you_mean
from headwater.settings import Settings
from headwater.settings.dynamo import ConfigValue, Planner

SAID_ELSEWHERE = {
    "advisory": "headwater:dynamo.planner.advisory",
    "backend": "",
    "decode_engine_num_gpu": "",
    "decode_min_endpoint": "replicas.min of the model",
    "decode_scale_down_kv_rate": "headwater:dynamo.planner.decodeKv.down",
    "decode_scale_up_kv_rate": "headwater:dynamo.planner.decodeKv.up",
    "enable_load_scaling": "headwater:dynamo.planner.target",
    "enable_throughput_scaling": "headwater:dynamo.planner.target",
    "environment": "",
    "itl_ms": "slo.tpot of the model",
    "load_adjustment_interval_seconds": "headwater:dynamo.planner.loadInterval",
    "load_predictor": "headwater:dynamo.planner.predictor",
    "load_scaling_down_sensitivity": "headwater:dynamo.planner.sensitivity",
    "max_gpu_budget": "headwater:dynamo.planner.maxGpus",
    "max_throughput_scaling_replicas": "headwater:dynamo.planner.maxStep",
    "metric_pulling_prometheus_endpoint": "headwater:observability",
    "metric_reporting_prometheus_port": "",
    "min_endpoint": "replicas.min of the model",
    "min_gpu_budget": "",
    "mode": "disaggregate of the model",
    "model_name": "name of the model",
    "namespace": "",
    "optimization_target": "headwater:dynamo.planner.target",
    "pre_deployment_sweeping_mode": "",
    "prefill_engine_num_gpu": "",
    "prefill_min_endpoint": "replicas.min of the model",
    "prefill_scale_down_queue_tokens": "headwater:dynamo.planner.prefillQueue.down",
    "prefill_scale_up_queue_tokens": "headwater:dynamo.planner.prefillQueue.up",
    "ttft_ms": "slo.ttft of the model",
}
"""Fields we fill, with where a person says it; empty where the plan knows better than a person could."""

SECRETS = frozenset({"metric_pulling_prometheus_token"})


def planner_faults(settings: Settings, models: Sequence[ModelPlan]) -> Iterator[Fault]:
    """Faults of ``headwater:dynamo.planner``; also of scaling without it.

    Args:
        settings: the stack file.
        models: its models, placed.
    """
    own = settings.dynamo.planner
    scaled = [(index, model) for index, model in enumerate(models) if planned(settings, model)]
    if own is None:
        return
    path = "headwater:dynamo.planner"
    if not scaled:
        why = "No model may change its number of replicas, so there is nothing to plan."
        yield Fault(path, "", why, "Give a model `replicas: {min: 1, max: 4}`, or leave the planner out.")
        return
    if own.target == "sla" and not settings.observability.enabled:
        why = "It learns traffic from Prometheus, and observability is off."
        yield Fault(f"{path}.target", "sla", why, "Turn `headwater:observability` on, or use target `load`.")
    if own.target == "sla" and entry(settings, models) == "picker":
        why = "It learns traffic from the frontends' metrics, and with `gateway: picker` there are none."
        yield Fault(f"{path}.target", "sla", why, "Use `gateway: gatewayApi`, or target `load`.")
    for index, model in scaled:
        yield from _objectives(settings, own, index)
        yield from _budget(path, own, model)
    for key, value in own.config.items():
        yield from _field(f"{path}.config.{key}", key, value)


def _objectives(settings: Settings, own: Planner, index: int) -> Iterator[Fault]:
    slo = settings.serving.models[index].slo
    path = f"headwater:serving.models[{index}].slo"
    missing = [name for name, value in (("ttft", slo.ttft), ("tpot", slo.tpot)) if value is None]
    if own.target == "sla" and missing:
        why = f"The planner's target is `sla`, and this model has no {' and no '.join(missing)} to hold."
        yield Fault(path, "", why, "Add `slo: {ttft: 2s, tpot: 40ms}`, or use another target.")


def _budget(path: str, own: Planner, model: ModelPlan) -> Iterator[Fault]:
    if own.max_gpus is None:
        return
    least, most = least_gpus(model), most_gpus(model)
    if own.max_gpus < least:
        why = f"`{model.name}` needs {least} GPUs at its minimum of replicas."
        yield Fault(f"{path}.maxGpus", str(own.max_gpus), why, f"Allow at least {least}, or leave it out.")
    if own.max_gpus > most:
        why = f"`{model.name}` has {most} GPUs at its maximum of replicas, and its nodes are bought for that."
        yield Fault(f"{path}.maxGpus", str(own.max_gpus), why, "Raise `replicas.max`, or leave it out.")


def _field(path: str, key: str, value: ConfigValue) -> Iterator[Fault]:
    known = dynamo_surface()
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    if key not in known.planner_fields:
        why = f"The planner of Dynamo {known.version} has no field `{key}` and would ignore it without a word."
        yield Fault(path, shown, why, did_you_mean(key, set(known.planner_fields) - set(SAID_ELSEWHERE)))
    elif key in SECRETS:
        why = "A secret in a ConfigMap is readable by everybody who sees the namespace."
        yield Fault(path, "", why, "Use `metric_pulling_prometheus_token_file` with a mounted Secret.")
    elif key in SAID_ELSEWHERE:
        where = SAID_ELSEWHERE[key]
        remedy = f"Say it as `{where}`." if where else "Leave it out."
        yield Fault(path, shown, "Headwater fills this field from the plan.", remedy)
    elif not _fits(known.planner_fields[key], value):
        yield Fault(path, shown, f"This field takes {_WORDS[known.planner_fields[key]]}.", "")


_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "text": "text",
    "other": "a mapping, which the stack file cannot give here",
}


def _fits(kind: str, value: ConfigValue) -> bool:
    if value is None:
        return kind != "bool"
    if kind == "bool":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind == "int":
        return isinstance(value, int)
    if kind == "float":
        return isinstance(value, int | float)
    return kind == "text" and isinstance(value, str)

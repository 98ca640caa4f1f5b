"""Everything that lands on system nodes, with what it requests: the same numbers that components render.

The platform is one and the same under both serving stacks, and switching between them may not touch a resource of it.
So the pods of both are listed, whichever is chosen, and the node group is sized for the larger sum. Pods on GPU nodes
(servers and what runs beside them, the image pull, GPU daemons) are no part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from headwater.catalog.system import PodFact, own_pod, picker_constants, pod_facts
from headwater.plan.dynamo_layout import elastic, entry, orchestrator, planned
from headwater.plan.llmd_paths import mooncake_wanted, routing_path
from headwater.plan.model import ModelPlan, StackName
from headwater.plan.system_model import Workload
from headwater.settings import Settings

Pods = list[Workload]


def system_pods(settings: Settings, models: Sequence[ModelPlan]) -> dict[StackName, Pods]:
    """Every pod but daemons, by serving stack; the platform's own come first and are the same for both."""
    platform = _with(_platform(settings))
    if settings.weights.mirror is not None and settings.weights.fill:
        copied = {model.repository: model for model in reversed(models)}
        platform += [pod for model in copied.values() for pod in _with({"weights-fill"}, of_model=model)]
    return {"llm-d": platform + _llmd(settings, models), "dynamo": platform + _dynamo(settings, models)}


def daemons(settings: Settings) -> Workload:
    """What the daemons of one node request together; ``replicas`` is how many there are."""
    present = _platform(settings)
    found = [fact for fact in pod_facts("daemons").values() if fact.of in present]
    return Workload(
        name="daemons",
        replicas=len(found),
        cpu_millis=sum(fact.cpu_millis for fact in found),
        memory_mib=sum(fact.memory_mib for fact in found),
    )


def picker_millis(settings: Settings, model: ModelPlan) -> int:
    """CPU request of llm-d's picker, 1/1000 cores: a floor, and a share for each server it watches."""
    if settings.llmd.picker.cpu is not None:
        return round(settings.llmd.picker.cpu * 1000)
    base, each = picker_constants()
    return math.ceil((base + each * sum(role.replicas_max for role in model.roles)) / 100) * 100


def rolls_in_place(settings: Settings) -> bool:
    """Whether Dynamo's frontends roll one at a time on the room they have: where another one answers meanwhile."""
    return settings.dynamo.frontend.replicas > 1


def _platform(settings: Settings) -> set[str]:
    """Charts and add-ons under both serving stacks."""
    present = {"addons", "karpenter", "gpu-operator", "lws", "keda", settings.weights.cache}
    if settings.observability.enabled:
        present |= {"kube-prometheus-stack"} | ({"grafana"} if settings.observability.grafana else set())
    if settings.gateway.exposure != "cluster":
        present.add("aws-load-balancer-controller")
    if settings.hugging_face is not None and settings.hugging_face.secret_arn is not None:
        present.add("external-secrets")
    return present


def _llmd(settings: Settings, models: Sequence[ModelPlan]) -> Pods:
    own = settings.llmd
    found = _gateway(settings) if own.mode == "gateway" else []
    if own.autoscaling.by == "hpa" and settings.observability.enabled and any(elastic(model) for model in models):
        found += _with({"prometheus-adapter"})
    for model in models:
        beside = {"llm-d-standalone"} if own.mode == "standalone" else set[str]()
        if routing_path(own, model) == "slo":
            beside.add("llm-d-slo")
        found.append(
            _pod(
                f"{model.name} picker",
                replicas=own.picker.replicas,
                cpu_millis=picker_millis(settings, model),
                memory_mib=own.picker.memory * 1024,
                beside=beside,
            )
        )
        if mooncake_wanted(model, own.kv_tier):
            found += _with({"llm-d-mooncake"}, of_model=model)
    return found


def _dynamo(settings: Settings, models: Sequence[ModelPlan]) -> Pods:
    own, way = settings.dynamo.frontend, entry(settings, models)
    schedulers = {"grove": {"grove", "kai-scheduler"}, "lws": {"volcano"}, "none": set[str]()}
    found = _with({"dynamo-platform"} | schedulers[orchestrator(settings, models)])
    if way != "frontend":
        found += _gateway(settings)
    for model in models:
        if way == "picker":
            found += _with({"dynamo-picker"}, of_model=model)
        else:
            found.append(
                Workload(
                    name=f"{model.name} frontend",
                    replicas=own.replicas,
                    cpu_millis=own.cpu * 1000,
                    memory_mib=own.memory * 1024,
                    in_place=rolls_in_place(settings),
                )
            )
        if planned(settings, model):
            found += _with({"dynamo-planner"}, of_model=model)
    return found


def _gateway(settings: Settings) -> Pods:
    """The Gateway's controller and its proxies, with what the controller puts beside each of them."""
    kind, proxy = settings.llmd.gateway, own_pod("gateway-proxy")
    beside = {f"{kind}-proxy"}
    return [*_with({kind}), _pod(proxy.name, proxy.replicas, proxy.cpu_millis, proxy.memory_mib, beside=beside)]


def _with(present: Iterable[str], *, of_model: ModelPlan | None = None) -> Pods:
    """Pods of charts, add-ons and features, in the catalogue's order; those of a model carry its name."""
    prefix = f"{of_model.name} " if of_model else ""
    return [_pod(prefix + f.name, f.replicas, f.cpu_millis, f.memory_mib) for f in _facts(present)]


def _pod(name: str, replicas: int, cpu_millis: int, memory_mib: int, beside: Iterable[str] = ()) -> Workload:
    """One kind of pod, with the containers that come beside its own."""
    more = _facts(beside)
    return Workload(
        name=name,
        replicas=replicas,
        cpu_millis=cpu_millis + sum(fact.cpu_millis for fact in more),
        memory_mib=memory_mib + sum(fact.memory_mib for fact in more),
    )


def _facts(present: Iterable[str]) -> list[PodFact]:
    every = [*pod_facts("ours").values(), *pod_facts("upstream").values()]
    return [fact for fact in every if fact.of in set(present)]

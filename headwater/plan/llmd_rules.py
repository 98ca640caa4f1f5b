"""What llm-d cannot do as asked: refused before anything is created."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater.catalog.router import router_plugins
from headwater.plan.llmd_paths import routing_path
from headwater.plan.llmd_unused import unused
from headwater.plan.model import ModelPlan, Pool
from headwater.refusal import Fault, did_you_mean
from headwater.settings import Settings
from headwater.settings.llmd import Llmd, RoutingPath

RESERVED = ("inference-gateway", "default-deny", "headwater-llm-d")
MOST_RANKS = 8
"""Ports an InferencePool can have, one for each rank of a pod."""
SINGLE_PROCESS_PATHS: tuple[RoutingPath, ...] = ("prefix", "disaggregated", "tiered", "slo", "wide-ep")
"""Paths whose pickers keep state of their own process."""


def llmd_faults(settings: Settings, models: Sequence[ModelPlan], pools: Sequence[Pool] = ()) -> list[Fault]:
    """Everything about llm-d that cannot work as asked, or would be accepted and ignored.

    Args:
        settings: the stack file.
        models: its models, placed.
        pools: node pools they run on, to know zones.
    """
    own = settings.llmd
    faults = [*_names(own, models), *_scorers(own), *_picker(own, models), *_flow(own), *_autoscaling(own, models)]
    for index, model in enumerate(models):
        faults += _model(own, index, model)
        faults += _one_zone(index, model, pools)
    return [*faults, *unused(settings, models)]


def _one_zone(index: int, model: ModelPlan, pools: Sequence[Pool]) -> Iterable[Fault]:
    if not model.disaggregated and all(role.nodes == 1 for role in model.roles):
        return
    zones = {zone for role in model.roles for pool in pools if pool.name == role.pool for zone in pool.zones}
    if len(zones) > 1:
        accelerator = model.roles[0].accelerator
        yield Fault(
            f"headwater:serving.models[{index}]",
            model.name,
            f"Its servers exchange tensors or KV blocks over EFA, which does not leave a zone, and would run in "
            f"{', '.join(sorted(zones))}.",
            f"Name one zone first in `headwater:capacity.{accelerator}.zones`.",
        )


def _names(own: Llmd, models: Sequence[ModelPlan]) -> Iterable[Fault]:
    known = [model.name for model in models]
    for index, name in enumerate(known):
        if name in RESERVED:
            why = "The Gateway and its objects have this name."
            yield Fault(f"headwater:serving.models[{index}].name", name, why, "Give the model another name.")
    if own.mode == "gateway" and own.gateway == "istio" and len(models) > 1:
        why = f"Istio loses the picker when a Gateway has several pools (istio#58392, #59577); here are {len(models)}."
        yield Fault("headwater:llmd.gateway", "istio", why, "Use `envoy` or `agentgateway`.")
    for key, names in (("paths", own.paths), ("prefillThroughput", own.prefill_throughput)):
        for name in names:
            if name not in known:
                yield Fault(
                    f"headwater:llmd.{key}.{name}", "", f"No model is called `{name}`.", did_you_mean(name, known)
                )


def _scorers(own: Llmd) -> Iterable[Fault]:
    known = router_plugins()
    for name in own.picker.scorers:
        path = f"headwater:llmd.picker.scorers.{name}"
        state = known.maturity(name)
        if state is None:
            why = f"The router {known.router} has no plugin of that name."
            yield Fault(path, "", why, did_you_mean(name, known.scorers()))
        elif state == "gone":
            yield Fault(path, "", "This plugin is deprecated or removed.", f"Use `{known.gone[name]}`.")
        elif known.kind(name) != "scorer":
            why = f"This is a {known.kind(name)}, not a scorer; only scorers have weights."
            yield Fault(path, "", why, "Known scorers: " + ", ".join(known.scorers()) + ".")
        elif state == "alpha" and not own.alpha_plugins:
            why = "The router calls this plugin alpha and refuses it without its experimental flag."
            yield Fault(path, "", why, "Set `headwater:llmd.alphaPlugins: true` if you accept that it may change.")
    return


def _picker(own: Llmd, models: Sequence[ModelPlan]) -> Iterable[Fault]:
    if own.picker.replicas == 1:
        return
    path, value = "headwater:llmd.picker.replicas", str(own.picker.replicas)
    if own.flow_control.enabled:
        yield Fault(
            path,
            value,
            "Flow control queues requests inside one picker; a second one would not see them.",
            "Use one replica, or turn `flowControl` off.",
        )
    stateful = router_plugins().stateful
    for model in models:
        chosen = routing_path(own, model)
        custom = chosen == "prefix" and own.picker.scorers and not set(own.picker.scorers) & set(stateful)
        if chosen in SINGLE_PROCESS_PATHS and not custom:
            yield Fault(
                path,
                value,
                f"Path `{chosen}` of model `{model.name}` keeps its cache index and load counts inside one picker; "
                "several would route on different facts.",
                "Use one replica, or path `precise`, whose index every picker builds from the engines' events.",
            )


def _flow(own: Llmd) -> Iterable[Fault]:
    flow = own.flow_control
    if flow.objectives and not flow.enabled and min(flow.objectives.values()) >= 0:
        yield Fault(
            "headwater:llmd.flowControl.objectives",
            "",
            "Without flow control only negative priorities have an effect; these would be accepted and ignored.",
            "Set `enabled: true` beside them.",
        )
    if flow.enabled and flow.gibibytes >= own.picker.memory * 2:
        yield Fault(
            "headwater:llmd.flowControl.gibibytes",
            str(flow.gibibytes),
            f"Waiting requests live in the picker's memory, whose limit is {own.picker.memory * 2} GiB.",
            "Ask for less than half of it, or raise `headwater:llmd.picker.memory`.",
        )


def _autoscaling(own: Llmd, models: Sequence[ModelPlan]) -> Iterable[Fault]:
    if own.autoscaling.metric != "requests" and not own.flow_control.enabled:
        yield Fault(
            "headwater:llmd.autoscaling.metric",
            own.autoscaling.metric,
            "The router has this metric only with flow control.",
            "Set `headwater:llmd.flowControl.enabled: true`, or scale on `requests`.",
        )
    for index, model in enumerate(models):
        if any(role.replicas_min == 0 for role in model.roles):
            yield from _from_zero(own, index, model)


def _from_zero(own: Llmd, index: int, model: ModelPlan) -> Iterable[Fault]:
    path = f"headwater:serving.models[{index}].replicas.min"
    if model.disaggregated:
        yield Fault(
            path,
            "0",
            "A disaggregated model cannot start from zero: prefill and decode would have to wake together.",
            "Keep at least one replica, or `disaggregate: off`.",
        )
        return
    if not own.flow_control.enabled:
        yield Fault(
            path,
            "0",
            "With no server running, requests must wait somewhere, and only flow control lets them.",
            "Set `headwater:llmd.flowControl.enabled: true`, or keep at least one replica.",
        )
        return
    if own.autoscaling.by == "hpa":
        yield Fault(
            "headwater:llmd.autoscaling.by",
            "hpa",
            f"Kubernetes' own autoscaler never wakes `{model.name}` from zero.",
            "Use `keda`.",
        )
    slowest = max(role.startup_seconds for role in model.roles)
    if own.flow_control.ttl < slowest:
        yield Fault(
            "headwater:llmd.flowControl.ttl",
            f"{own.flow_control.ttl:g}s",
            f"`{model.name}` may need {slowest} s from zero to its first answer; waiting requests would be dropped "
            "before.",
            f"Ask at least {slowest}s, or keep one replica.",
        )


def _model(own: Llmd, index: int, model: ModelPlan) -> list[Fault]:
    chosen = routing_path(own, model)
    path = f"headwater:llmd.paths.{model.name}" if model.name in own.paths else "headwater:llmd.path"
    at = f"headwater:serving.models[{index}]"
    faults: list[Fault] = []

    def refuse(key: str, value: str, why: str, remedy: str) -> None:
        faults.append(Fault(key, value, why, remedy))

    if chosen == "disaggregated" and not model.disaggregated:
        refuse(path, chosen, f"`{model.name}` has no prefill and decode servers.", f"Set `{at}.disaggregate`.")
    if model.disaggregated and chosen not in ("disaggregated", "wide-ep", "slo"):
        refuse(
            path,
            chosen,
            f"`{model.name}` is disaggregated; path `{chosen}` would send whole requests to prefill servers.",
            "Use `disaggregated`, `wide-ep` or `slo`, or `disaggregate: off`.",
        )
    elif chosen == "tiered" and not any(role.offload_gib > 0 for role in model.roles):
        refuse(path, chosen, f"`{model.name}` has no KV tier beside GPU memory.", f"Set `{at}.kvCache.offload`.")
    if own.kv_tier.engine != "native" and chosen == "precise":
        refuse(
            "headwater:llmd.kvTier.engine",
            own.kv_tier.engine,
            "The router does not see what this engine keeps outside the GPU, so an exact index would be wrong.",
            "Use `native`, or path `tiered`.",
        )
    if chosen == "precise" and (model.hybrid or model.sliding_window):
        refuse(
            path,
            chosen,
            f"`{model.name}` has layers that are not full attention; their blocks are skipped in KV events and the "
            "index would claim what is not cached (llm-d-router#2362).",
            "Use `prefix`.",
        )
    if chosen == "precise" and any(role.parallel.data > 1 for role in model.roles):
        refuse(
            path,
            chosen,
            f"`{model.name}` has data-parallel ranks; each publishes its events on a port of its own, which one pool "
            "port cannot tell apart.",
            "Use `wide-ep` or `prefix`.",
        )
    if chosen != "wide-ep" and any(role.parallel.data > 1 and role.nodes > 1 for role in model.roles):
        refuse(
            path,
            chosen,
            f"Data-parallel ranks of `{model.name}` on several nodes are started rank by rank only on path `wide-ep`.",
            "Use `wide-ep`.",
        )
    if chosen == "slo" and model.disaggregated and not own.streaming:
        refuse(
            path,
            chosen,
            "Predicting decode latency needs clients that stream every answer.",
            "Set `headwater:llmd.streaming: true` if they do, or use `disaggregated`.",
        )
    if chosen == "wide-ep":
        faults += _wide_ep(path, at, model)
    if model.disaggregated:
        faults += _prefill_decode(at, model)
    for role in model.roles:
        if role.nodes > 1 and role.pod.efa == 0:
            refuse(
                at,
                model.name,
                f"A replica of {role.nodes} nodes without EFA would talk over TCP.",
                "Allow instance types with EFA in `headwater:capacity`.",
            )
    return faults


def _wide_ep(path: str, at: str, model: ModelPlan) -> list[Fault]:
    faults = []
    for role in model.roles:
        if not (role.parallel.expert and role.parallel.data > 1):
            faults.append(
                Fault(
                    path,
                    "wide-ep",
                    f"`{model.name}` has no data-parallel ranks with expert parallelism to spread over.",
                    f"Set `{at}.engine: {{data-parallel-size: 8, enable-expert-parallel: true}}`, or another path.",
                )
            )
            break
        if role.nodes > 1 and role.pod.efa == 0:
            faults.append(Fault(path, "wide-ep", "All-to-all between nodes needs EFA.", "Use whole nodes with EFA."))
        if role.parallel.data % role.nodes or role.parallel.data // role.nodes > MOST_RANKS:
            why = f"{role.parallel.data} ranks on {role.nodes} nodes: each pod must hold the same number, at most 8."
            faults.append(Fault(path, "wide-ep", why, "Choose `data-parallel-size` as a multiple of the nodes."))
        backend = role.arg("--all2all-backend") or ""
        if role.nodes > 1 and backend in ("deepep_low_latency", "deepep_high_throughput"):
            faults.append(
                Fault(
                    f"{at}.engine.all2all-backend",
                    backend,
                    "This backend needs NVSHMEM with IBGDA, which EFA does not have (DeepEP#369, vllm#27898).",
                    "Use `allgather_reducescatter`.",
                )
            )
    return faults


def _prefill_decode(at: str, model: ModelPlan) -> list[Fault]:
    prefill, decode = model.role("prefill"), model.role("decode")
    faults = []
    if decode.parallel.tensor < prefill.parallel.tensor and not model.latent_attention:
        faults.append(
            Fault(
                f"{at}.disaggregate",
                "",
                f"Decode has TP {decode.parallel.tensor}, prefill TP {prefill.parallel.tensor}: NIXL hands KV blocks "
                "over only to as many tensor ranks or more, except for latent attention.",
                "Give decode at least prefill's tensor parallelism.",
            )
        )
    if (prefill.block_size, prefill.arg("--kv-cache-dtype")) != (decode.block_size, decode.arg("--kv-cache-dtype")):
        faults.append(
            Fault(f"{at}.kvCache", "", "Prefill and decode differ in KV block size or dtype.", "Set both alike.")
        )
    return faults

"""What Dynamo cannot do as asked: refused before anything is created."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headwater.catalog.dynamo_surface import DynamoSurface, dynamo_surface, line_of, lines, lines_between
from headwater.plan.dynamo_layout import NAME_BUDGET, component_name, entry, name_budget, orchestrator, release
from headwater.plan.dynamo_planner_rules import planner_faults
from headwater.plan.dynamo_unused import unused
from headwater.plan.model import ModelPlan, Pool
from headwater.refusal import Fault
from headwater.settings import Settings

TIERS = ("gpu", "host", "disk", "remote")


def dynamo_faults(settings: Settings, models: Sequence[ModelPlan], pools: Sequence[Pool] = ()) -> list[Fault]:
    """Everything about Dynamo that cannot work as asked, or would be accepted and ignored.

    Args:
        settings: the stack file.
        models: its models, placed.
        pools: node pools they run on, to know zones.
    """
    faults = [*_version(settings), *_tiers(settings, models), *_scheduling(settings, models)]
    faults += [*_entry(settings, models), *_shared_volume(settings)]
    grove = orchestrator(settings, models) == "grove"
    for index, model in enumerate(models):
        faults += [*_model(index, model, grove), *_one_zone(index, model, pools)]
    return [*faults, *planner_faults(settings, models), *unused(settings, models)]


def upgrade_fault(path: str, old: str, new: str) -> Fault | None:
    """Why release ``new`` may not follow ``old``; None when it may.

    An upgrade goes within a release line or to the next one: components of one graph must speak the same protocols, and
    no line keeps those of the line before the last.

    Args:
        path: key the person wrote.
        old: release now running.
        new: release asked for.
    """
    steps = lines_between(old, new)
    if steps in (0, 1):
        return None
    if steps is None:
        why = f"Dynamo's release lines known here are {', '.join(lines())}; {old} is of none of them."
        return Fault(path, old, why, "Give the release that is really running.")
    if steps < 0:
        return Fault(path, old, f"{new} is older, and Dynamo has no way back.", "Ask for a release of a later line.")
    known = lines()
    between = known[known.index(line_of(old)) + 1 : known.index(line_of(new))]
    why = f"From {line_of(old)} to {line_of(new)} there are {steps} steps; Dynamo supports one release line at a time."
    return Fault(path, old, why, f"Upgrade through {', '.join(between)} first, one after the other.")


def _version(settings: Settings) -> Iterator[Fault]:
    known, asked = dynamo_surface(), release(settings)
    path = "headwater:dynamo.version"
    if asked not in known.releases:
        why = f"Headwater knows the flags of Dynamo {line_of(known.version)}: releases {', '.join(known.releases)}."
        yield Fault(path, asked, why, f'Use one of them, or leave it out for "{known.version}".')
    elif settings.dynamo.upgrade_from is not None:
        fault = upgrade_fault("headwater:dynamo.upgradeFrom", settings.dynamo.upgrade_from, asked)
        if fault is not None:
            yield fault


def _tiers(settings: Settings, models: Sequence[ModelPlan]) -> Iterator[Fault]:
    asked = settings.dynamo.kv_tiers
    if asked is None:
        return
    path, shown = "headwater:dynamo.kvTiers", ", ".join(asked)
    if asked[0] != "gpu" or list(asked) != sorted(asked, key=TIERS.index):
        why = "Tiers are filled from the nearest on; the engine always keeps KV cache in GPU memory first."
        yield Fault(path, shown, why, "List them in order: gpu, host.")
    if "disk" in asked:
        yield Fault(
            path,
            shown,
            "Local disk (G3): vLLM's file tier never deletes a block, so disks fill until pods are evicted; "
            "Dynamo's own (KVBM) is deprecated, and its hybrid models do not start.",
            "Use `[gpu, host]` and give models more host memory, `kvCache: {offload: 400}`; or stack llm-d with "
            "`headwater:llmd.kvTier.files`.",
        )
    if "remote" in asked:
        yield Fault(
            path,
            shown,
            "Object storage (G4): nothing in this release deploys it. KVBM's settings for it are read by no code, "
            "and the router drops events of remote caches.",
            "Use `[gpu, host]`; more replicas with the KV router share load by what each has cached.",
        )
    for index, model in enumerate(models):
        offloads = any(role.offload_gib for role in model.roles)
        where = f"headwater:serving.models[{index}].kvCache.offload"
        if "host" in asked and not offloads:
            why = f"`{path}` asks for host memory, and this model keeps KV cache on GPUs only."
            yield Fault(where, "off", why, "Set `auto` or a number of GiB, or leave `host` out of the tiers.")
        if "host" not in asked and offloads:
            why = f"`{path}` does not list host memory, and this model moves KV cache there."
            yield Fault(where, "", why, "Add `host` to the tiers, or set `off`.")


def _scheduling(settings: Settings, models: Sequence[ModelPlan]) -> Iterator[Fault]:
    wide = [model.name for model in models for role in model.roles if role.nodes > 1]
    if wide and orchestrator(settings, models) == "none":
        yield Fault(
            "headwater:dynamo.scheduling",
            settings.dynamo.scheduling,
            f"A replica of `{wide[0]}` spans nodes, and plain Deployments cannot start its pods together.",
            "Use `auto`, `grove` or `lws`.",
        )
    needed, most = sum(model.gpus for model in models), settings.dynamo.queue.max_gpus
    if most is not None and most < needed:
        why = f"The models need {needed} GPUs at the minimum of their replicas."
        yield Fault("headwater:dynamo.queue.maxGpus", str(most), why, f"Allow {needed} or more.")


def _entry(settings: Settings, models: Sequence[ModelPlan]) -> Iterator[Fault]:
    way, gateway = entry(settings, models), settings.gateway
    path = "headwater:dynamo.gateway"
    if way == "frontend" and gateway.exposure != "cluster" and len(models) > 1:
        why = f"Each of {len(models)} models would get a load balancer of its own, under one host name."
        yield Fault(path, settings.dynamo.gateway, why, "Use `gatewayApi`, or leave it out.")
    if way != "picker":
        return
    if settings.llmd.gateway == "istio" and len(models) > 1:
        why = f"Istio loses the picker when a Gateway has several pools (istio#58392, #59577); here are {len(models)}."
        yield Fault("headwater:llmd.gateway", "istio", why, "Use `envoy` or `agentgateway`.")
    own = settings.dynamo
    if own.router.mode != "kv":
        why = "Dynamo's endpoint picker routes by KV cache only."
        yield Fault("headwater:dynamo.router.mode", own.router.mode, why, "Use `kv`, or another `gateway`.")
    for index, model in enumerate(models):
        if any(role.nodes > 1 for role in model.roles):
            why = (
                f"Every worker pod of `{model.name}` would be an endpoint of the Gateway, also those that only compute "
                "for their group's leader."
            )
            yield Fault(f"headwater:serving.models[{index}]", "", why, f"Set `{path}: gatewayApi`.")


def _shared_volume(settings: Settings) -> Iterator[Fault]:
    if settings.dynamo.compilation_cache and settings.weights.cache not in ("efs", "fsx"):
        yield Fault(
            "headwater:dynamo.compilationCache",
            "true",
            f"Compiled kernels need a volume that all nodes share; weights.cache is `{settings.weights.cache}`.",
            "Set `headwater:weights.cache: efs`, or leave it out.",
        )


def _model(index: int, model: ModelPlan, grove: bool) -> Iterator[Fault]:
    path = f"headwater:serving.models[{index}]"
    for role in model.roles:
        if role.replicas_min == 0:
            why = "Without workers a model leaves Dynamo's frontend, and no request brings it back."
            yield Fault(f"{path}.replicas.min", "0", why, "Use 1, or stack llm-d, which scales from zero.")
            break
    if model.disaggregated:
        yield from _apart(path, model)
    yield from _parsers(path, model, dynamo_surface())
    for role in model.roles:
        if role.nodes > 1 and role.pod.efa == 0:
            why = f"A replica of {role.nodes} nodes without EFA would talk over TCP."
            yield Fault(path, model.name, why, "Allow instance types with EFA in `headwater:capacity`.")
        if (scheduler := role.arg("--scheduler-cls")) is not None:
            why = "Dynamo puts its own scheduler around the engine's, which measures what router and planner read."
            yield Fault(f"{path}.engine.scheduler-cls", scheduler, why, "Leave it out.")
    widest = max(name_budget(component_name(role), role.nodes) for role in model.roles)
    longest = len(model.name) + max(widest, name_budget("frontend", 1))
    if grove and longest > NAME_BUDGET:
        why = f"With its components it takes {longest} characters; Grove would cut it at {NAME_BUDGET} and add a hash."
        yield Fault(f"{path}.name", model.name, why, "Give it a shorter name.")


def _one_zone(index: int, model: ModelPlan, pools: Sequence[Pool]) -> Iterator[Fault]:
    """EFA does not leave a zone, and so neither must servers that exchange tensors or KV cache."""
    if not model.disaggregated and all(role.nodes == 1 for role in model.roles):
        return
    zones = sorted({zone for role in model.roles for pool in pools if pool.name == role.pool for zone in pool.zones})
    if len(zones) > 1:
        why = f"Its servers exchange tensors or KV cache over EFA, and would run in {', '.join(zones)}."
        remedy = f"Name one zone first in `headwater:capacity.{model.roles[0].accelerator}.zones`."
        yield Fault(f"headwater:serving.models[{index}]", model.name, why, remedy)


def _apart(path: str, model: ModelPlan) -> Iterator[Fault]:
    """Prefill and decode in servers of their own."""
    prefill, decode = model.role("prefill"), model.role("decode")
    if decode.parallel.tensor < prefill.parallel.tensor and not model.latent_attention:
        why = (
            f"Decode has TP {decode.parallel.tensor}, prefill TP {prefill.parallel.tensor}: NIXL hands KV cache over "
            "only to as many tensor ranks or more, except for latent attention."
        )
        yield Fault(f"{path}.disaggregate", "", why, "Give decode at least prefill's tensor parallelism.")
    if (prefill.block_size, prefill.arg("--kv-cache-dtype")) != (decode.block_size, decode.arg("--kv-cache-dtype")):
        yield Fault(f"{path}.kvCache", "", "Prefill and decode differ in KV block size or dtype.", "Set both alike.")
    if any(role.pod.efa == 0 for role in model.roles):
        why = "Without EFA, KV cache goes from prefill to decode over TCP: first tokens took 98 s instead of 1 s."
        yield Fault(f"{path}.disaggregate", "", why, "Use whole EFA nodes, or `disaggregate: off`.")
    for role in model.roles:
        if role.nodes > 1 and role.replicas_max > 1:
            yield Fault(
                f"{path}.disaggregate",
                "",
                f"A {role.role} replica spans {role.nodes} nodes, which must share a name for the KV transfer; "
                f"Dynamo gives {role.replicas_max} replicas the same one, and decode would read the wrong cache.",
                "Allow one such replica, or fewer GPUs a replica; or `disaggregate: off`.",
            )


def _parsers(path: str, model: ModelPlan, known: DynamoSurface) -> Iterator[Fault]:
    """Tool calls and reasoning are parsed by Dynamo's frontend, which has parsers of its own."""
    for role in model.roles[:1]:
        tool, reasoning = role.arg("--tool-call-parser"), role.arg("--reasoning-parser")
        if tool is not None and known.tool_parsers.of_vllm(tool) is None:
            why = f"Dynamo {known.version} has no parser for this model's tool calls (`{tool}`)."
            yield Fault(f"{path}.toolCalling", "true", why, "Set `toolCalling: false`, or stack llm-d.")
        if reasoning is not None and known.reasoning_parsers.of_vllm(reasoning) is None:
            why = f"Dynamo {known.version} has no parser for this model's reasoning (`{reasoning}`)."
            yield Fault(f"{path}.reasoning", "true", why, "Set `reasoning: false`, or stack llm-d.")

"""Settings and catalogue in, one frozen plan out; everything that cannot be done is said at once."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.catalog import defaults, engine_surface
from headwater.catalog import prices as prices_of
from headwater.catalog.calibration import Calibration, CalibrationError, load_calibrations
from headwater.catalog.engine_surface import Surface, surface
from headwater.catalog.instances import load_instances
from headwater.catalog.releases import default_kubernetes, engines, kubernetes_versions
from headwater.plan.choose import Choice, options
from headwater.plan.costs import cost
from headwater.plan.dynamo_rules import dynamo_faults
from headwater.plan.fleet import cheapest_fleet
from headwater.plan.llmd_rules import llmd_faults
from headwater.plan.model import ModelPlan, Plan, Pool, StackName
from headwater.plan.notices import notices
from headwater.plan.platform_rules import platform_faults
from headwater.plan.pools import assign, settle
from headwater.plan.roles import model_plan
from headwater.plan.site import Supply, network_zones, supply
from headwater.plan.stacks import STACKS, candidate_stacks, resolve_stack
from headwater.plan.subject import Subject, read_subject
from headwater.plan.system_nodes import system_group
from headwater.refusal import Fault, Refusal, did_you_mean
from headwater.settings import Settings
from headwater.settings.stack import ACCELERATORS, SECTIONS

RULES: dict[StackName, Callable[[Settings, Sequence[ModelPlan], Sequence[Pool]], list[Fault]]] = {
    "llm-d": llmd_faults,
    "dynamo": dynamo_faults,
}
"""What each serving stack refuses."""
CALIBRATIONS = "calibrations.yaml"
"""File of the project that ``headwater calibrate`` writes."""


@dataclass(frozen=True)
class _Ground:
    """What every model's planning reads: the stack file, what may be bought, what engines accept.

    Attributes:
        surfaces: of every stack; ``considered`` of those the plan may end on.
        project: folder that paths in the stack file start from.
    """

    settings: Settings
    supplies: Mapping[str, Supply]
    surfaces: Mapping[StackName, Surface]
    considered: Mapping[StackName, Surface]
    project: Path
    calibrations: Mapping[str, Calibration]


def newest_catalogue_day() -> dt.date:
    """The newest day any part of the catalogue was read: the plan's clock."""
    return max(prices_of.as_of(), engine_surface.as_of(), defaults.as_of())


def build_plan(
    settings: Settings,
    *,
    today: dt.date | None = None,
    project: Path | None = None,
    calibrations: Mapping[str, Calibration] | None = None,
) -> Plan:
    """The whole environment, decided.

    Every model is sized for the engines of both serving stacks and takes what the more demanding one needs, so that
    changing ``serving.stack`` later never changes a node.

    Args:
        settings: the stack file.
        today: day of the plan, for reservations that end; default is the catalogue's newest day, never the clock.
        project: folder that paths in the stack file start from; default is the current one.
        calibrations: entries that ``calibration`` of a model may name, by key; default is the project's own file.

    Raises:
        Refusal: with every fault found.
    """
    faults: list[Fault] = []
    day = today or newest_catalogue_day()
    kubernetes = _kubernetes(settings, faults)
    ground, zones = _ground(settings, day, project, calibrations, faults)
    models, pools = _place(ground, _choices(ground, faults), faults)
    faults += platform_faults(settings, zones, pools, project)
    system = system_group(settings, models, zones, faults)
    if faults:
        raise Refusal(_in_order(faults))
    stack, why = resolve_stack(settings, models)
    faults += RULES[stack](settings, models, pools)
    if faults:
        raise Refusal(_in_order(faults))
    return Plan(
        environment=settings.environment,
        region=settings.region,
        kubernetes=kubernetes,
        stack=stack,
        stack_why=why,
        vllm=engines()[stack].vllm,
        cluster_name=settings.cluster_name,
        zones=zones,
        models=models,
        pools=pools,
        system=system,
        cost=cost(settings, pools, system),
        warnings=notices(settings, models, pools, ground.supplies, day, stack=stack),
        settings=settings,
    )


def choices(
    settings: Settings,
    *,
    today: dt.date | None = None,
    project: Path | None = None,
    calibrations: Mapping[str, Calibration] | None = None,
) -> tuple[Choice, ...]:
    """Where each model runs, before pools and cost: what ``headwater explain`` opens up.

    Args:
        settings: the stack file.
        today: as for ``build_plan``.
        project: as for ``build_plan``.
        calibrations: as for ``build_plan``.

    Raises:
        Refusal: with every fault found.
    """
    faults: list[Fault] = []
    ground, _ = _ground(settings, today or newest_catalogue_day(), project, calibrations, faults)
    found = _choices(ground, faults)
    if faults:
        raise Refusal(_in_order(faults))
    return tuple(found)


def _ground(
    settings: Settings,
    day: dt.date,
    project: Path | None,
    calibrations: Mapping[str, Calibration] | None,
    faults: list[Fault],
) -> tuple[_Ground, tuple[str, ...]]:
    """What planning stands on, and the zones of the network."""
    folder = project or Path()
    zones = network_zones(settings, faults)
    supplies = {a: supply(settings, a, zones, day, faults) for a in ACCELERATORS}
    surfaces = {stack: surface(engines()[stack].vllm) for stack in STACKS}
    considered = {stack: surfaces[stack] for stack in candidate_stacks(settings)}
    entries = calibrations or {}
    if calibrations is None:
        try:
            entries = load_calibrations(folder / CALIBRATIONS)
        except (CalibrationError, OSError) as error:
            why = str(error).replace(f"{folder / CALIBRATIONS}", str(CALIBRATIONS))
            faults.append(Fault(str(CALIBRATIONS), "", f"It cannot be read: {why}.", "Mend it, or take it away."))
    return _Ground(settings, supplies, surfaces, considered, folder, entries), zones


def _kubernetes(settings: Settings, faults: list[Fault]) -> str:
    asked = settings.cluster.version
    if asked is None:
        return default_kubernetes()
    known = kubernetes_versions()
    if asked not in known and settings.cluster.existing is None:
        why = f"Headwater's pinned set runs on Kubernetes {', '.join(sorted(known))}."
        remedy = did_you_mean(asked, known) if len(known) > 1 else f'Use "{default_kubernetes()}", or leave it out.'
        faults.append(Fault("headwater:cluster.version", asked, why, remedy))
    return asked


def _choices(ground: _Ground, faults: list[Fault]) -> list[Choice]:
    found = []
    for index, model in enumerate(ground.settings.serving.models):
        subject, wrong = read_subject(index, model, ground.considered, ground.calibrations, ground.project)
        faults += wrong
        if subject is None or wrong:
            continue
        ways = options(subject, ground.supplies, _versions(subject, ground), faults)
        if ways:
            found.append(ways)
    chosen = cheapest_fleet(found, lambda choices: _bill(ground, choices))
    for choice in chosen:
        faults += _across_nodes(choice, ground)
    return list(chosen)


def _bill(ground: _Ground, choices: Sequence[Choice]) -> float:
    """$/h of whole nodes at the minimum of replicas; the maximum breaks ties."""
    _, pools = _place(ground, choices, [])
    prices = [(p, p.dollars_per_hour or prices_of.any_price(p.instances[0])) for p in pools]
    return sum(dollars * (max(p.nodes_now, p.warm) + p.nodes_max / 1000) for p, dollars in prices)


def _versions(subject: Subject, ground: _Ground) -> tuple[str, ...]:
    """Engines to size for: those of both stacks that know the model; with a calibration, the one it was made on."""
    knowing = {s.version for s in ground.surfaces.values() if subject.architecture.name in s.architectures}
    entry = subject.calibration
    measured = {v for v in knowing if entry and v.split(".")[:2] == entry.version.split(".")[:2]}
    mine = {s.version for s in ground.considered.values()}
    return tuple(sorted(measured & mine or knowing))


def _across_nodes(choice: Choice, ground: _Ground) -> list[Fault]:
    """All-to-all backends that cannot leave a node over EFA are refused where ranks are on several."""
    backend = choice.subject.overrides.word("all2all-backend")
    hopeless = {b for s in ground.considered.values() for b in s.intranode_all2all}
    if backend not in hopeless or choice.placement.nodes == 1:
        return []
    why = "This backend needs NVSHMEM over InfiniBand, which EFA does not offer; its ranks would be on several nodes."
    path = choice.subject.path("engine.all2all-backend")
    return [Fault(path, str(backend), why, "Use allgather_reducescatter, or leave it out.")]


def _place(
    ground: _Ground, choices: Sequence[Choice], faults: list[Fault]
) -> tuple[tuple[ModelPlan, ...], tuple[Pool, ...]]:
    supplies = ground.supplies
    if any(not s.zones for s in supplies.values()):
        return (), ()
    models = []
    for choice in choices:
        instance = choice.placement.hardware.instance
        same = [h.instance for h in supplies[instance.gpu].hardware if h.instance.gpus == instance.gpus]
        types = [instance, *(i for i in same if i != instance)]
        if instance.gpus == 1:  # such a pod may fill a larger node that is bought anyway
            types += [i for i in load_instances().values() if i.gpu == instance.gpu and i.gpus > 1]
        models.append(model_plan(choice, ground.settings, types, ground.considered, faults))
    return assign(settle(models, supplies), supplies, faults)


def _in_order(faults: Sequence[Fault]) -> list[Fault]:
    """Faults in the order of the stack file's sections, each once; models by their index."""

    def place(fault: Fault) -> tuple[int, int]:
        section = fault.path.removeprefix("headwater:").split(".")[0]
        index = re.search(r"models\[(\d+)\]", fault.path)
        known = SECTIONS.index(section) if section in SECTIONS else -1
        return (known, int(index.group(1)) if index else -1)

    return sorted(dict.fromkeys(faults), key=place)

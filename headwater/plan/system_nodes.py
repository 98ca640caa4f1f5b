"""How many system nodes the pods on them take, and what the stack file may not ask instead.

Three things must fit. Every pod of the more demanding serving stack, with the margin of the catalogue kept free. The
same and one pod more, since a rollout starts the new one before it ends the old. And on what is left when a zone
fails, one replica of everything, until the group has its nodes back in the other zones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from headwater.catalog.defaults import default
from headwater.catalog.prices import on_demand
from headwater.catalog.system import Room, default_system_types, system_types, why_no_system_type
from headwater.plan.model import ModelPlan, StackName
from headwater.plan.system_model import SystemGroup, Workload
from headwater.plan.system_pods import daemons, system_pods
from headwater.refusal import Fault
from headwater.settings import Settings

PATH = "headwater:systemNodes"
Needs = dict[StackName, list[Workload]]


def system_group(
    settings: Settings, models: Sequence[ModelPlan], zones: Sequence[str], faults: list[Fault]
) -> SystemGroup | None:
    """The group, sized by what runs on it; None on an existing cluster, or with a fault when it cannot be as asked.

    Args:
        settings: the stack file.
        models: every model, placed; without all of them only the types are checked.
        zones: of the network.
        faults: takes what is wrong.
    """
    if settings.cluster.existing is not None:
        return None
    asked, wrong = settings.system_nodes, _types(settings)
    faults += wrong
    if wrong or len(models) < len(settings.serving.models):
        return None
    needs = system_pods(settings, models)
    steps = default_system_types() if asked.instances is None else (asked.instances,)
    types = next((step for step in steps if not _too_large(needs, room_of(settings, step))), None)
    if types is None:
        faults.append(_no_room(settings, steps[-1], needs))
        return None
    counts = {stack: nodes_for(settings, pods, types, _zones(settings, zones)) for stack, pods in needs.items()}
    demanding = max(needs, key=lambda stack: (counts[stack], sum(w.cpu_millis * w.replicas for w in needs[stack])))
    pods, least = needs[demanding], counts[demanding]
    nodes, most = asked.min or least, int(default("system", "nodes_most"))
    group = SystemGroup(
        instances=types,
        nodes=nodes,
        nodes_max=asked.max or max(nodes, min(most, nodes * int(default("system", "room_to_grow")))),
        demanding=demanding,
        cpu_millis=sum(w.cpu_millis * w.replicas for w in pods),
        memory_mib=sum(w.memory_mib * w.replicas for w in pods),
        pods=sum(w.replicas for w in pods),
        room=room_of(settings, types),
        dollars_per_hour=on_demand(settings.region, types[0]),
    )
    faults += [*_too_few(settings, group, least), *_too_many(settings, group, most)]
    return group


def room_of(settings: Settings, types: Sequence[str], *, margin: bool = True) -> Room:
    """What one node of the least of these types leaves for pods after daemons, and after the margin if that is kept."""
    free, taken = [system_types()[name].allocatable for name in types], daemons(settings)
    share = 1.0 - (float(default("system", "margin")) if margin else 0.0)
    return Room(
        cpu_millis=math.floor(min(f.cpu_millis for f in free) * share) - taken.cpu_millis,
        memory_mib=math.floor(min(f.memory_mib for f in free) * share) - taken.memory_mib,
        pods=math.floor(min(f.pods for f in free) * share) - taken.replicas,
    )


def nodes_for(settings: Settings, pods: Sequence[Workload], types: Sequence[str], zones: int) -> int:
    """The fewest nodes of these types, over so many zones, that hold these pods at all three times.

    Every pod must fit on a node of its own.
    """
    usual, whole = room_of(settings, types), room_of(settings, types, margin=False)
    every = [w for w in pods for _ in range(w.replicas)]
    successor = max((w for w in pods if not w.in_place), key=_size)
    sums = {key: sum(_ask(w)[key] for w in every) for key in usual.model_dump()}
    fewest: int = max(math.ceil(sums[key] / room) for key, room in usual.model_dump().items())
    for nodes in itertools.count(max(int(default("system", "nodes_least")), fewest)):
        left = nodes - math.ceil(nodes / zones)
        if _placed(every, usual, nodes) and _placed([*every, successor], whole, nodes) and _placed(pods, whole, left):
            return nodes
    raise AssertionError("every pod fits on a node of its own")


def _placed(pods: Sequence[Workload], room: Room, nodes: int) -> bool:
    """Whether pods find a place one after the other, each on the emptiest node, as the scheduler does by default.

    The largest come last, which is both how they come (models after the platform) and the least favourable order.
    """
    free = [room.model_dump() for _ in range(nodes)]
    for pod in sorted(pods, key=_size):
        ask = _ask(pod)
        able = [node for node in free if all(node[key] >= amount for key, amount in ask.items())]
        if not able:
            return False
        emptiest = max(able, key=lambda n: n["cpu_millis"] / room.cpu_millis + n["memory_mib"] / room.memory_mib)
        for key, amount in ask.items():
            emptiest[key] -= amount
    return True


def _ask(pod: Workload) -> dict[str, int]:
    """What one such pod takes of a node's `Room`."""
    return {"cpu_millis": pod.cpu_millis, "memory_mib": pod.memory_mib, "pods": 1}


def _size(pod: Workload) -> tuple[int, int]:
    return pod.cpu_millis, pod.memory_mib


def _types(settings: Settings) -> list[Fault]:
    """Types the group cannot be made of."""
    found = []
    for index, name in enumerate(settings.system_nodes.instances or ()):
        answer = why_no_system_type(name)
        if answer is not None:
            found.append(Fault(f"{PATH}.instances[{index}]", name, *answer))
    return found


def _too_large(needs: Needs, room: Room) -> list[Workload]:
    """Pods that fit on no node."""
    every = [w for pods in needs.values() for w in pods]
    return [w for w in every if w.cpu_millis > room.cpu_millis or w.memory_mib > room.memory_mib]


def _zones(settings: Settings, zones: Sequence[str]) -> int:
    """Zones the group is spread over; of given subnets only the rule is known, that they are in two or more."""
    return 2 if settings.network.subnets is not None else max(2, len(zones))


def _no_room(settings: Settings, types: Sequence[str], needs: Needs) -> Fault:
    """One pod is larger than a node."""
    room = room_of(settings, types)
    pod = max(_too_large(needs, room), key=_size)
    able = [name for name in system_types() if not _too_large(needs, room_of(settings, [name]))]
    why = (
        f"The pod `{pod.name}` asks {amounts(pod)}, and one {types[0]} leaves {amounts(room)} after daemons and margin."
    )
    remedy = f"Use a larger type, such as {able[0]}." if able else "Ask less for that pod; no known type is so large."
    return Fault(f"{PATH}.instances", ", ".join(settings.system_nodes.instances or ()), why, remedy)


def _too_few(settings: Settings, group: SystemGroup, least: int) -> list[Fault]:
    """A size that was asked for and does not hold the demand."""
    asked = settings.system_nodes
    why = (
        f"The platform and {group.demanding}, the more demanding serving stack, ask {amounts(group)}; one "
        f"{group.instances[0]} leaves {amounts(group.room)}, so it takes {least}, with one zone's loss in mind."
    )
    remedy = f"Use at least {least}, larger `instances`, or leave it out."
    given = {"min": asked.min, "max": asked.max}
    return [Fault(f"{PATH}.{k}", str(n), why, remedy) for k, n in given.items() if n is not None and n < least]


def _too_many(settings: Settings, group: SystemGroup, most: int) -> list[Fault]:
    """More nodes than EKS gives one group."""
    asked = settings.system_nodes
    why = f"A managed node group of EKS holds {most:,} nodes, unless AWS raised that quota."
    given = {"min": asked.min, "max": asked.max}
    found = [Fault(f"{PATH}.{k}", str(n), why, f"Use at most {most:,}.") for k, n in given.items() if n and n > most]
    if group.nodes > most and not found:
        ask = f"What runs on them takes {group.nodes:,} × {group.instances[0]}. {why}"
        found.append(Fault(PATH, "", ask, "Use larger `instances`, or ask for less of what runs there."))
    return found


def amounts(of: Workload | Room | SystemGroup) -> str:
    """``6.9 CPU and 26 GiB``."""
    return f"{of.cpu_millis / 1000:.1f} CPU and {of.memory_mib / 1024:.0f} GiB"

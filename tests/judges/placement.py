"""Pods and nodes against the plan. Each function returns complaints, none when all is well."""

from collections import defaultdict
from typing import Any

from headwater.catalog.prices import any_price, on_demand
from headwater.catalog.system import system_types
from headwater.plan import Plan
from tests.validators.quantities import parse

from .launches import launch_faults, tags_of
from .world.world import World

Object = dict[str, Any]
GPU = "nvidia.com/gpu"
MIB = 2**20
GROUP_LABELS = ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index")


def asks_gpus(pod: Object) -> int:
    """GPUs a pod asks for."""
    limits = [item.get("resources", {}).get("limits", {}) for item in pod["spec"]["containers"]]
    return sum(int(item.get(GPU, 0)) for item in limits)


def all_pods(world: World) -> list[Object]:
    """Every pod that is not ending."""
    return [pod for pod in world.kube.list("v1", "Pod") if not pod["metadata"].get("deletionTimestamp")]


def not_running(world: World) -> list[str]:
    """Pods that neither run nor have done their work."""
    return [
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']} is {pod['status'].get('phase')}"
        for pod in all_pods(world)
        if pod["status"].get("phase") not in {"Running", "Succeeded"}
    ]


def demanded_pods(plan: Plan, *, most: bool = False) -> int:
    """Model pods the plan wants, at the minimum or at the maximum of replicas."""
    roles = [role for model in plan.models for role in model.roles]
    return sum((role.replicas_max if most else role.replicas_min) * role.nodes for role in roles)


def model_pods(world: World) -> list[Object]:
    """Pods that ask for GPUs."""
    return [pod for pod in all_pods(world) if asks_gpus(pod)]


def _claims(world: World) -> list[Object]:
    return world.kube.list("karpenter.sh/v1", "NodeClaim")


def nodes_against_plan(
    world: World, plan: Plan, *, most: bool = False, known: frozenset[str] = frozenset()
) -> list[str]:
    """Instances launched, pool by pool: number, type, zone, capacity type, interfaces, disks, taints, placement group.

    Launched, not surviving: a node bought and given back counts. ``known`` are launches of an earlier act.
    """
    found: list[str] = []
    launches = {key: value for key, value in world.aws.launches().items() if key not in known}
    classes = world.kube.list("karpenter.k8s.aws/v1", "EC2NodeClass")
    tags = {item["metadata"]["name"]: item["spec"].get("tags", {}) for item in classes}
    by_pool: dict[str, list[Object]] = defaultdict(list)
    for launch in launches.values():
        by_pool[tags_of(launch, "instance").get("karpenter.sh/nodepool", "")].append(launch)
    for pool in plan.pools:
        mine = by_pool.pop(pool.name, [])
        wanted = pool.nodes_max if most else pool.nodes_now
        if len(mine) != wanted:
            found.append(f"{pool.name}: {len(mine)} nodes launched, the plan demands {wanted}")
        for launch in mine:
            found += [f"{pool.name}: {text}" for text in launch_faults(launch, pool, tags[pool.name])]
    found += [f"{name or 'no pool'}: {len(items)} nodes the plan knows nothing of" for name, items in by_pool.items()]
    return found


def system_nodes_against_plan(world: World, plan: Plan) -> list[str]:
    """The group's nodes as the plan has them, and what runs on them within what the plan counts."""
    assert plan.system is not None
    nodes = {n["metadata"]["name"]: n for n in world.kube.list("v1", "Node", labels="node-role=system")}
    found = []
    if len(nodes) != plan.system.nodes:
        found.append(f"{len(nodes)} system nodes, the plan has {plan.system.nodes}")
    counted = system_types()[plan.system.instances[0]].allocatable
    for name, node in nodes.items():
        free = node["status"]["allocatable"]
        if (parse(free["cpu"]) * 1000, parse(free["memory"]) / MIB, int(free["pods"])) != (
            counted.cpu_millis, counted.memory_mib, counted.pods,
        ):  # fmt: skip
            found.append(f"{name} leaves {free}, the plan counts on {counted}")
    asked = [
        item.get("resources", {}).get("requests", {})
        for pod in all_pods(world)
        if pod["spec"].get("nodeName") in nodes
        for item in pod["spec"]["containers"]
    ]
    if plan.stack == "dynamo" and not asked:  # llm-d's pickers and proxies come from charts, which bring no pods here
        found.append("no frontend runs on system nodes")
    for key, unit, most in (("cpu", 1000, plan.system.cpu_millis), ("memory", 1 / MIB, plan.system.memory_mib)):
        total = float(sum(parse(requests.get(key, "0")) for requests in asked)) * unit
        if total > most:
            found.append(f"{key}: {total:.0f} asked on system nodes, the plan counts {most}")
    return found


def not_ready(world: World) -> list[str]:
    """Conditions of Karpenter's node classes and pools that are not True, as Karpenter reports them."""
    found = []
    for version, kind in (("karpenter.k8s.aws/v1", "EC2NodeClass"), ("karpenter.sh/v1", "NodePool")):
        for item in world.kube.list(version, kind):
            conditions = item.get("status", {}).get("conditions", [])
            name = f"{kind} {item['metadata']['name']}"
            found += [f"{name}: {one['type']} is {one['status']}" for one in conditions if one["status"] != "True"]
            if not any(one["type"] == "Ready" for one in conditions):
                found.append(f"{name}: Karpenter has not looked at it")
    return found


def dollars_per_hour(world: World, region: str) -> float:
    """List price of every instance that runs now."""
    return sum(
        on_demand(region, item["InstanceType"]) or any_price(item["InstanceType"]) for item in world.aws.instances()
    )


def reserved_against_plan(world: World, plan: Plan) -> list[str]:
    """Nodes in reservations, pool by pool."""
    found = []
    for pool in plan.pools:
        claims = [
            item for item in _claims(world) if item["metadata"]["labels"].get("karpenter.sh/nodepool") == pool.name
        ]
        kinds = [item["metadata"]["labels"].get("karpenter.sh/capacity-type") for item in claims]
        booked = [item.get("CapacityReservationId") for item in world.aws.instances()]
        for reservation in pool.reservations:
            if pool.reserved_nodes and reservation.id not in booked:
                found.append(f"{pool.name}: no instance sits in {reservation.id}")
        if kinds.count("reserved") != pool.reserved_nodes:
            found.append(f"{pool.name}: {kinds.count('reserved')} reserved nodes, the plan has {pool.reserved_nodes}")
        if any(kind not in pool.buy for kind in kinds):
            found.append(f"{pool.name}: bought {sorted(set(map(str, kinds)))}, allowed {', '.join(pool.buy)}")
    return found


def limits_against_plan(world: World, plan: Plan) -> list[str]:
    """The NodePools' GPU limits, warm part and growing part together."""
    found = []
    pools = {item["metadata"]["name"]: item for item in world.kube.list("karpenter.sh/v1", "NodePool")}
    for pool in plan.pools:
        limit = int(pools[pool.name]["spec"].get("limits", {}).get(GPU, 0)) if pool.name in pools else 0
        if limit + pool.warm * pool.gpus_per_node != pool.gpu_limit:
            found.append(f"{pool.name}: limit {limit} GPUs, the plan says {pool.gpu_limit}")
        if pool.nodes_max * pool.gpus_per_node > pool.gpu_limit:
            found.append(f"{pool.name}: {pool.nodes_max} nodes at the most do not fit {pool.gpu_limit} GPUs")
    return found


def pods_against_plan(world: World, plan: Plan) -> list[str]:
    """Each model pod on its own pool; whole-node pods alone; groups in one zone; others off GPU nodes."""
    nodes = {item["metadata"]["name"]: item for item in world.kube.list("v1", "Node")}
    pool_of = {role_key(model.name, role.role): role for model in plan.models for role in model.roles}
    found, by_node, by_group = [], defaultdict(list), defaultdict(set)
    for pod in all_pods(world):
        name, node = pod["metadata"]["name"], nodes.get(pod["spec"].get("nodeName", ""))
        if node is None:
            continue
        labels = pod["metadata"].get("labels", {})
        gpu_node = GPU in node["status"].get("capacity", {})
        if not asks_gpus(pod):
            daemon = any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences", []))
            if gpu_node and not daemon:
                found.append(f"{name} needs no GPU and sits on {node['metadata']['name']}")
            continue
        role = pool_of.get(role_key(labels.get("headwater/model", ""), labels.get("headwater/role", "")))
        if role is None:
            found.append(f"{name} is of no model and role of the plan")
            continue
        on = node["metadata"]["labels"].get("karpenter.sh/nodepool")
        if on != role.pool:
            found.append(f"{name} sits on pool {on}, the plan says {role.pool}")
        by_node[node["metadata"]["name"]].append((name, role.pod.whole_node))
        zone = node["metadata"]["labels"]["topology.kubernetes.io/zone"]
        if role.nodes > 1:
            by_group[group_of(pod)].add(zone)
    for node_name, pods in by_node.items():
        if len(pods) > 1 and any(whole for _, whole in pods):
            found.append(f"{node_name} is shared by {', '.join(sorted(name for name, _ in pods))}")
    found += [f"group {key} sits in {', '.join(sorted(zones))}" for key, zones in by_group.items() if len(zones) > 1]
    return found


def role_key(model: str, role: str) -> str:
    """One word for a model's role."""
    return f"{model}/{role}"


def group_of(pod: Object) -> str:
    """The group of nodes that serves one replica together, by the operator's own marks."""
    labels = pod["metadata"].get("labels", {})
    if GROUP_LABELS[0] in labels:
        return "/".join(labels[key] for key in GROUP_LABELS)
    return pod["metadata"]["name"].rpartition("-")[0].removesuffix("-ldr").removesuffix("-wkr").rpartition("-")[0]

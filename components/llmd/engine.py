"""The engine's container of each role: command, arguments, ports, probes."""

from __future__ import annotations

import json
from typing import Any

from components.llmd.epp import KV_EVENTS_PORT, KV_REPLAY_PORT
from components.llmd.ports import POOL_PORT, Ports, ports
from components.llmd.tiers import tier_volumes
from components.llmd.transfer import NIXL_PORT, replaced_flags, transfer_env, transfer_words
from components.serving import engine_container, engine_words, probes, weights
from headwater.plan import ModelPlan, Plan, Role
from headwater.settings.llmd import KvTier, RoutingPath

MASTER_PORT = 29500
RPC_PORT = 5555
QUIET = "/health,/metrics,/v1/models"
QUIET_RENDER = ",/v1/completions/render,/v1/chat/completions/render"

RANKS = 'exec vllm serve "$@" --data-parallel-start-rank=$((LWS_WORKER_INDEX * LOCAL_RANKS))'
"""Each pod of a group starts its own data-parallel ranks; the first is only known inside the pod."""


def engine(
    plan: Plan, model: ModelPlan, role: Role, path: RoutingPath, token_secret: str | None, *, worker: bool = False
) -> dict[str, Any]:
    """The engine's container.

    Args:
        plan: the environment.
        model: the model.
        role: the role.
        path: how the model is routed.
        token_secret: Secret with the hub token, or None.
        worker: a pod of a group that only computes and answers no requests.
    """
    where = ports(role, path)
    wide = path == "wide-ep"
    tier = plan.settings.llmd.kv_tier
    container = engine_container(
        plan,
        model,
        role,
        token_secret=token_secret,
        env=_env(model, role, path, tier),
        mounts=tier_volumes(model, role, tier)[1],
        more_disk_gib=tier.gibibytes if tier.files == "nvme" and role.offload_gib > 0 else 0,
    )
    words = [weights(plan, model).model, *arguments(plan, model, role, path)]
    if role.nodes > 1 and wide:
        container |= {"command": ["/bin/bash", "-ec"], "args": [RANKS, "vllm", *words]}
    elif role.nodes > 1:
        container |= {"command": ["vllm", "serve"], "args": [*words, *_group_words(role, worker=worker)]}
    else:
        container |= {"command": ["vllm", "serve"], "args": words}
    if worker:
        return container
    return container | {"ports": _ports(model, path, where)} | _probes(role, where)


def arguments(plan: Plan, model: ModelPlan, role: Role, path: RoutingPath) -> list[str]:
    """Every argument after the model: the plan's, then what this way of routing adds."""
    where = ports(role, path)
    tier = plan.settings.llmd.kv_tier
    found = engine_words(role, without=replaced_flags(model, role, tier))
    if not role.has("--served-model-name"):
        found.append(f"--served-model-name={model.name}")
    if not role.has("--port"):
        found.append(f"--port={where.engine}")
    quiet = QUIET + (QUIET_RENDER if path == "precise" else "")
    found.append(f"--disable-access-log-for-endpoints={quiet}")
    if path == "precise":
        found += _events(model, role)
    if path == "wide-ep":
        found += _wide(role, where)
    return found + transfer_words(model, role, tier)


def _events(model: ModelPlan, role: Role) -> list[str]:
    """KV events, and the block size they are counted in; the router is told the same."""
    config = {
        "enable_kv_cache_events": True,
        "publisher": "zmq",
        "endpoint": f"tcp://*:{KV_EVENTS_PORT}",
        "replay_endpoint": f"tcp://*:{KV_REPLAY_PORT}",
        "topic": f"kv@$(POD_IP):{POOL_PORT}@{model.name}",
    }
    size = [] if role.has("--block-size") else [f"--block-size={role.block_size}"]
    return [*size, f"--kv-events-config={json.dumps(config, separators=(',', ':'))}"]


def _wide(role: Role, where: Ports) -> list[str]:
    words = [
        "--data-parallel-multi-port-external-lb",
        f"--data-parallel-supervisor-port={where.supervisor}",
        f"--data-parallel-size-local={where.ranks}",
    ]
    if role.nodes > 1:
        words += ["--data-parallel-address=$(LWS_LEADER_ADDRESS)", f"--data-parallel-rpc-port={RPC_PORT}"]
    else:
        words.append("--data-parallel-start-rank=0")
    if role.nodes > 1 and not role.has("--all2all-backend"):
        words.append("--all2all-backend=allgather_reducescatter")
    return words


def _group_words(role: Role, *, worker: bool) -> list[str]:
    """One engine over the pods of a group; every pod runs the same command, workers without an API server."""
    words = [] if role.has("--distributed-executor-backend") else ["--distributed-executor-backend=mp"]
    words += [
        f"--nnodes={role.nodes}",
        "--node-rank=$(LWS_WORKER_INDEX)",
        "--master-addr=$(LWS_LEADER_ADDRESS)",
        f"--master-port={MASTER_PORT}",
    ]
    return [*words, "--headless"] if worker else words


def _env(model: ModelPlan, role: Role, path: RoutingPath, tier: KvTier) -> list[dict[str, Any]]:
    found = transfer_env(model, role, path, tier)
    if path == "precise":
        found.append({"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
    if path == "wide-ep" and role.nodes > 1:
        found.append({"name": "LOCAL_RANKS", "value": str(ports(role, path).ranks)})
    return found


def _ports(model: ModelPlan, path: RoutingPath, where: Ports) -> list[dict[str, Any]]:
    if where.ranks > 1:
        found = [{"name": f"rank{rank}", "containerPort": port} for rank, port in enumerate(where.engines)]
        found.append({"name": "supervisor", "containerPort": where.supervisor})
    else:
        found = [{"name": "modelserver", "containerPort": where.engine}]
    if model.disaggregated:
        found.append({"name": "nixl", "containerPort": NIXL_PORT})
    if path == "precise":
        found.append({"name": "kv-events", "containerPort": KV_EVENTS_PORT})
        found.append({"name": "kv-replay", "containerPort": KV_REPLAY_PORT})
    return [{**port, "protocol": "TCP"} for port in found]


def _probes(role: Role, where: Ports) -> dict[str, Any]:
    found = probes(role, where.health)
    if where.ranks > 1:
        health = {"path": "/health", "port": where.health}
        found["startupProbe"] = {**found["startupProbe"], "httpGet": health}
        found["readinessProbe"] = {**found["readinessProbe"], "httpGet": {"path": "/readyz", "port": where.health}}
    return found

"""KV cache beside GPU memory: host memory, files, LMCache, Mooncake; sizes from the plan, per replica."""

from __future__ import annotations

import json
from typing import Any

from components.quantities import gibibytes, requests
from components.serving import image, model_labels, plain_security
from headwater.catalog.system import own_pod
from headwater.plan import ModelPlan, Plan, Role
from headwater.settings.llmd import KvTier

OFFLOAD_FLAGS = ("--kv-offloading-size", "--kv-offloading-backend")
HASH_SEED = "42"
"""One seed on every server: blocks that outlive a process are found again only under the same hashes."""
FILES = "/kv-files"
FILES_VOLUME = "kv-files"
FILE_BLOCK_TOKENS = 256
FILE_THREADS = 16
MOONCAKE_CONFIG = "/etc/mooncake"
MOONCAKE_RPC = 50051
MOONCAKE_METRICS = 9003
LOCAL_BUFFER = 1 << 30

Named = dict[str, Any]


def tier_connector(role: Role, tier: KvTier) -> Named:
    """The connector that keeps blocks outside GPU memory."""
    if tier.engine == "lmcache":
        return {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}
    if tier.engine == "mooncake":
        return {"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"}
    extra: Named = {"cpu_bytes_to_use": _bytes(role.offload_gib)}
    if tier.files != "off":
        files = {
            "type": "fs",
            "root_dir": FILES,
            "n_read_threads": FILE_THREADS,
            "n_write_threads": FILE_THREADS,
        }
        extra |= {"spec_name": "TieringOffloadingSpec", "block_size": FILE_BLOCK_TOKENS, "secondary_tiers": [files]}
    return {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}


def tier_env(role: Role, tier: KvTier) -> list[Named]:
    """What LMCache and Mooncake read from the environment; each rank has its share of the replica's host memory."""
    if tier.engine == "lmcache":
        values = {
            "LMCACHE_LOCAL_CPU": "True",
            "LMCACHE_MAX_LOCAL_CPU_SIZE": f"{role.offload_gib / role.gpus:.1f}",
            "LMCACHE_CHUNK_SIZE": str(FILE_BLOCK_TOKENS),
            "PROMETHEUS_MULTIPROC_DIR": "/tmp",
        }
        if tier.files != "off":
            values |= {
                "LMCACHE_LOCAL_DISK": f"file://{FILES}/",
                "LMCACHE_MAX_LOCAL_DISK_SIZE": f"{tier.gibibytes / role.gpus:.1f}",
                "LMCACHE_EXTRA_CONFIG": json.dumps({"use_odirect": "True"}),
            }
        return [{"name": name, "value": value} for name, value in values.items()]
    if tier.engine == "mooncake":
        return [{"name": "MOONCAKE_CONFIG_PATH", "value": f"{MOONCAKE_CONFIG}/config.json"}]
    return []


def tier_volumes(model: ModelPlan, role: Role, tier: KvTier) -> tuple[list[Named], list[Named]]:
    """Volumes and mounts of a role's tiers."""
    volumes: list[Named] = []
    mounts: list[Named] = []
    if role.offload_gib <= 0:
        return volumes, mounts
    if tier.files == "nvme":
        volumes.append({"name": FILES_VOLUME, "emptyDir": {"sizeLimit": gibibytes(tier.gibibytes)}})
        mounts.append({"name": FILES_VOLUME, "mountPath": FILES})
    if tier.engine == "mooncake":
        volumes.append({"name": "mooncake", "configMap": {"name": mooncake_name(model)}})
        mounts.append({"name": "mooncake", "mountPath": MOONCAKE_CONFIG, "readOnly": True})
    return volumes, mounts


def mooncake_name(model: ModelPlan) -> str:
    """Name of a model's Mooncake master and of its configuration."""
    return f"{model.name}-mooncake"


def mooncake_config(model: ModelPlan, namespace: str) -> str:
    """The configuration every rank reads. TCP: Mooncake's RDMA was never seen to work over EFA."""
    role = next(r for r in model.roles if r.offload_gib > 0)
    content = {
        "metadata_server": "P2PHANDSHAKE",
        "master_server_address": f"{mooncake_name(model)}.{namespace}.svc.cluster.local:{MOONCAKE_RPC}",
        "global_segment_size": _bytes(role.offload_gib / role.gpus),
        "local_buffer_size": LOCAL_BUFFER,
        "protocol": "tcp",
        "device_name": "",
    }
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def mooncake_labels(model: ModelPlan) -> dict[str, str]:
    """Labels of the master's pod."""
    return {**model_labels(model), "app.kubernetes.io/component": "mooncake-master"}


def mooncake_master(plan: Plan, model: ModelPlan) -> Named:
    """Spec of the master's Deployment. It only keeps the index; blocks stay in the servers' memory."""
    labels, own = mooncake_labels(model), own_pod("mooncake-master")
    container = {
        "name": "master",
        "image": image(plan, "mooncake-master"),
        "imagePullPolicy": "IfNotPresent",
        "ports": [
            {"name": "rpc", "containerPort": MOONCAKE_RPC, "protocol": "TCP"},
            {"name": "metrics", "containerPort": MOONCAKE_METRICS, "protocol": "TCP"},
        ],
        "readinessProbe": {"tcpSocket": {"port": "rpc"}, "periodSeconds": 5, "timeoutSeconds": 2},
        "resources": {"requests": requests(own), "limits": {"memory": "8Gi"}},
        "securityContext": plain_security(),
    }
    return {
        "replicas": own.replicas,
        "selector": {"matchLabels": labels},
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": 2000,
                    "runAsGroup": 2000,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [container],
            },
        },
    }


def _bytes(gib: float) -> int:
    return int(gib * 2**30)

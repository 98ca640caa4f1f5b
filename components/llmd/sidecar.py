"""The proxy in front of a decode server: it sends the prompt to the prefill server the picker chose."""

from __future__ import annotations

from typing import Any

from components.llmd.ports import Ports
from components.serving import image
from headwater.plan import Plan

NONROOT = 65532


def sidecar(plan: Plan, where: Ports) -> dict[str, Any]:
    """A native sidecar container.

    TLS is off towards the pool: the InferencePool speaks plain HTTP, and a sidecar that serves TLS answers nothing.
    """
    args = [
        f"--port={where.pool[0]}",
        f"--model-server-port={where.engine}",
        "--kv-connector=nixlv2",
        "--secure-proxy=false",
        "--zap-log-level=1",
    ]
    if where.ranks > 1:
        args += [f"--data-parallel-size={where.ranks}", "--enable-prefiller-sampling"]
    return {
        "name": "routing-proxy",
        "image": image(plan, "llm-d-sidecar"),
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",
        "args": args,
        "ports": [
            {"name": f"sidecar{n}" if where.ranks > 1 else "sidecar", "containerPort": port, "protocol": "TCP"}
            for n, port in enumerate(where.pool)
        ],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "runAsUser": NONROOT,
            "runAsGroup": NONROOT,
        },
    }

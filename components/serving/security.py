"""Security contexts of model servers: restricted, except for what EFA needs."""

from __future__ import annotations

from typing import Any

from headwater.plan import Role

USER = 2000


def pod_security(role: Role) -> dict[str, Any]:
    """Security context of the pod.

    EFA registers (pins) memory beyond the default limit. The capability for that, ``IPC_LOCK``, takes effect only for
    root, so such pods run as root with every other capability dropped; all others run as an ordinary user.
    """
    if role.pod.efa:
        return {"runAsUser": 0, "runAsGroup": 0, "fsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}}
    return user_security()


def user_security() -> dict[str, Any]:
    """Security context of a pod that runs as an ordinary user, who owns its volumes."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security(role: Role, *, writes_shared: bool = False) -> dict[str, Any]:
    """Security context of the engine's container.

    Args:
        role: whose.
        writes_shared: the engine itself stores weights on a shared file system, which belongs to an ordinary user; a
            root without this capability could not.
    """
    capabilities: dict[str, Any] = {"drop": ["ALL"]}
    if role.pod.efa:
        capabilities["add"] = ["IPC_LOCK", *(["DAC_OVERRIDE"] if writes_shared else [])]
    return {"allowPrivilegeEscalation": False, "capabilities": capabilities}


def writer_security() -> dict[str, Any]:
    """Security context of whoever writes weights: always the same owner, whatever the engine runs as."""
    return {**plain_security(), "runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER}


def plain_security() -> dict[str, Any]:
    """Security context of helper containers: nothing added, nothing gained."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}

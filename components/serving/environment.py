"""Environment of the engine's container."""

from __future__ import annotations

from typing import Any

from headwater.plan import Role

CACHE = "/cache"


def environment(role: Role, token_secret: str | None) -> list[dict[str, Any]]:
    """Variables every engine gets; those of the weights come from ``components.serving.weights``.

    Args:
        role: whose pod it is.
        token_secret: Kubernetes Secret with key ``HF_TOKEN``; None when no token is configured.

    Home and every compile cache lie on one writable volume, since pods without root have no home. ``USER`` keeps
    PyTorch from looking up an account that does not exist (vllm#44548).
    """
    found: list[dict[str, Any]] = []
    if token_secret is not None:
        reference = {"secretKeyRef": {"name": token_secret, "key": "HF_TOKEN"}}
        found.append({"name": "HF_TOKEN", "valueFrom": reference})
    values = {
        "USER": "headwater",
        "HOME": f"{CACHE}/home",
        "XDG_CACHE_HOME": f"{CACHE}/xdg",
        "VLLM_CACHE_ROOT": f"{CACHE}/vllm",
        "TRITON_CACHE_DIR": f"{CACHE}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{CACHE}/inductor",
        "FLASHINFER_WORKSPACE_BASE": f"{CACHE}/flashinfer",
        "CUDA_CACHE_PATH": f"{CACHE}/cuda",
        "DO_NOT_TRACK": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    if role.pod.efa:
        values |= {
            "FI_PROVIDER": "efa",
            "FI_EFA_USE_HUGE_PAGE": "0",
            "NCCL_SOCKET_IFNAME": "eth0",
            "GLOO_SOCKET_IFNAME": "eth0",
        }
    found += [{"name": name, "value": value} for name, value in values.items()]
    return found

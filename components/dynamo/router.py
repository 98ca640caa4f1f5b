"""The router's flags and its policy file.

Scoring and queueing are said in the policy file only: the flags of the same meaning are deprecated in this release and
gone in the next. The file is read once, at the start, so its ConfigMap is named by its content.
"""

from __future__ import annotations

from typing import Any

import yaml

from components.dynamo.configmaps import content_name
from headwater.plan import ModelPlan
from headwater.settings.dynamo import Dynamo, Router

POLICY_FOLDER = "/etc/dynamo/router"
POLICY_FILE = "policy.yaml"
POLICY_VOLUME = "router-policy"
INSTANCE = "headwater"
QUANTUM = 512
"""Tokens a class of requests may take before the next class's turn; with one class it only has to be there."""


def router_arguments(settings: Dynamo, model: ModelPlan, replicas: int) -> list[str]:
    """Flags of the router.

    Args:
        settings: the stack file's.
        model: whose frontend it is.
        replicas: frontends side by side; they tell each other what they have sent where.
    """
    router = settings.router
    words = ["--router-mode", router.mode]
    if router.mode == "kv":
        words += ["--router-event-threads", str(router.threads)]
        if replicas > 1:
            words.append("--router-replica-sync")
        if policy(settings, model) is not None:
            words += ["--router-policy-config", f"{POLICY_FOLDER}/{POLICY_FILE}"]
        if router.predicted_ttl is not None:
            words += ["--router-predicted-ttl-secs", f"{router.predicted_ttl:g}"]
    if router.affinity is not None:
        words += ["--router-session-affinity-ttl-secs", f"{router.affinity.ttl:g}"]
        words += ["--router-session-affinity-mode", router.affinity.mode]
    if router.overload is not None:
        words += _overload(router)
    return words


def _overload(router: Router) -> list[str]:
    assert router.overload is not None
    words = []
    if router.overload.decode_share is not None:
        words += ["--active-decode-blocks-threshold", f"{router.overload.decode_share:g}"]
    if router.overload.prefill_tokens is not None:
        words += ["--active-prefill-tokens-threshold", str(router.overload.prefill_tokens)]
    if router.mode == "kv":
        words.append("--router-track-output-blocks")
    return words


def policy(settings: Dynamo, model: ModelPlan) -> dict[str, Any] | None:
    """Content of the policy file; None when the defaults are meant."""
    router = settings.router
    if router.mode != "kv" or (router.cost is None and router.queue is None):
        return None
    found: dict[str, Any] = {}
    if router.cost is not None:
        stages = ("prefill", "decode") if model.disaggregated else ("aggregated",)
        found["worker_selection"] = {
            **dict.fromkeys(stages, INSTANCE),
            "instances": [
                {
                    "name": INSTANCE,
                    "type": "dynamo-default-cost-fn",
                    "parameters": {
                        "overlap_score_credit": router.cost.overlap_credit,
                        "overlap_score_credit_decay": router.cost.overlap_credit_decay,
                        "prefill_load_scale": router.cost.prefill_scale,
                        "decode_active_request_weight": router.cost.decode_request_weight,
                        "host_cache_hit_weight": router.cost.host_credit,
                        "router_temperature": router.cost.temperature,
                    },
                }
            ],
        }
    if router.queue is not None:
        found |= {
            "default_policy_family": INSTANCE,
            "uncached_isl_buckets": [{"min_tokens": 0, "bucket": "all"}],
            "policy_classes": [
                {
                    "name": INSTANCE,
                    "policy_family": INSTANCE,
                    "cache_bucket": "all",
                    "quantum": QUANTUM,
                    "queue_policy": router.queue.order,
                    "prefill_busy_threshold_frac": router.queue.busy_at,
                    "request_queue_limit_per_worker": router.queue.max_waiting,
                }
            ],
        }
    return found


def policy_text(content: dict[str, Any]) -> str:
    """The file, in one form only."""
    return yaml.safe_dump(content, sort_keys=True)


def policy_name(model: ModelPlan, text: str) -> str:
    """Name of the ConfigMap: a change of content is another object, and the frontends roll to it."""
    return content_name(f"{model.name}-router-policy", text)


def policy_mount(settings: Dynamo, model: ModelPlan) -> dict[str, Any] | None:
    """Mount of the policy file; None without one."""
    if policy(settings, model) is None:
        return None
    return {"name": POLICY_VOLUME, "mountPath": POLICY_FOLDER, "readOnly": True}


def policy_volume(settings: Dynamo, model: ModelPlan) -> dict[str, Any]:
    """Volume of the policy file, where there is one."""
    content = policy(settings, model) or {}
    return {"name": POLICY_VOLUME, "configMap": {"name": policy_name(model, policy_text(content))}}


def router_variables(settings: Dynamo, model: ModelPlan) -> dict[str, str]:
    """The router's flags as variables, for the endpoint picker, which takes no others of these flags."""
    found = {"DYN_ROUTER_EVENT_THREADS": str(settings.router.threads)}
    if policy(settings, model) is not None:
        found["DYN_ROUTER_POLICY_CONFIG"] = f"{POLICY_FOLDER}/{POLICY_FILE}"
    if settings.router.predicted_ttl is not None:
        found["DYN_ROUTER_PREDICTED_TTL_SECS"] = f"{settings.router.predicted_ttl:g}"
    return found

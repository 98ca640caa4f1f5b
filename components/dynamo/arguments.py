"""The vLLM worker's command line: the plan's engine arguments in the form Dynamo's parser and operator read.

The operator finds the degrees of parallelism by text, in long flags with the value as a word of its own, and adds the
flags of a group of nodes itself. Tool calls and reasoning are parsed in the frontend, by Dynamo's own parsers.
"""

from __future__ import annotations

from components.dynamo.transfer import kv_events_config, kv_transfer_config
from components.serving import weights
from headwater.catalog.dynamo_surface import dynamo_surface
from headwater.plan import ModelPlan, Plan, Role
from headwater.plan.dynamo_layout import entry

COMMAND = ("python3", "-m", "dynamo.vllm")

REPLACED = frozenset(
    {
        "--model", "--served-model-name", "--enable-auto-tool-choice", "--tool-call-parser",
        "--kv-offloading-size", "--kv-offloading-backend", "--kv-events-config", "--block-size",
    }
)  # fmt: skip
"""Flags of the plan that are said here in another way."""


def worker_arguments(plan: Plan, model: ModelPlan, role: Role) -> list[str]:
    """Every argument of a role's worker, each value a word of its own."""
    words = ["--model", weights(plan, model).model, "--served-model-name", model.name]
    for argument in role.engine_args:
        if argument.flag not in REPLACED:
            words += [argument.flag] if argument.value is None else [argument.flag, argument.value]
    if entry(plan.settings, plan.models) == "picker":  # it hashes prompts in blocks of the size it is told
        words += ["--block-size", role.arg("--block-size") or str(role.block_size)]
    elif size := role.arg("--block-size"):
        words += ["--block-size", size]
    words += _parsers(role)
    if model.disaggregated:
        words += ["--disaggregation-mode", role.role]
    if not role.has("--kv-transfer-config"):
        transfer = kv_transfer_config(model, role)
        words += ["--kv-transfer-config", transfer] if transfer else []
    if publishes_events(plan, role):
        words += ["--kv-events-config", kv_events_config()]
    return words


def publishes_events(plan: Plan, role: Role) -> bool:
    """Whether the router follows this role's cache: with the KV router, wherever prompts are computed."""
    return plan.settings.dynamo.router.mode == "kv" and role.role != "decode"


def _parsers(role: Role) -> list[str]:
    """Dynamo's parsers for those the plan names; a model whose parser Dynamo lacks was refused before."""
    words = []
    known = dynamo_surface()
    tool, reasoning = role.arg("--tool-call-parser"), role.arg("--reasoning-parser")
    if tool is not None and (name := known.tool_parsers.of_vllm(tool)):
        words += ["--dyn-tool-call-parser", name]
    if reasoning is not None and (name := known.reasoning_parsers.of_vllm(reasoning)):
        words += ["--dyn-reasoning-parser", name]
    return words

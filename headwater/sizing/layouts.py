"""Ways to split one model over GPUs that are worth sizing on one kind of node."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headwater.catalog.defaults import default
from headwater.sizing.question import Degrees, Fixed, Hardware, Question


def degrees_for(question: Question, hardware: Hardware) -> Iterator[tuple[Degrees, int]]:
    """Every split worth trying with its number of nodes, fewest GPUs first, plain ones before expert parallel."""
    arch, fixed, per_node = question.architecture, question.fixed, hardware.instance.gpus
    tensors = [fixed.tensor] if fixed.tensor else [t for t in default("search", "tensor") if t <= per_node]
    moe = arch.moe is not None
    for tensor in tensors:
        for data in _data_degrees(fixed, tensor, per_node, moe):
            for pipeline in [fixed.pipeline] if fixed.pipeline else default("search", "pipeline"):
                stage = tensor * data
                nodes = pipeline if stage == per_node > 1 and pipeline > 1 else math.ceil(stage * pipeline / per_node)
                if pipeline > 1 and not fixed.pipeline and (stage != per_node or per_node == 1 or data > 1):
                    continue
                if nodes > 1 and (per_node == 1 or not hardware.instance.efa or (stage * pipeline) % nodes):
                    continue
                for expert in _expert_choices(fixed, moe, tensor, data):
                    for context in _context_degrees(question, tensor, data, pipeline):
                        yield Degrees(tensor, pipeline, data, expert, context), nodes


def _data_degrees(fixed: Fixed, tensor: int, per_node: int, moe: bool) -> list[int]:
    if fixed.data:
        return [fixed.data]
    return [1] + ([d for d in (2, 4, 8) if tensor * d == per_node] if moe and fixed.expert is not False else [])


def _expert_choices(fixed: Fixed, moe: bool, tensor: int, data: int) -> list[bool]:
    if fixed.expert is not None:
        return [fixed.expert]
    if not moe or tensor * data == 1:
        return [False]
    return [True] if data > 1 else [False, True]


def _context_degrees(question: Question, tensor: int, data: int, pipeline: int) -> list[int]:
    if question.fixed.decode_context:
        return [question.fixed.decode_context]
    if question.architecture.mla is None or data > 1 or pipeline > 1:
        return [1]
    return [d for d in default("search", "decode_context") if d <= tensor]

"""The terms of the memory equation in words, for `headwater explain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.sizing.units import GIB, Band

if TYPE_CHECKING:
    from headwater.sizing.result import Sizing


@dataclass(frozen=True)
class Addend:
    """One term: formula in words, the numbers put in, GiB per GPU with its band, where the rule comes from.

    ``sign`` is +1 for what uses memory, 0 for a line that explains a part of the term above it.
    """

    name: str
    formula: str
    inputs: tuple[tuple[str, str], ...]
    gib: Band
    source: str
    sign: int = 1


def _exact(gib: float) -> Band:
    return Band(gib, gib, gib)


def _weight_parts(s: Sizing) -> list[Addend]:
    w, r = s.stage.weights, s.request
    arch, fmt = r.architecture, r.weight_format
    parallel = f"TP {r.tp}" + (f", DP {r.dp}" if r.dp > 1 else "") + (", expert parallel" if r.ep else "")
    lines = [
        (
            "attention projections",
            "heads over TP ranks; latent down-projections and indexers copied",
            w.attention,
            fmt.attention.name,
        ),
        ("dense feed-forward", "three matrices hidden × intermediate, over TP ranks", w.mlp, fmt.mlp.name),
        ("shared experts", "over TP ranks, copied under DP with expert parallelism", w.shared, fmt.shared.name),
        (
            "routed experts",
            "slices over TP × DP ranks, or whole experts with expert parallelism",
            w.experts,
            fmt.experts.name,
        ),
        ("norms, gates, biases", "copied on every rank, never quantised", w.plain, fmt.plain.name),
        ("absorbed latent matrices", "second 16-bit copy of the latent up-projection", w.absorbed, fmt.plain.name),
        ("embedding", "vocabulary padded to 64, rows over TP ranks, first stage", w.embedding, fmt.plain.name),
        ("output head", "as the embedding, last stage; shared when tied", w.head, fmt.head.name),
        ("rotary tables", "positions × rotary dimension, on every rank", w.rotary, fmt.plain.name),
        ("vision tower", "first stage", w.tower, fmt.tower.name),
        ("draft layers", "multi-token-prediction layers for speculative decoding", w.draft, fmt.name),
    ]
    shown = [x for x in lines if x[2] > 0]
    inputs = (("layers", str(len(arch.layers))), ("hidden", str(arch.hidden)), ("split", parallel))
    return [
        Addend(f"  {n}", f, (("packing", p), *inputs), _exact(v / GIB), "vLLM model_executor/models, layers", 0)
        for n, f, v, p in shown
    ]


def describe(s: Sizing) -> tuple[Addend, ...]:
    """Every addend of the limiting stage.

    The signed ones sum to the budget (plus the shortfall when it does not fit).
    """
    r, act, plan = s.request, s.activation_parts, s.plan
    sampler = "sorting sampler" if act.generation == "sorting" else "sampler"
    return (
        Addend(
            "budget",
            "visible memory × gpu_memory_utilization, rounded up to a byte",
            (("visible GiB", f"{s.visible_gib:.2f}"), ("utilization", f"{s.utilization:g}")),
            _exact(s.budget_gib),
            "vLLM v1/worker/utils.py request_memory",
            0,
        ),
        Addend(
            "weights",
            "parameters counted from shapes × bytes of each class, on this rank",
            (("format", r.weight_format.name), ("stage", f"{s.limiting + 1} of {r.pp}")),
            s.weights,
            "vLLM model definitions; 'Model loading took'",
        ),
        *_weight_parts(s),
        Addend(
            "activation",
            f"expert workspace + the larger of a {sampler} pass over all sequences and a forward pass "
            "over the batch budget",
            (
                ("max_num_batched_tokens", str(s.max_num_batched_tokens)),
                ("max_num_seqs", str(s.max_num_seqs)),
                ("sampler pass GiB", f"{act.sampler / GIB:.3f}"),
                ("forward pass GiB", f"{act.forward / GIB:.3f}"),
                ("workspace GiB", f"{act.workspace / GIB:.3f}"),
                ("image batch GiB", f"{act.tower / GIB:.3f}"),
            ),
            s.activation,
            "allocation sizes read in vLLM, checked on measured start-ups",
        ),
        Addend(
            "persistent state",
            "4.125 bytes × sequences × vocabulary of model runner V2, last stage",
            (("max_num_seqs", str(s.max_num_seqs)), ("vocabulary", str(r.architecture.vocabulary))),
            s.state,
            "vLLM v1/worker/gpu/sample/penalties.py",
        ),
        Addend(
            "non-torch",
            "CUDA modules, NCCL, all-reduce workspaces: table by (version, GPU, TP)",
            (("version", s.version), ("GPU", r.gpu.name), ("TP", str(r.tp)), ("status", s.non_torch_status)),
            s.non_torch,
            "calibration.yaml, start-up logs",
        ),
        Addend(
            "CUDA graphs",
            "estimate vLLM subtracts from 0.21 on; 0 before, and with enforce_eager",
            (
                ("enforce_eager", str(r.enforce_eager).lower()),
                ("taken at capture GiB", f"{s.cuda_graph_capture.expected:.2f}"),
            ),
            s.cuda_graph,
            "vLLM v1/worker/gpu_worker.py",
        ),
        Addend(
            "KV cache",
            "what is left of the budget",
            (
                ("KV type", s.kv_cache_dtype),
                ("block tokens", str(plan.block_size)),
                ("block bytes", str(s.bytes_per_block)),
                ("groups", str(plan.group_count)),
                ("blocks", str(s.num_blocks)),
                ("blocks per request", str(s.blocks_per_request)),
            ),
            s.kv,
            "vLLM v1/core/kv_cache_planning.py",
        ),
    )

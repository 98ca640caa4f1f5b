"""What a placement must satisfy, and what it may stand on: the question the search answers."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.catalog.architecture import Architecture
from headwater.catalog.calibration import Calibration
from headwater.catalog.gpus import Gpu
from headwater.catalog.instances import Instance
from headwater.sizing.precision import WeightFormat
from headwater.sizing.throughput import Workload


@dataclass(frozen=True)
class Hardware:
    """One EC2 type that may be used.

    Attributes:
        dollars: $/h of one instance that ranking uses.
        listed: whether that is the region's own list price.
        reserved: whether some of it is already paid for.
        most_gpus: upper bound of GPUs of this accelerator, None without one.
    """

    instance: Instance
    gpu: Gpu
    dollars: float
    listed: bool = True
    reserved: bool = False
    most_gpus: int | None = None

    def cost(self, gpus_per_node: int, nodes: int) -> float:
        """$/h of the share of ``nodes`` nodes that pods with so many GPUs take."""
        return self.dollars * nodes * gpus_per_node / self.instance.gpus


@dataclass(frozen=True, order=True)
class Degrees:
    """Parallel degrees of one replica."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: bool = False
    decode_context: int = 1

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tensor * self.pipeline * self.data


@dataclass(frozen=True)
class Fixed:
    """Engine arguments a person set; None leaves the choice to the search."""

    tensor: int | None = None
    pipeline: int | None = None
    data: int | None = None
    expert: bool | None = None
    decode_context: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    utilization: float | None = None
    block_size: int | None = None
    enforce_eager: bool = False
    prefix_caching: bool = True
    lora_slots: int = 0
    lora_rank: int = 0


@dataclass(frozen=True)
class Question:
    """What a placement must satisfy.

    Attributes:
        versions: engine versions it must hold for; the most demanding decides.
        context: longest request, tokens.
        concurrency: requests of ``context`` tokens to hold over all replicas; 0 when ``rate`` decides.
        rate: requests/s of ``work`` over all replicas, 0 when a concurrency was asked.
        replicas: number of replicas when it is fixed, None when the search may choose.
        ttft, tpot: latency objectives in seconds.
    """

    architecture: Architecture
    weight_format: WeightFormat
    versions: tuple[str, ...]
    context: int
    concurrency: int
    work: Workload
    rate: float = 0.0
    replicas: int | None = None
    kv_cache_dtype: str = "auto"
    ttft: float | None = None
    tpot: float | None = None
    fixed: Fixed = Fixed()
    speculative_tokens: int = 0
    draft_layers: int = 0
    calibration: Calibration | None = None

"""Parameters of the endpoint picker's plugins, as the pinned router decodes them: an unknown key ends its process.

Only keys that differ from the router's default are written. Field names are ours in snake case; they are written in the
router's camelCase.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Part(BaseModel):
    """A piece of the picker's configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Parameters(Part):
    """Parameters of one plugin type."""

    plugin: ClassVar[str]


class ApproxPrefixCache(Parameters):
    """The router's own guess of what each server has cached. Blocks are never smaller than 64 tokens."""

    plugin = "approx-prefix-cache-producer"
    auto_tune: bool | None = None
    block_size_tokens: Annotated[int | None, Field(ge=1)] = None
    max_prefix_tokens_to_match: Annotated[int | None, Field(ge=1)] = None
    lru_capacity_per_server: Annotated[int | None, Field(ge=1)] = None


class InflightLoad(Parameters):
    """Requests and tokens the router has sent and not seen finished."""

    plugin = "inflight-load-producer"
    add_estimated_output_tokens: bool | None = None
    prefix_match_info_producer_name: str | None = None


class PrefixAffinity(Parameters):
    """Keep a request on servers that hold its prefix, unless waiting there costs more than computing it anew."""

    plugin = "prefix-cache-affinity-filter"
    affinity_threshold: Annotated[float | None, Field(ge=0, le=1)] = None
    max_ttft_penalty_ms: Annotated[float | None, Field(ge=0, alias="maxTTFTPenaltyMs")] = None
    ttft_source: Literal["prefillThroughput", "latencyPredictor"] | None = None
    peak_prefill_throughput: Annotated[float | None, Field(gt=0)] = None
    prefix_match_info_producer_name: str | None = None
    in_flight_load_producer_name: str | None = None


class TokenLoad(Parameters):
    """Prefer the server with the fewest tokens in flight."""

    plugin = "token-load-scorer"
    queue_threshold_tokens: Annotated[int | None, Field(ge=1)] = None
    in_flight_load_producer_name: str | None = None


class ActiveRequests(Parameters):
    """Prefer the server with the fewest requests in flight."""

    plugin = "active-request-scorer"
    idle_threshold: Annotated[int | None, Field(ge=0)] = None
    in_flight_load_producer_name: str | None = None


class PrefixCache(Parameters):
    """Prefer the server that holds most of the prefix."""

    plugin = "prefix-cache-scorer"
    prefix_match_info_producer_name: str | None = None


class NoHitLru(Parameters):
    """Spread requests that no cache can help over the servers used longest ago."""

    plugin = "no-hit-lru-scorer"
    lru_size: Annotated[int | None, Field(ge=1)] = None
    prefix_match_info_producer_name: str | None = None


class TokenRenderer(Part):
    """Where prompts are turned into tokens: a vLLM that answers ``/v1/completions/render``; plain HTTP."""

    url: Annotated[str, Field(pattern=r"^http://")]
    timeout: str | None = None


class Tokens(Parameters):
    """Exact tokens of each prompt. Without it the router only estimates, and an exact index never matches."""

    plugin = "token-producer"
    model_name: str
    vllm: TokenRenderer


class TokenProcessor(Part):
    """Block size of the index; must be the engine's."""

    block_size_tokens: Annotated[int, Field(ge=1)]


class InMemoryIndex(Part):
    """Size of the index: keys, and endpoints x tiers remembered for each."""

    size: Annotated[int | None, Field(ge=1)] = None
    pod_cache_size: Annotated[int | None, Field(ge=1)] = None


class BlockIndex(Part):
    """Where the index lives, and whether it counts itself."""

    enable_metrics: bool
    in_memory_config: InMemoryIndex | None = None


class Backend(Part):
    """A tier of the KV cache and what a hit there is worth."""

    name: Literal["gpu", "cpu"]
    weight: float


class Indexer(Part):
    """The index and its tiers."""

    kv_block_index_config: BlockIndex
    kv_cache_backend_configs: tuple[Backend, ...] | None = None


class PodDiscovery(Part):
    """Ports each server publishes and replays its KV events on; the router adds the data-parallel rank."""

    socket_port: int
    replay_socket_port: int | None = None


class KvEvents(Part):
    """How KV events are received."""

    topic_filter: str
    concurrency: Annotated[int, Field(ge=1)]
    engine_type: Literal["vllm", "sglang"] | None = None
    discover_pods: bool
    pod_discovery_config: PodDiscovery


class PrecisePrefixCache(Parameters):
    """What each server really has cached, from its KV events."""

    plugin = "precise-prefix-cache-producer"
    token_processor_config: TokenProcessor
    indexer_config: Indexer
    kv_events_config: KvEvents
    speculative_indexing: bool = True


class DisaggProfiles(Part):
    """Deciders by stage."""

    prefill: str | None = None


class Disaggregation(Parameters):
    """Send a request through a prefill and a decode server."""

    plugin = "disagg-profile-handler"
    deciders: DisaggProfiles


class PrefixDecider(Parameters):
    """Disaggregate only prompts with at least so many tokens that no cache holds; zero would mean never."""

    plugin = "prefix-based-pd-decider"
    non_cached_tokens: Annotated[int, Field(ge=1)]


class PredictedLatency(Parameters):
    """Latencies predicted by the trained side cars."""

    plugin = "predicted-latency-producer"
    streaming_mode: bool | None = None
    prefix_match_info_producer_name: str | None = None
    endpoint_role_label: str | None = None


class LatencyScore(Parameters):
    """Prefer the server with the best predicted latency."""

    plugin = "latency-scorer"
    ttft_weight: Annotated[float | None, Field(ge=0, alias="ttftWeight")] = None
    tpot_weight: Annotated[float | None, Field(ge=0, alias="tpotWeight")] = None
    headroom_selection_strategy: Literal["least", "most"] | None = None


class ConcurrencyDetector(Parameters):
    """A pool is full when each endpoint has so many requests."""

    plugin = "concurrency-detector"
    concurrency_mode: Literal["requests", "tokens", "hybrid"] = "requests"
    max_concurrency: Annotated[int, Field(ge=1)]
    headroom: Annotated[float, Field(ge=0)] = 0.0


class LabelSelector(Parameters):
    """Endpoints with these labels."""

    plugin = "label-selector-filter"
    match_labels: dict[str, str]

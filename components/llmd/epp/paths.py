"""One picker configuration for each way of routing (llm-d's "well-lit paths")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from components.llmd.epp import parameters as p
from components.llmd.epp.config import DataLayer, EndpointPickerConfig, Plugin, Profile, Ref, Source, Use, plugin
from components.llmd.epp.flow import FlowPlan, flow_control
from headwater.settings.llmd import RoutingPath

KV_EVENTS_PORT = 5556
KV_REPLAY_PORT = 5559
TIERS: tuple[tuple[Literal["gpu", "cpu"], float], ...] = (("gpu", 1.0), ("cpu", 0.8))


@dataclass(frozen=True)
class Routing:
    """What one model's picker must know, all of it from the plan or the settings.

    Attributes:
        path: how endpoints are chosen.
        served_name: what clients ask for.
        prefill_throughput: tokens/s one replica prefills.
        block_size: tokens of a KV block as the engine tells of it.
        render_url: service that turns prompts into tokens, for the precise path.
        endpoints: most endpoints the pool can have.
        offload_tokens: tokens the host tier of one replica holds; 0 when there is none.
        longest_prompt: tokens.
        disaggregated: prefill and decode are separate.
        decider: ``always``, or tokens without a cache hit from which on a prefill server is used.
        streaming: all clients stream.
        objectives: latency objectives exist for the model.
        lora: the engine serves adapters.
        replicas: pickers; more than one needs plugins without state.
        scorers: the user's own for the prefix path.
        allow_alpha: alpha plugins may be used.
        flow: flow control, None when off.
    """

    path: RoutingPath
    served_name: str
    prefill_throughput: float
    block_size: int
    render_url: str
    endpoints: int
    offload_tokens: int
    longest_prompt: int
    disaggregated: bool
    decider: str | int = "always"
    streaming: bool = False
    objectives: bool = False
    lora: bool = False
    replicas: int = 1
    scorers: dict[str, float] = field(default_factory=dict)
    allow_alpha: bool = False
    flow: FlowPlan | None = None


@dataclass(frozen=True)
class _Parts:
    plugins: list[Plugin]
    profiles: list[Profile]
    data_layer: DataLayer | None = None


def picker_config(routing: Routing) -> EndpointPickerConfig:
    """The checked configuration of a model's picker."""
    parts = _BUILDERS[routing.path](routing)
    plugins, profiles = parts.plugins, parts.profiles
    if routing.lora:
        plugins = [*plugins, plugin("lora-affinity-scorer")]
        profiles = [
            Profile(name=f.name, plugins=_before_picker(f, Use(plugin_ref="lora-affinity-scorer"), plugins))
            for f in profiles
        ]
    flow = None
    if routing.flow is not None:
        flow, extra = flow_control(routing.flow)
        plugins = [*plugins, *extra]
    return EndpointPickerConfig(
        plugins=tuple(plugins),
        scheduling_profiles=tuple(profiles),
        data_layer=parts.data_layer,
        flow_control=flow,
        feature_gates=("flowControl",) if flow is not None else (),
        allow_alpha=routing.allow_alpha,
    )


def _before_picker(profile: Profile, use: Use, plugins: Sequence[Plugin]) -> tuple[Use, ...]:
    pickers = {q.ref for q in plugins if q.type.endswith("-picker")}
    head = [u for u in profile.plugins if u.plugin_ref not in pickers]
    return (*head, use, *(u for u in profile.plugins if u.plugin_ref in pickers))


def _uses(*refs: str | tuple[str, float]) -> tuple[Use, ...]:
    return tuple(Use(plugin_ref=r) if isinstance(r, str) else Use(plugin_ref=r[0], weight=r[1]) for r in refs)


def _prefix(r: Routing) -> _Parts:
    if r.scorers:
        plugins = [plugin(name) for name in sorted(r.scorers)]
        uses = _uses(*[(name, r.scorers[name]) for name in sorted(r.scorers)])
        return _Parts(plugins, [Profile(name="default", plugins=uses)])
    plugins = [
        plugin(p.ApproxPrefixCache(max_prefix_tokens_to_match=r.longest_prompt)),
        plugin(p.InflightLoad()),
        plugin(p.PrefixAffinity(peak_prefill_throughput=r.prefill_throughput)),
        plugin(p.TokenLoad()),
    ]
    return _Parts(
        plugins, [Profile(name="default", plugins=_uses("prefix-cache-affinity-filter", "token-load-scorer"))]
    )


def _index(r: Routing) -> p.PrecisePrefixCache:
    tiers = 2 if r.offload_tokens else 1
    backends = tuple(p.Backend(name=n, weight=w) for n, w in TIERS) if r.offload_tokens else None
    return p.PrecisePrefixCache(
        token_processor_config=p.TokenProcessor(block_size_tokens=r.block_size),
        indexer_config=p.Indexer(
            kv_block_index_config=p.BlockIndex(
                enable_metrics=True,
                in_memory_config=p.InMemoryIndex(size=100_000_000, pod_cache_size=max(10, r.endpoints * tiers)),
            ),
            kv_cache_backend_configs=backends,
        ),
        kv_events_config=p.KvEvents(
            topic_filter="kv@",
            concurrency=8,
            engine_type="vllm",
            discover_pods=True,
            pod_discovery_config=p.PodDiscovery(socket_port=KV_EVENTS_PORT, replay_socket_port=KV_REPLAY_PORT),
        ),
    )


def _precise_facts(r: Routing) -> tuple[list[Plugin], DataLayer]:
    index = _index(r)
    plugins = [
        plugin(p.Tokens(model_name=r.served_name, vllm=p.TokenRenderer(url=r.render_url))),
        plugin("endpoint-notification-source"),
        plugin(index),
    ]
    source = Source(plugin_ref="endpoint-notification-source", extractors=(Ref(plugin_ref=index.plugin),))
    return plugins, DataLayer(sources=(source,))


def _precise(r: Routing) -> _Parts:
    facts, layer = _precise_facts(r)
    producer = p.PrecisePrefixCache.plugin
    if r.replicas > 1:
        plugins = [
            *facts,
            plugin(p.PrefixCache(prefix_match_info_producer_name=producer)),
            plugin("queue-scorer"),
            plugin("kv-cache-utilization-scorer"),
        ]
        uses = _uses(("prefix-cache-scorer", 3.0), ("queue-scorer", 2.0), ("kv-cache-utilization-scorer", 2.0))
        return _Parts(plugins, [Profile(name="default", plugins=uses)], layer)
    plugins = [
        *facts,
        plugin(p.InflightLoad(prefix_match_info_producer_name=producer)),
        plugin(
            p.PrefixAffinity(peak_prefill_throughput=r.prefill_throughput, prefix_match_info_producer_name=producer)
        ),
        plugin(p.TokenLoad()),
    ]
    uses = _uses("prefix-cache-affinity-filter", "token-load-scorer")
    return _Parts(plugins, [Profile(name="default", plugins=uses)], layer)


def _handler(r: Routing) -> list[Plugin]:
    decider = plugin("always-disagg-pd-decider")
    if isinstance(r.decider, int):
        decider = plugin(p.PrefixDecider(non_cached_tokens=r.decider))
    handler = p.Disaggregation(deciders=p.DisaggProfiles(prefill=decider.ref))
    return [decider, plugin(handler), plugin("prefill-filter"), plugin("decode-filter")]


def _disaggregated(r: Routing) -> _Parts:
    plugins = [
        *_handler(r),
        plugin(p.ApproxPrefixCache(max_prefix_tokens_to_match=r.longest_prompt)),
        plugin(p.InflightLoad()),
        plugin(p.PrefixAffinity(peak_prefill_throughput=r.prefill_throughput)),
        plugin(p.TokenLoad()),
        plugin(p.ActiveRequests()),
        plugin("max-score-picker"),
    ]
    prefill = _uses("prefill-filter", "prefix-cache-affinity-filter", "token-load-scorer", "max-score-picker")
    decode = _uses("decode-filter", "active-request-scorer", "max-score-picker")
    return _Parts(plugins, [Profile(name="prefill", plugins=prefill), Profile(name="decode", plugins=decode)])


def _tiered(r: Routing) -> _Parts:
    gpu, cpu = "gpu-prefix-cache-producer", "cpu-prefix-cache-producer"
    capacity = max(1, r.offload_tokens // EFFECTIVE_BLOCK)
    plugins = [
        plugin(p.ApproxPrefixCache(max_prefix_tokens_to_match=r.longest_prompt), gpu),
        plugin(
            p.ApproxPrefixCache(
                auto_tune=False, lru_capacity_per_server=capacity, max_prefix_tokens_to_match=r.longest_prompt
            ),
            cpu,
        ),
        plugin(p.PrefixCache(prefix_match_info_producer_name=gpu), "gpu-prefix-cache-scorer"),
        plugin(p.PrefixCache(prefix_match_info_producer_name=cpu), "cpu-prefix-cache-scorer"),
        plugin(p.NoHitLru(prefix_match_info_producer_name=gpu)),
        plugin("queue-scorer"),
        plugin("kv-cache-utilization-scorer"),
    ]
    names = (
        "gpu-prefix-cache-scorer",
        "cpu-prefix-cache-scorer",
        "no-hit-lru-scorer",
        "queue-scorer",
        "kv-cache-utilization-scorer",
    )
    return _Parts(plugins, [Profile(name="default", plugins=_uses(*[(n, 1.0) for n in names]))])


EFFECTIVE_BLOCK = 64
"""Tokens of a block of the approximate index, whatever the engine's block is: the router's floor."""


def _affinity(name: str, threshold: float) -> Plugin:
    predicted = p.PrefixAffinity(affinity_threshold=threshold, ttft_source="latencyPredictor", max_ttft_penalty_ms=5000)
    return plugin(predicted, name)


def _slo(r: Routing) -> _Parts:
    approx = plugin(p.ApproxPrefixCache(max_prefix_tokens_to_match=r.longest_prompt))
    predictor = plugin(p.PredictedLatency(streaming_mode=True if r.streaming else None))
    if r.disaggregated:
        plugins = [
            *_handler(r),
            approx,
            plugin(p.PredictedLatency(streaming_mode=True, endpoint_role_label="llm-d.ai/role")),
            _affinity("loose-affinity", 0.8),
            plugin(p.LatencyScore(ttft_weight=1.0, tpot_weight=0.0), "ttft-latency-scorer"),
            plugin(p.LatencyScore(ttft_weight=0.0, tpot_weight=1.0), "tpot-latency-scorer"),
            plugin("weighted-random-picker"),
        ]
        prefill = _uses(
            "prefill-filter", predictor.ref, "loose-affinity", "ttft-latency-scorer", "weighted-random-picker"
        )
        decode = _uses("decode-filter", predictor.ref, "tpot-latency-scorer", "weighted-random-picker")
        return _Parts(plugins, [Profile(name="prefill", plugins=prefill), Profile(name="decode", plugins=decode)])
    plugins = [approx, predictor]
    uses: list[str] = [predictor.ref]
    if r.objectives and r.streaming:
        plugins += [
            _affinity("strict-affinity", 0.99),
            plugin("slo-headroom-tier-filter"),
            plugin("latency-slo-admitter"),
        ]
        uses += ["strict-affinity", "slo-headroom-tier-filter"]
    plugins += [_affinity("loose-affinity", 0.8), plugin("latency-scorer"), plugin("weighted-random-picker")]
    uses += ["loose-affinity", "latency-scorer", "weighted-random-picker"]
    return _Parts(plugins, [Profile(name="default", plugins=_uses(*uses))])


def _wide(r: Routing) -> _Parts:
    scorers = [("prefix-cache-scorer", 3.0), ("queue-scorer", 2.0), ("active-request-scorer", 2.0)]
    shared = [
        plugin(p.ApproxPrefixCache(max_prefix_tokens_to_match=r.longest_prompt)),
        plugin(p.InflightLoad()),
        plugin(p.PrefixCache()),
        plugin("queue-scorer"),
        plugin(p.ActiveRequests()),
        plugin("max-score-picker"),
    ]
    if not r.disaggregated:
        return _Parts(shared, [Profile(name="default", plugins=_uses(*scorers, "max-score-picker"))])
    prefill = _uses("prefill-filter", *scorers, "max-score-picker")
    decode = _uses("decode-filter", "active-request-scorer", "max-score-picker")
    return _Parts(
        [*_handler(r), *shared], [Profile(name="prefill", plugins=prefill), Profile(name="decode", plugins=decode)]
    )


_BUILDERS = {
    "prefix": _prefix,
    "precise": _precise,
    "disaggregated": _disaggregated,
    "tiered": _tiered,
    "slo": _slo,
    "wide-ep": _wide,
}

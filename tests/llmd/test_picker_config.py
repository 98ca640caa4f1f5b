"""The endpoint picker's configuration: only what the pinned router takes, and every number from the plan."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from components.llmd.epp import FlowPlan, Routing, picker_config, plugin
from components.llmd.epp import parameters as p
from components.llmd.epp.config import EndpointPickerConfig, Plugin, Profile, Use
from headwater.catalog.releases import charts
from headwater.catalog.router import router_plugins

PATHS = ("prefix", "precise", "disaggregated", "tiered", "slo", "wide-ep")


def routing(path="prefix", **changes):
    values = {
        "path": path, "served_name": "qwen", "prefill_throughput": 12000, "block_size": 16,
        "render_url": "http://qwen-render.models.svc.cluster.local:8000", "endpoints": 3, "offload_tokens": 0,
        "longest_prompt": 32768, "disaggregated": path == "disaggregated",
    }  # fmt: skip
    return Routing(**{**values, **changes})


def document(path="prefix", **changes):
    return yaml.safe_load(picker_config(routing(path, **changes)).text())


def parameters(doc, name):
    return next(q.get("parameters", {}) for q in doc["plugins"] if name in (q.get("name"), q["type"]))


def profile(doc, name="default"):
    return [u["pluginRef"] for u in next(f for f in doc["schedulingProfiles"] if f["name"] == name)["plugins"]]


@pytest.mark.parametrize("path", PATHS)
def test_every_path_writes_the_version_both_routers_read(path):
    doc = document(path)
    assert (doc["apiVersion"], doc["kind"]) == ("llm-d.ai/v1alpha1", "EndpointPickerConfig")


def test_plugins_are_those_of_the_pinned_router():
    versions = {charts()[f"llm-d-router-{mode}"].version for mode in ("gateway", "standalone")}
    assert versions == {router_plugins().router}


@pytest.mark.parametrize("path", PATHS)
def test_no_path_uses_what_is_deprecated_removed_or_alpha(path):
    known = router_plugins()
    for disaggregated in (False, True):
        doc = document(path, disaggregated=disaggregated, streaming=True, objectives=True)
        assert {known.maturity(q["type"]) for q in doc["plugins"]} == {"beta"}


@pytest.mark.parametrize("name", sorted(router_plugins().gone))
def test_a_deprecated_plugin_is_refused_with_its_replacement(name):
    with pytest.raises(ValidationError, match=router_plugins().gone[name]):
        Plugin(type=name)


def test_an_unknown_plugin_is_refused():
    with pytest.raises(ValidationError, match="has no plugin `queue-scorrer`"):
        plugin("queue-scorrer")


def test_an_alpha_plugin_needs_the_opt_in():
    parts = {
        "plugins": (plugin("session-affinity-scorer"),),
        "scheduling_profiles": (Profile(name="default", plugins=(Use(plugin_ref="session-affinity-scorer"),)),),
    }
    with pytest.raises(ValidationError, match="alpha plugins need the opt-in: session-affinity-scorer"):
        EndpointPickerConfig(**parts)
    assert EndpointPickerConfig(**parts, allow_alpha=True).document()["plugins"] == [
        {"type": "session-affinity-scorer"}
    ]


def test_an_unknown_parameter_is_refused_as_the_router_would():
    with pytest.raises(ValidationError, match="Extra inputs"):
        p.PrefixAffinity(peak_prefill_troughput=1)


def test_parameters_of_one_plugin_are_refused_for_another():
    with pytest.raises(ValidationError, match="were given to"):
        Plugin(type="queue-scorer", parameters=p.TokenLoad())


def test_only_scorers_have_weights():
    with pytest.raises(ValidationError, match="only scorers have a weight"):
        EndpointPickerConfig(
            plugins=(plugin("decode-filter"),),
            scheduling_profiles=(Profile(name="default", plugins=(Use(plugin_ref="decode-filter", weight=2.0),)),),
        )


def test_plugin_names_are_unique_and_references_resolve():
    use = (Use(plugin_ref="queue-scorer"),)
    with pytest.raises(ValidationError, match="not unique"):
        EndpointPickerConfig(
            plugins=(plugin("queue-scorer"), plugin("queue-scorer")),
            scheduling_profiles=(Profile(name="default", plugins=use),),
        )
    with pytest.raises(ValidationError, match="referred to but not declared"):
        EndpointPickerConfig(plugins=(), scheduling_profiles=(Profile(name="default", plugins=use),))


def test_two_profiles_need_one_handler():
    profiles = tuple(Profile(name=n, plugins=(Use(plugin_ref="queue-scorer"),)) for n in ("prefill", "decode"))
    with pytest.raises(ValidationError, match="exactly one profile handler"):
        EndpointPickerConfig(plugins=(plugin("queue-scorer"),), scheduling_profiles=profiles)


@pytest.mark.parametrize("path", ["prefix", "precise", "disaggregated"])
def test_prefill_speed_is_the_models_own_and_never_the_routers_default(path):
    own = parameters(document(path, prefill_throughput=3585), "prefix-cache-affinity-filter")
    assert own["peakPrefillThroughput"] == 3585


@pytest.mark.parametrize("path", ["prefix", "disaggregated", "tiered", "slo", "wide-ep"])
def test_prompts_are_matched_up_to_the_models_own_context(path):
    doc = document(path, longest_prompt=65536)
    approx = [q for q in doc["plugins"] if q["type"] == "approx-prefix-cache-producer"]
    assert approx
    assert {q["parameters"]["maxPrefixTokensToMatch"] for q in approx} == {65536}


# -- precise


@given(block=st.sampled_from([16, 32, 64, 128, 256]))
def test_the_index_counts_in_the_engines_own_blocks(block):
    index = parameters(document("precise", block_size=block), "precise-prefix-cache-producer")
    assert index["tokenProcessorConfig"]["blockSizeTokens"] == block


def test_precise_routing_tokenizes_for_real():
    doc = document("precise")
    tokens = parameters(doc, "token-producer")
    assert tokens == {"modelName": "qwen", "vllm": {"url": "http://qwen-render.models.svc.cluster.local:8000"}}
    source = {
        "pluginRef": "endpoint-notification-source",
        "extractors": [{"pluginRef": "precise-prefix-cache-producer"}],
    }
    assert doc["dataLayer"]["sources"] == [source]


@given(endpoints=st.integers(1, 200), tiers=st.booleans())
def test_the_index_remembers_every_endpoint_and_tier(endpoints, tiers):
    doc = document("precise", endpoints=endpoints, offload_tokens=10_000 if tiers else 0)
    index = parameters(doc, "precise-prefix-cache-producer")["indexerConfig"]
    assert index["kvBlockIndexConfig"]["inMemoryConfig"]["podCacheSize"] >= endpoints * (2 if tiers else 1)
    assert ("kvCacheBackendConfigs" in index) == tiers


def test_several_pickers_use_only_what_keeps_no_state():
    config = picker_config(routing("precise", replicas=3))
    assert not set(config.stateful) - {"prefix-cache-scorer"}
    scorer = parameters(config.document(), "prefix-cache-scorer")
    assert scorer["prefixMatchInfoProducerName"] == "precise-prefix-cache-producer"
    assert picker_config(routing("precise")).stateful


# -- disaggregated


def test_prefill_and_decode_keep_the_names_the_router_expects():
    doc = document("disaggregated")
    assert [f["name"] for f in doc["schedulingProfiles"]] == ["prefill", "decode"]
    assert parameters(doc, "disagg-profile-handler") == {"deciders": {"prefill": "always-disagg-pd-decider"}}


def test_prefix_affinity_belongs_to_prefill_only():
    doc = document("disaggregated")
    assert "prefix-cache-affinity-filter" in profile(doc, "prefill")
    assert "prefix-cache-affinity-filter" not in profile(doc, "decode")
    assert (profile(doc, "prefill")[0], profile(doc, "decode")[0]) == ("prefill-filter", "decode-filter")


def test_a_threshold_makes_short_prompts_skip_prefill_servers():
    doc = document("disaggregated", decider=512)
    assert parameters(doc, "prefix-based-pd-decider") == {"nonCachedTokens": 512}
    with pytest.raises(ValidationError):
        p.PrefixDecider(non_cached_tokens=0)


# -- tiered


@given(tokens=st.integers(64, 10**9))
def test_the_host_tier_is_counted_in_blocks_of_64_tokens(tokens):
    doc = document("tiered", offload_tokens=tokens)
    cpu = parameters(doc, "cpu-prefix-cache-producer")
    assert cpu["autoTune"] is False
    assert cpu["lruCapacityPerServer"] == tokens // 64
    assert "lruCapacityPerServer" not in parameters(doc, "gpu-prefix-cache-producer")


def test_tiered_scorers_name_their_producers():
    doc = document("tiered", offload_tokens=6400)
    named = {
        q.get("name", q["type"]): q["parameters"]
        for q in doc["plugins"]
        if q["type"].endswith("-scorer") and "parameters" in q
    }
    assert {n: v["prefixMatchInfoProducerName"] for n, v in named.items()} == {
        "gpu-prefix-cache-scorer": "gpu-prefix-cache-producer",
        "cpu-prefix-cache-scorer": "cpu-prefix-cache-producer",
        "no-hit-lru-scorer": "gpu-prefix-cache-producer",
    }


# -- objectives, flow control, users' own


def test_slo_routing_learns_token_times_only_from_streams():
    assert "streamingMode" not in parameters(document("slo"), "predicted-latency-producer")
    doc = document("slo", streaming=True, objectives=True)
    assert parameters(doc, "predicted-latency-producer") == {"streamingMode": True}
    assert "slo-headroom-tier-filter" in profile(doc)
    assert {"latency-slo-admitter"} <= {q["type"] for q in doc["plugins"]}
    assert "latency-slo-admitter" not in profile(doc)


def test_flow_control_brings_its_gate_bands_and_detector():
    flow = FlowPlan(max_concurrency=72, max_requests=1000, gibibytes=4, ttl_seconds=90.0, priorities=(100, -10))
    doc = document(flow=flow)
    assert doc["featureGates"] == ["flowControl"]
    assert [b["priority"] for b in doc["flowControl"]["priorityBands"]] == [100, 0, -10]
    assert doc["flowControl"]["defaultRequestTTL"] == "90s"
    assert doc["flowControl"]["maxBytes"] == "4Gi"
    assert parameters(doc, "concurrency-detector")["maxConcurrency"] == 72
    assert "flowControl" not in document()
    assert "featureGates" not in document()


def test_a_gate_without_configuration_is_refused():
    with pytest.raises(ValidationError, match="needs its feature gate"):
        EndpointPickerConfig(plugins=(), scheduling_profiles=(), feature_gates=("flowControl",))


def test_own_scorers_replace_ours():
    doc = document(scorers={"queue-scorer": 2.0, "kv-cache-utilization-scorer": 1.0})
    assert doc["schedulingProfiles"][0]["plugins"] == [
        {"pluginRef": "kv-cache-utilization-scorer", "weight": 1.0},
        {"pluginRef": "queue-scorer", "weight": 2.0},
    ]


@pytest.mark.parametrize("path", PATHS)
def test_adapters_add_their_affinity_before_the_picker(path):
    doc = document(path, lora=True)
    for entry in doc["schedulingProfiles"]:
        refs = [u["pluginRef"] for u in entry["plugins"]]
        assert "lora-affinity-scorer" in refs
        assert not any(r.endswith("-picker") for r in refs[: refs.index("lora-affinity-scorer")])


@pytest.mark.parametrize("path", PATHS)
def test_the_text_is_stable(path):
    assert picker_config(routing(path)).text() == picker_config(routing(path)).text()

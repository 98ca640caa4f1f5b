"""One model's plan: layout, memory, arguments, demand, disaggregation."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.catalog.engine_surface import surface
from headwater.catalog.models import find_model, load_models
from headwater.catalog.releases import engines
from headwater.refusal import Refusal
from tests.plan.plans import glm, kimi, llama, only, plan, qwen
from tests.sizing.test_config import LLAMA


def test_the_four_reference_rows():
    rows = [
        (qwen(), 1, "1 GPU", 1, "p5.4xlarge"),
        (llama(), 4, "TP 4", 1, "p5.48xlarge"),
        (kimi(), 8, "TP 8", 1, "p5en.48xlarge"),
        (glm(), 16, "TP 8 × PP 2", 2, "p5.48xlarge"),
    ]
    for asked, gpus, layout, nodes, instance in rows:
        role = only(plan(asked))
        assert (role.gpus, role.parallel.text, role.nodes, role.instance) == (gpus, layout, nodes, instance)
        assert role.memory.verdict == "fits"


def test_glm5_on_h100_says_what_would_serve_it_cheaper():
    cheaper = [a for a in plan(glm()).models[0].alternatives if a.verdict == "cheaper"]
    assert [a.text for a in cheaper] == ["8 × H200, TP 8"]
    assert cheaper[0].dollars_per_hour < plan(glm()).models[0].dollars_per_hour
    assert "you asked for h100" in cheaper[0].reason


def test_auto_takes_the_cheaper_accelerator_and_says_nothing_is_cheaper():
    found = plan(glm(accelerator="auto")).models[0]
    assert only(found).accelerator == "h200"
    assert not any(a.verdict == "cheaper" for a in found.alternatives)


def test_auto_stays_on_the_accelerators_the_stack_file_lists():
    found = plan(glm(accelerator="auto"), capacity={"h100": {"buy": ["onDemand"]}})
    assert only(found).accelerator == "h100"


def test_auto_counts_whole_nodes_not_shares():
    alone = plan({"name": "m", "model": "qwen3-32b", "precision": "bf16", "context": 32768, "concurrency": 4})
    assert only(alone).accelerator == "h100"
    assert any("whole nodes counted" in line for line in alone.models[0].why)
    beside = plan(
        {"name": "m", "model": "qwen3-32b", "precision": "bf16", "context": 32768, "concurrency": 4},
        {"name": "n", "model": "llama-3.3-70b", "precision": "bf16", "context": 32768, "accelerator": "h200"},
    )
    assert [only(m).accelerator for m in beside.models] == ["h200", "h200"]
    assert len(beside.pools) == 1


def test_auto_respects_a_quota_by_taking_the_other_accelerator():
    capacity = {"h100": {"buy": ["onDemand"]}, "h200": {"buy": ["onDemand"], "maxGpus": 4}}
    assert only(plan(glm(accelerator="auto"), capacity=capacity)).accelerator == "h100"


def test_a_model_only_the_other_stacks_engine_knows_is_refused_with_that_stack():
    with pytest.raises(Refusal, match=r"serving\.stack: dynamo"):
        plan({"name": "k", "model": "kimi-k3"}, stack="llm-d")


def test_the_first_cheaper_placement_is_named_with_its_reason():
    rejected = [a for a in plan(llama()).models[0].alternatives if a.verdict == "rejected"]
    assert [a.text for a in rejected] == ["2 × H100, TP 2"]
    assert "KV" in rejected[0].reason


def test_memory_adds_up_to_the_budget():
    for asked in (qwen(), llama(), kimi(), glm()):
        m = only(plan(asked)).memory
        assert m.weights.expected + m.work + m.kv.expected == pytest.approx(m.budget, abs=0.05)
        assert m.kv.low <= m.kv.expected <= m.kv.high
        assert 0 < m.kv_asked <= m.kv.low
        assert m.budget <= m.visible


def test_every_argument_has_an_origin_and_a_reason_and_is_known_to_both_engines():
    surfaces = [surface(engine.vllm) for engine in engines().values()]
    for asked in (qwen(), llama(), kimi(), glm()):
        role = only(plan(asked))
        for arg in role.engine_args:
            assert arg.why
            assert arg.origin in {"plan", "model", "user"}
            assert all(arg.flag[2:] in s.flags for s in surfaces)
        for flag in (
            "--gpu-memory-utilization", "--max-model-len", "--max-num-seqs", "--max-num-batched-tokens",
            "--enable-prefix-caching", "--kv-cache-dtype", "--tensor-parallel-size", "--enable-chunked-prefill",
            "--enable-auto-tool-choice", "--tool-call-parser", "--served-model-name",
        ):  # fmt: skip
            assert role.has(flag), flag


def test_arguments_nobody_needs_are_absent():
    role = only(plan(qwen()))
    for flag in (
        "--pipeline-parallel-size", "--data-parallel-size", "--enable-expert-parallel", "--speculative-config",
        "--trust-remote-code", "--quantization", "--decode-context-parallel-size", "--kv-offloading-size",
        "--host", "--port", "--api-key",
    ):  # fmt: skip
        assert not role.has(flag), flag


def test_code_of_a_repository_runs_where_a_model_needs_it_and_is_said_aloud():
    for said, why in (({}, "kimi-k2.5 cannot be loaded without"), ({"trustRemoteCode": True}, "trustRemoteCode")):
        found = plan(kimi(**said))
        assert only(found).has("--trust-remote-code")
        assert found.models[0].trust_remote_code
        assert f"kimi: code from the model's repository runs in its pods ({why})" in found.warnings
    assert not any("repository runs" in w for w in plan(qwen()).warnings)


@pytest.mark.parametrize("off", [{"trustRemoteCode": False}, {"engine": {"trust-remote-code": False}}])
def test_a_model_that_needs_its_code_is_refused_without(off):
    with pytest.raises(Refusal, match=r"tokenizer of kimi-k2\.5 is code in its repository"):
        plan(kimi(**off))
    assert not only(plan(qwen(**off))).has("--trust-remote-code")


@pytest.mark.parametrize(
    "key", ["kimi-k2", "kimi-k2-thinking", "kimi-k2.6", "kimi-k2-instruct-0905", "kimi-linear-48b-a3b"]
)
def test_every_model_of_a_family_whose_tokenizer_is_code_is_marked(key):
    assert find_model(key).repository_code == "tokenizer"


@pytest.mark.parametrize("key", ["deepseek-v3", "minimax-m2", "nemotron-3-nano", "glm-5", "qwen3-32b", "kimi-dev-72b"])
def test_models_that_engines_load_by_themselves_are_not(key):
    assert find_model(key).repository_code is None


def test_an_inline_config_that_names_code_is_said_aloud():
    inline = {"repository": "org/own", "architecture": {**LLAMA, "auto_map": {"AutoConfig": "configuration_own.Own"}}}
    model = {"name": "own", "model": inline, "accelerator": "h100", "context": 2048, "concurrency": 1}
    assert any("auto_map" in w for w in plan(model).warnings)
    assert not any("auto_map" in w for w in plan({**model, "trustRemoteCode": True}).warnings)


def test_quantization_is_named_only_when_weights_shrink_while_loading():
    assert not only(plan(qwen())).has("--quantization")
    online = plan({**llama(), "model": "qwen2.5-7b", "name": "small", "precision": "fp8", "concurrency": 2})
    assert only(online).arg("--quantization") == "fp8"
    assert online.models[0].checkpoint_gib > 14


def test_switched_off_tool_calls_and_thoughts_leave_no_parser():
    role = only(plan(qwen(toolCalling=False, reasoning=False)))
    assert not any(role.has(f) for f in ("--enable-auto-tool-choice", "--tool-call-parser", "--reasoning-parser"))


def test_a_persons_argument_wins_is_marked_and_keeps_its_place():
    ours, theirs = only(plan(qwen())), only(plan(qwen(engine={"max-num-seqs": 32, "seed": 7})))
    assert theirs.arg("--max-num-seqs") == "32"
    assert theirs.max_num_seqs == 32
    marked = {a.flag: a.origin for a in theirs.engine_args}
    assert marked["--max-num-seqs"] == marked["--seed"] == "user"
    assert [a.flag for a in theirs.engine_args][: len(ours.engine_args)] == [a.flag for a in ours.engine_args]
    assert theirs.engine_args[-1].words == ("--seed=7",)


def test_a_switch_set_to_false_becomes_its_negative():
    role = only(plan(qwen(engine={"enable-prefix-caching": False})))
    assert role.has("--no-enable-prefix-caching")
    assert not role.has("--enable-prefix-caching")


@pytest.mark.parametrize(
    ("flag", "value", "grows"),
    [
        ("gpu-memory-utilization", 0.94, True),
        ("max-num-seqs", 256, False),
        ("max-num-batched-tokens", 4096, True),
        ("kv-cache-dtype", "fp8", True),
        ("enforce-eager", True, True),
    ],
)
def test_arguments_that_touch_memory_change_the_addition(flag, value, grows):
    base = only(plan(qwen(concurrency=1))).kv_tokens
    changed = only(plan(qwen(concurrency=1, engine={flag: value}))).kv_tokens
    assert (changed > base) is grows
    assert changed != base


def test_layout_arguments_bind_the_search():
    role = only(plan(qwen(engine={"tensor-parallel-size": 2})))
    assert (role.parallel.tensor, role.gpus, role.instance) == (2, 2, "p5.48xlarge")
    wide = only(plan(kimi(engine={"decode-context-parallel-size": 8})))
    assert wide.parallel.decode_context == 8
    assert wide.kv_tokens > 7 * only(plan(kimi())).kv_tokens


def test_a_router_that_cannot_hear_a_split_cache_is_told_of():
    def said(stack, ranks, **sections):
        found = plan(kimi(engine={"decode-context-parallel-size": ranks}), stack=stack, **sections)
        return [w for w in found.warnings if "KV events" in w]

    assert only(plan(kimi(engine={"decode-context-parallel-size": 8}))).event_block_size == 8 * 16
    [warning] = said("dynamo", 8)
    assert warning.startswith("kimi: Dynamo 1.6 drops KV events")
    assert "blocks of 128 tokens, 16 announced" in warning
    assert said("dynamo", 1) == said("llm-d", 8) == said("dynamo", 8, dynamo={"router": "least-loaded"}) == []


def test_adapters_take_memory_from_the_cache():
    base = only(plan(llama(concurrency=1))).memory
    slots = only(plan(llama(concurrency=1, engine={"enable-lora": True, "max-loras": 8, "max-lora-rank": 64}))).memory
    assert slots.kv.expected < base.kv.expected - 0.5
    assert slots.weights.expected > base.weights.expected + 0.5
    assert slots.budget == pytest.approx(base.budget, abs=0.02)


def test_speculation_is_said_in_the_engines_words():
    role = only(plan(qwen(speculative={"method": "ngram", "tokens": 3})))
    assert json.loads(role.arg("--speculative-config")) == {
        "method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4,
    }  # fmt: skip
    draft = only(plan(glm(speculative={"method": "mtp", "tokens": 2}, concurrency=2)))
    assert draft.memory.weights.expected > only(plan(glm(concurrency=2))).memory.weights.expected


def test_host_memory_for_kv_cache_is_part_of_the_pods_memory():
    off, on = only(plan(llama())), only(plan(llama(kvCache={"offload": 120})))
    assert on.offload_gib == 120
    assert on.arg("--kv-offloading-size") == "120"
    assert on.pod.memory_mib >= off.pod.memory_mib + 119 * 1024
    auto = only(plan(kimi(kvCache={"offload": "auto"})))
    assert auto.offload_gib > 100
    assert not off.has("--kv-offloading-size")


def test_kv_cache_type_of_the_stack_file_is_the_engines():
    found = plan(llama(kvCache={"dtype": "fp8"})).models[0]
    assert found.kv_cache_dtype == "fp8"
    assert next(a.origin for a in found.roles[0].engine_args if a.flag == "--kv-cache-dtype") == "user"
    assert only(found).kv_tokens > 1.9 * only(plan(llama())).kv_tokens


def test_defaults_are_used_and_said():
    found = plan({"name": "m", "model": "llama-3.1-8b"}).models[0]
    assert (found.context, found.concurrency) == (32768, 8)
    assert any("default" in line for line in found.why)


def test_a_request_rate_becomes_users_and_replicas():
    load = {"input": 3000, "output": 400}
    slow = plan(qwen(concurrency=None, context=8192, load={"requestsPerSecond": 1, **load})).models[0]
    fast = plan(qwen(concurrency=None, context=8192, load={"requestsPerSecond": 10, **load})).models[0]
    assert fast.gpus > slow.gpus
    assert fast.concurrency > slow.concurrency
    role = only(fast)
    seconds = role.throughput.ttft_seconds.expected + 400 * role.throughput.tpot_seconds.expected
    assert role.replicas_min * role.concurrency * 8192 / 3400 >= 10 * seconds * 0.99


def test_given_replicas_share_the_requests_and_bound_the_autoscaler():
    role = only(plan(qwen(concurrency=8, replicas={"min": 2, "max": 5})))
    assert (role.replicas_min, role.replicas_max) == (2, 5)
    assert role.concurrency >= 4


def test_a_model_may_sleep_at_zero_replicas():
    found = plan(qwen(replicas={"min": 0, "max": 2}), llmd={"flowControl": {"enabled": True, "ttl": "30m"}})
    assert only(found).replicas_min == 0
    assert found.pools[0].nodes_now == 0
    assert found.pools[0].nodes_max == 2
    assert found.cost.now == 0


def test_a_tight_placement_is_said_aloud_with_what_to_change():
    capacity = {"h100": {"instances": ["p5.4xlarge"]}}
    found = None
    for context in range(33000, 40960, 64):
        try:
            candidate = plan(qwen(context=context, replicas=1), capacity=capacity)
        except Refusal:
            break
        if only(candidate).memory.verdict == "tight":
            found = candidate
            break
    assert found is not None
    warning = next(w for w in found.warnings if "tight" in w)
    assert "fits for sure" in warning


def test_separate_roles_share_one_layout_and_talk_over_efa():
    found = plan(kimi(disaggregate={"prefill": 1, "decode": 2}))
    prefill, decode = (found.models[0].role(name) for name in ("prefill", "decode"))
    assert found.models[0].disaggregated
    assert (prefill.replicas_min, decode.replicas_min) == (1, 2)
    assert decode.parallel.tensor >= prefill.parallel.tensor
    assert prefill.pod.efa == decode.pod.efa == 16
    assert {r.pool for r in found.models[0].roles} == {"h200-node"}
    assert len(found.pools[0].zones) == 1
    assert found.pools[0].efa == 16
    assert found.pools[0].nodes_now == 3


def test_small_separate_roles_take_their_share_of_a_nodes_interfaces():
    found = plan(llama(disaggregate={"prefill": 1, "decode": 1}))
    assert [r.pod.efa for r in found.models[0].roles] == [16, 16]
    assert found.pools[0].efa == 32


def test_roles_are_not_separated_where_that_does_not_pay():
    for asked, reason in (
        (qwen(disaggregate="auto"), "one replica does it all"),
        (glm(disaggregate="auto", concurrency=20), "not verified upstream"),
    ):
        found = plan(asked).models[0]
        assert not found.disaggregated
        assert any(reason in line for line in found.why)


def test_roles_are_separated_where_prefills_would_break_the_token_objective():
    load = {"requestsPerSecond": 30, "input": 8000, "output": 500}
    asked = {
        **llama(),
        "precision": "fp8",
        "concurrency": None,
        "context": 16384,
        "load": load,
        "slo": {"tpot": "30ms"},
    }
    together, apart = plan(asked), plan({**asked, "disaggregate": "auto"})
    assert apart.models[0].disaggregated
    assert apart.models[0].gpus < together.models[0].gpus
    assert any("prefill and decode apart" in line and "%" in line for line in apart.models[0].why)
    prefill, decode = (apart.models[0].role(name) for name in ("prefill", "decode"))
    assert decode.parallel.tensor >= prefill.parallel.tensor
    assert prefill.instance == decode.instance
    assert decode.throughput.tpot_seconds.expected <= 0.030


def test_an_own_model_is_read_from_its_config(tmp_path):
    config = {
        "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072,
        "torch_dtype": "bfloat16",
    }  # fmt: skip
    (tmp_path / "mine.json").write_text(json.dumps(config))
    base = {"name": "mine", "context": 8192, "concurrency": 4}
    from_file = plan({**base, "model": {"repository": "me/mine", "config": "mine.json"}}, project=tmp_path)
    inline = plan({**base, "model": {"repository": "me/mine", "architecture": config}})
    assert from_file.models == inline.models
    found = inline.models[0]
    assert (found.key, found.repository, found.weight_format) == ("inline", "me/mine", "bf16")
    assert only(found).kv_tokens == only(plan({**base, "model": "llama-3.1-8b"})).kv_tokens


def test_speeds_come_with_their_band():
    t = only(plan(llama())).throughput
    assert t.ttft_seconds.low < t.ttft_seconds.expected < t.ttft_seconds.high
    assert t.tokens_per_second.low == pytest.approx(0.8 * t.tokens_per_second.expected, rel=0.01)
    moe = only(plan(kimi())).throughput
    assert moe.tokens_per_second.low == pytest.approx(0.4 * moe.tokens_per_second.expected, rel=0.01)


LISTED = sorted(key for key, model in load_models().items() if model.listed)


@pytest.mark.parametrize("key", LISTED)
def test_every_catalogue_model_is_planned_or_refused_in_words(key):
    asked = {"name": "m", "model": key, "concurrency": 2}
    try:
        found = plan(asked)
    except Refusal:
        with pytest.raises(Refusal) as refused:
            plan(asked)
        faults = refused.value.faults
        assert [f.path for f in faults] == ["headwater:serving.models[0].model"]
        return
    role = only(found)
    assert role.memory.verdict in {"fits", "tight"}
    assert role.concurrency * role.replicas_min >= 2
    assert found.models[0].checkpoint_gib > 0


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([4096, 16384, 32768]), st.integers(1, 24), st.sampled_from(["h100", "h200", "auto"]))
def test_what_is_asked_is_held(context, concurrency, accelerator):
    found = plan(qwen(context=context, concurrency=concurrency, accelerator=accelerator)).models[0]
    role = only(found)
    assert role.replicas_min * role.concurrency >= concurrency
    assert int(role.arg("--max-model-len")) == context
    assert int(role.arg("--max-num-seqs")) * role.replicas_min >= concurrency

"""Our configuration before Dynamo's own programs, on a processor: ``make test-dynamo``.

What cannot be shown here: anything that needs a GPU, vLLM's own checks of its arguments, the operator.
"""

from __future__ import annotations

import json
import socket

import pytest

from components.dynamo.arguments import worker_arguments
from components.dynamo.frontend import frontend_arguments
from components.dynamo.planner import planner_text
from components.dynamo.router import POLICY_FILE, POLICY_FOLDER, policy, policy_text, router_variables
from headwater.catalog.dynamo_surface import dynamo_surface
from headwater.catalog.engine_surface import surface
from headwater.catalog.models import load_models
from headwater.plan import EngineArg
from headwater.plan.dynamo_planner_rules import SAID_ELSEWHERE
from tests.dynamo.shapes import ACCELERATORS, ALL, elastic_disaggregated, plan, with_slo
from tests.dynamo.wheels import LOCK, Wheels, supported
from tests.factories import make_model, make_role
from tests.llmd.cases import one_server

POLICY = {
    "cost": {"overlapCredit": 0.9, "prefillScale": 1.5, "temperature": 0.1},
    "queue": {"order": "wspt", "busyAt": 8, "maxWaiting": 256},
    "affinity": {"ttl": "10m"},
    "overload": {"decodeShare": 0.9, "prefillTokens": 100000},
    "predictedTtl": "5s",
}
LOAD = {"target": "load", "prefillQueue": {"up": 8000, "down": 500}, "decodeKv": {"up": 80, "down": 30}}
apart, one_worker = elastic_disaggregated, one_server

pytestmark = [pytest.mark.dynamo, pytest.mark.timeout(1800)]


def test_the_wheels_are_those_of_the_release_we_deploy():
    assert f"\nai-dynamo=={dynamo_surface().version} " in f"\n{LOCK.read_text(encoding='utf-8')}"


@pytest.fixture(scope="session")
def wheels():
    if reason := supported():
        pytest.skip(reason)
    return Wheels()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(wheels, made, folder, text=None):
    """Start the frontend of a plan's first model, its policy file where its arguments say."""
    words = frontend_arguments(made, made.models[0])
    if text is not None:
        file = folder / POLICY_FILE
        file.write_text(text, encoding="utf-8")
        words = [word.replace(f"{POLICY_FOLDER}/{POLICY_FILE}", str(file)) for word in words]
    return wheels.frontend(words, free_port())


@pytest.mark.parametrize("case", ["plain", "disaggregated", "round-robin", "several-models"])
def test_the_real_frontend_starts_with_our_command_line(wheels, tmp_path, case):
    started = start(wheels, ALL[case]("h100"), tmp_path)
    assert started.up, started.text
    assert "deprecated" not in started.text.lower()
    assert "unknown" not in started.text.lower()


@pytest.mark.parametrize("make", [apart, one_worker], ids=["apart", "aggregated"])
def test_the_real_frontend_takes_our_policy_file(wheels, tmp_path, make):
    model = make()
    made = plan(model, router=POLICY)
    content = policy(made.settings.dynamo, model)
    started = start(wheels, made, tmp_path, policy_text(content))
    assert started.up, started.text
    assert "deprecated" not in started.text.lower()


def wrong(change):
    content = policy(plan(apart(), router=POLICY).settings.dynamo, apart())
    change(content)
    return policy_text(content)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(surprise=1),
        lambda c: c["policy_classes"][0].update(queue_policy="lcfs"),
        lambda c: c["policy_classes"][0].pop("quantum"),
        lambda c: c.pop("uncached_isl_buckets"),
        lambda c: c["worker_selection"].update(prefill="nobody"),
        lambda c: c["worker_selection"]["instances"][0].update(type="no-such-cost"),
        lambda c: c["worker_selection"]["instances"][0]["parameters"].update(no_such_weight=1.0),
    ],
    ids=["key", "order", "quantum", "half-profile", "instance", "type", "parameter"],
)
def test_the_real_frontend_refuses_a_wrong_policy_file(wheels, tmp_path, change):
    started = start(wheels, plan(apart(), router=POLICY), tmp_path, wrong(change))
    assert not started.up, started.text


@pytest.mark.parametrize("words", [["--router-kv-overlap"], ["--router-mode", "nearest"]], ids=["flag", "mode"])
def test_the_real_frontend_refuses_what_it_does_not_have(wheels, words):
    assert not wheels.frontend(words, free_port()).up


def test_the_real_frontend_says_which_of_its_flags_are_deprecated(wheels):
    started = wheels.frontend(["--router-mode", "kv", "--router-temperature", "0.5"], free_port())
    assert started.up
    assert "--router-temperature is deprecated" in started.text


@pytest.mark.parametrize("mode", ["kv", "round-robin", "random", "power-of-two", "least-loaded"])
def test_the_real_frontend_knows_every_router_mode_of_the_stack_file(wheels, tmp_path, mode):
    assert start(wheels, plan(one_worker(), router=mode), tmp_path).up


def test_the_pickers_variables_are_ones_the_router_reads(wheels):
    """A misspelt variable is ignored, so each is given a value that a reader must refuse."""
    made = plan(apart(), router=POLICY, gateway="picker")
    names = sorted(router_variables(made.settings.dynamo, made.models[0]))
    assert names == ["DYN_ROUTER_EVENT_THREADS", "DYN_ROUTER_POLICY_CONFIG", "DYN_ROUTER_PREDICTED_TTL_SECS"]
    for name in names:
        started = wheels.frontend(["--router-mode", "kv"], free_port(), **{name: "nonsense"})
        assert not started.up, name
    assert wheels.frontend(["--router-mode", "kv"], free_port(), **{f"{names[0]}S": "nonsense"}).up


PLANNED = {
    "sla": lambda: with_slo(plan(apart(), planner={"target": "sla"})),
    "sla-aggregated": lambda: with_slo(plan(one_worker(), planner={"target": "sla", "advisory": True})),
    "throughput": lambda: plan(apart(), planner={"target": "throughput"}),
    "latency": lambda: plan(one_worker(), planner={"target": "latency", "predictor": "kalman"}),
    "load": lambda: plan(apart(), planner=LOAD),
    "load-aggregated": lambda: plan(one_worker(), planner=LOAD),
    "more": lambda: with_slo(
        plan(apart(), planner={"config": {"max_num_fpm_samples": 128, "load_predictor_log1p": True}})
    ),
}


@pytest.mark.parametrize("case", sorted(PLANNED))
def test_the_real_planner_takes_our_configuration_and_means_it(wheels, case):
    made = PLANNED[case]()
    model, own = made.models[0], made.settings.dynamo.planner
    (answer,) = wheels.ask("planner", [planner_text(made, model)])["answers"]
    assert "error" not in answer, answer
    assert answer["unknown"] == []
    assert answer["optimization_target"] == own.target
    assert answer["mode"] == ("disagg" if model.disaggregated else "agg")
    assert answer["max_gpu_budget"] == sum(r.gpus * r.replicas_max for r in model.roles)
    assert answer["enable_load_scaling"] is True
    assert answer["enable_throughput_scaling"] is (own.target == "sla")
    assert answer["advisory"] is own.advisory
    assert answer["tick"] == 5.0
    if own.target == "sla":
        assert (answer["ttft_ms"], answer["itl_ms"]) == (2000.0, 40.0)


def test_the_real_planner_ignores_what_we_refuse(wheels):
    text = json.dumps({"environment": "kubernetes", "max_gpu_budgets": 64})
    (answer,) = wheels.ask("planner", [text])["answers"]
    assert answer["unknown"] == ["max_gpu_budgets"]
    assert answer["max_gpu_budget"] == 8


@pytest.mark.parametrize(
    "wrong",
    [{"optimization_target": "cheap"}, {"mode": "both"}, {"max_gpu_budget": "many"}, {"load_predictor": "oracle"}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_real_planner_refuses_a_wrong_value(wheels, wrong):
    model = json.loads(planner_text(PLANNED["throughput"](), apart()))
    assert set(wrong) <= {*model, "load_predictor"}
    (answer,) = wheels.ask("planner", [json.dumps({**model, **wrong})])["answers"]
    assert next(iter(wrong)) in answer["error"]


def test_the_planners_fields_are_those_of_the_catalogue(wheels):
    fields = set(wheels.ask("planner", [])["fields"])
    assert fields == set(dynamo_surface().planner_fields)
    assert set(SAID_ELSEWHERE) <= fields


def test_the_parsers_are_those_of_the_catalogue(wheels):
    found, known = wheels.ask("words"), dynamo_surface()
    for kind, ours in (("tool", known.tool_parsers), ("reasoning", known.reasoning_parsers)):
        assert ours.names <= set(found[kind])
        assert {name for name in found[kind] if name.replace("-", "_") not in ours.names} <= ALIASES


ALIASES = {"deepseekv4", "deepseek-v4", "gemma-4", "kimi-k3", "minimax-m3", "minimax-m3-nom"}
"""Second spellings of parsers we know by their first."""


def ask_worker(wheels, lines):
    engine = surface(dynamo_surface().vllm)
    question = {"flags": sorted(engine.engine_flags), "switches": sorted(engine.switches & engine.engine_flags)}
    return wheels.ask("worker", {**question, "lines": lines})


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_the_real_worker_parses_every_command_line_we_render(wheels, accelerator):
    asked = [(case, made, model, role) for case in sorted(ALL) for made in [ALL[case](accelerator)]
             for model in made.models for role in model.roles]  # fmt: skip
    answers = ask_worker(wheels, [worker_arguments(made, model, role) for _, made, model, role in asked])
    assert len(answers) == len(asked)
    for (case, made, model, role), answer in zip(asked, answers, strict=True):
        assert "error" not in answer, (case, answer)
        assert answer["name"] == model.name
        assert answer["component"] == ("prefill" if role.role == "prefill" else "backend")
        assert answer["mode"] == {"serve": "agg"}.get(role.role, role.role)
        assert answer["events"] is (made.settings.dynamo.router.mode == "kv" and role.role != "decode")


def speaking(tools, reasoning):
    role = make_role()
    named = {"--tool-call-parser": tools, "--reasoning-parser": reasoning}
    more = tuple(EngineArg(flag=f, value=v, origin="plan", why="sample") for f, v in named.items() if v is not None)
    return make_model(roles=(role.model_copy(update={"engine_args": (*role.engine_args, *more)}),))


def test_the_real_worker_takes_the_parsers_of_every_model_of_the_catalogue(wheels):
    known = dynamo_surface()
    pairs = sorted({(m.tool_parser, m.reasoning_parser) for m in load_models().values()}, key=str)
    models = [speaking(*pair) for pair in pairs]
    answers = ask_worker(wheels, [worker_arguments(plan(model), model, model.roles[0]) for model in models])
    for (tools, reasoning), answer in zip(pairs, answers, strict=True):
        assert answer["tools"] == (tools and known.tool_parsers.of_vllm(tools))
        assert answer["reasoning"] == (reasoning and known.reasoning_parsers.of_vllm(reasoning))
    assert any(answer["tools"] for answer in answers)
    assert any(answer["reasoning"] for answer in answers)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--dyn-tool-call-parser", "nobody"], "nobody"),
        (["--disaggregation-mode", "prefill"], "kv-transfer-config"),
        (["--connector", "nixl"], "no longer supported"),
        (["--is-prefill-worker"], "unrecognized"),
        (["--tool-call-parser", "hermes"], "unrecognized"),
    ],
)
def test_the_real_worker_refuses_what_we_never_render(wheels, words, reason):
    (answer,) = ask_worker(wheels, [["--model", "a/b", *words]])
    assert reason in answer["error"]

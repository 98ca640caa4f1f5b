"""What people see: the answer first, the same facts in columns, lines and JSON."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from headwater.cli.plan_screen import plan_screen
from headwater.cli.preview_screen import resources_line
from headwater.plan import build_plan
from headwater.preview.engine import evaluate
from headwater.settings import load_stack
from tests.conftest import ROOT
from tests.factories import disaggregated_model, make_plan

STACKS = ("dev", "staging", "prod")


def shown(plan, width):
    """The screen as text, on a terminal of that width (0: a pipe)."""
    text = io.StringIO()
    plan_screen(
        plan,
        Console(
            file=text,
            width=width or 80,
            force_terminal=bool(width),
            no_color=True,
            highlight=False,
            soft_wrap=not width,
        ),
    )
    return text.getvalue()


@pytest.mark.parametrize("stack", STACKS)
def test_models_come_before_nodes_and_nodes_before_cost_and_resources(run, stack):
    said = run("preview", stack)
    assert said.code == 0
    marks = [said.out.index(word) for word in ("MODELS", "runs on", "memory", "NODES", "COST", "RESOURCES")]
    assert marks == sorted(marks)
    assert len(said.out.splitlines()) <= 40
    assert said.err == ""


@pytest.mark.parametrize("stack", STACKS)
def test_columns_fit_a_terminal_of_120(stack):
    plan = build_plan(load_stack(ROOT / "stacks" / f"Pulumi.{stack}.yaml"))
    lines = shown(plan, 120).splitlines()
    table = [line for line in lines if "CONTEXT × USERS" in line]
    assert len(table) == 1
    rows = [line for line in lines if any(line.startswith(m.name + " ") for m in plan.models)]
    assert len(rows) == len(plan.models)


@pytest.mark.parametrize("stack", STACKS)
def test_lines_carry_the_facts_of_the_columns(stack):
    plan = build_plan(load_stack(ROOT / "stacks" / f"Pulumi.{stack}.yaml"))
    lines = shown(plan, 0)
    for model in plan.models:
        for role in model.roles:
            for fact in (
                role.instance,
                role.parallel.text,
                f"{role.memory.weights.expected:.1f}",
                f"{role.memory.kv_asked:.1f}",
            ):
                assert fact in lines
                assert fact in shown(plan, 140)
    assert f"{plan.cost.now:,.2f} $/h now" in lines


def test_roles_of_a_disaggregated_model_stand_apart():
    text = shown(make_plan(models=(disaggregated_model(),)), 0)
    assert "prefill TP 8, 2 replicas" in text
    assert "decode TP 8, 1 replica:" in text


def test_nodes_kept_warm_are_nodes_now(run, variant):
    said = run("plan", variant("dev", ("config:\n", "config:\n  headwater:capacity: {h100: {warm: 3}}\n")))
    assert "NODES  3 GPU nodes now, at most 3" in said.out
    assert "3 nodes kept warm" in said.out


def test_an_existing_clusters_platform_is_no_bill(run, variant):
    subnets = "subnets: {system: [subnet-0a1, subnet-0b1], gpu: {us-east-2a: subnet-0c1}}"
    sections = f"  headwater:cluster: {{existing: shared}}\n  headwater:network: {{vpc: vpc-0a1, {subnets}}}\n"
    said = run("plan", variant("dev", ("config:\n", f"config:\n{sections}")))
    assert "platform: the existing cluster's" in said.out
    assert "0.00" not in said.out


def test_no_colour_in_a_pipe(run):
    assert "\x1b" not in run("plan", "prod").out


def test_plan_as_json_is_the_plan(run):
    found = json.loads(run("plan", "prod", "--json").out)
    assert [m["name"] for m in found["models"]] == ["kimi", "glm"]
    assert found["models"][1]["roles"][0]["parallel"]["pipeline"] == 2


def test_preview_as_json_holds_plan_and_graph(run):
    found = json.loads(run("preview", "dev", "--json").out)
    assert found["graph"]["format"] == "headwater.preview/v1"
    assert found["plan"]["environment"] == found["graph"]["stack"] == "dev"


def test_what_the_engine_has_to_say_is_said_once(run):
    notes = [line for line in run("preview", "dev").out.splitlines() if line.startswith("NOTE")]
    graph = json.loads(run("preview", "dev", "--json").out)["graph"]
    assert len(notes) == len({m["text"] for m in graph["messages"]})


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_room_and_its_number_stay_on_one_line(width):
    graph = evaluate(ROOT / "stacks" / "Pulumi.dev.yaml", ROOT)
    text = resources_line(graph, full=True, width=width).plain
    assert max(len(line) for line in text.splitlines()) <= width
    flat = resources_line(graph, full=True).plain
    assert " ".join(text.split()) == " ".join(flat.split())
    assert "\n" not in flat
    assert all(line.strip()[-1].isdigit() or line.endswith("·") for line in text.splitlines())


def test_full_lists_every_resource(run):
    graph = json.loads(run("preview", "dev", "--json").out)["graph"]
    tree = run("preview", "dev", "--full").out
    names = [r["name"] for r in graph["resources"] if r["parent"]]
    assert len(names) > 100
    assert [name for name in names if name not in tree] == []


def test_explain_sums_to_the_budget(run):
    found = json.loads(run("explain", "prod", "glm", "--json").out)
    budget = next(t for t in found["terms"] if t["name"] == "budget")["gib"]["expected"]
    assert sum(t["gib"]["expected"] for t in found["terms"] if t["sign"] == 1) == pytest.approx(budget, abs=0.01)
    text = run("explain", "prod", "glm").out
    assert all(word in text for word in ("weights", "CUDA graphs", "KV cache", "HOLDS", "ASSUMED", "CHANGE"))


def test_models_lists_what_a_stack_file_may_name(run):
    keys = {m["key"] for m in json.loads(run("models", "--json").out)}
    assert {"qwen3-32b", "llama-3.3-70b", "kimi-k2.5", "glm-5"} <= keys
    assert "qwen3-32b: " in run("models").out


def test_a_token_never_shows(run, variant):
    file = variant("dev", ("config:\n", 'config:\n  headwater:huggingFace: {token: {secure: "v1:MARKER"}}\n'))
    for words in (("plan", file), ("plan", file, "--json"), ("preview", file, "--json")):
        said = run(*words)
        assert said.code == 0
        assert "MARKER" not in said.out + said.err

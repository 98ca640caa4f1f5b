"""The first screen: models, placement, memory, nodes, cost; the answer before the details."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headwater.catalog.instances import load_instances
from headwater.cli.places import wide
from headwater.plan import ModelPlan, Plan, Pool, Role, SystemGroup

Line = Text | Table
MONEY = "bold"


def plan_screen(plan: Plan, screen: Console) -> None:
    """Print the plan, as columns where they fit, else as lines with the same facts."""
    for item in [
        _head(plan),
        Text(""),
        *_models(plan, screen, columns=wide(screen)),
        Text(""),
        *_nodes(plan),
        *_warnings(plan),
    ]:
        screen.print(item)


def dollars(value: float) -> str:
    """``1,321.50``."""
    return f"{value:,.2f}"


def _head(plan: Plan) -> Text:
    facts = [plan.environment, plan.region, f"Kubernetes {plan.kubernetes}", f"{plan.stack} (vLLM {plan.vllm})"]
    text = Text("   ".join(facts), style="bold")
    text.append(f"   prices {plan.cost.region}, {plan.cost.as_of.isoformat()}", style="dim")
    return text


def _models(plan: Plan, screen: Console, *, columns: bool) -> Iterator[Line]:
    if columns:
        table = _table(plan, gap="   ")
        needed = screen.measure(table, options=screen.options.update(max_width=400)).maximum
        yield table if needed <= screen.width else _table(plan, gap="\n")
    else:
        yield from _lines(plan)
    for model in plan.models:
        yield from _remarks(model)


def _table(plan: Plan, gap: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1 if gap == "\n" else 2, 0, 0), header_style="bold")
    for title in ("MODEL", "RUNS ON", "LAYOUT", "REPLICAS", "CONTEXT × USERS", "MEMORY PER GPU, GiB"):
        table.add_column(title, no_wrap=title != "RUNS ON")
    table.add_column("$/h", justify="right", no_wrap=True)
    for model in plan.models:
        for place, role in enumerate(model.roles):
            first = place == 0
            table.add_row(
                model.name if first else "",
                _where(role).replace("   ", gap),
                _layout(role),
                _replicas(role),
                _demand(model) if first else "",
                _memory(role),
                dollars(role.dollars_per_hour * role.replicas_min),
            )
    return table


def _lines(plan: Plan) -> Iterator[Text]:
    yield Text("MODELS", style="bold")
    for model in plan.models:
        yield Text(f"  {model.name}: {model.repository} ({model.weight_format}), {_demand(model)} users")
        for role in model.roles:
            cost = dollars(role.dollars_per_hour * role.replicas_min)
            where = _where(role).replace("   ", " on ")
            yield Text(f"    runs on  {where}, {_layout(role)}, {_count(role)}: {cost} $/h")
            yield Text(f"    memory   {_memory(role)} GiB per GPU")


def _remarks(model: ModelPlan) -> Iterator[Text]:
    for option in model.alternatives:
        if option.verdict == "cheaper":
            yield Text(
                f"  {model.name}: cheaper: {option.text} at {dollars(option.dollars_per_hour)} $/h ({option.reason})"
            )
    for role in model.roles:
        if role.memory.verdict == "tight":
            more = role.memory.kv.expected / role.memory.kv_asked if role.memory.kv_asked else 0.0
            yield Text(
                f"  {model.name}: tight: {more:.1f} × the KV cache asked, less at the lower bound", style="yellow"
            )


def _where(role: Role) -> str:
    machine = load_instances()[role.instance]
    gpus = f"{role.gpus} × {role.accelerator.upper()}"
    if role.pod.gpus < machine.gpus:
        return f"{gpus}   part of {role.instance}"
    return f"{gpus}   {role.nodes} {role.instance}"


def _layout(role: Role) -> str:
    return role.parallel.text if role.role == "serve" else f"{role.role} {role.parallel.text}"


def _replicas(role: Role) -> str:
    return str(role.replicas_min) + (f" (…{role.replicas_max})" if role.replicas_max > role.replicas_min else "")


def _count(role: Role) -> str:
    return f"{_replicas(role)} replica" + ("s" if role.replicas_max != 1 else "")


def _demand(model: ModelPlan) -> str:
    return f"{model.context:,} × {model.concurrency}"


def _memory(role: Role) -> str:
    m = role.memory
    asked, free = f"{m.kv_asked:.1f}", f"{m.kv.expected:.1f}"
    return f"weights {m.weights.expected:.1f} + work {m.work:.1f} + KV {asked} of {free} = {m.budget:.1f}"


def _nodes(plan: Plan) -> Iterator[Text]:
    now, most = sum(max(p.nodes_now, p.warm) for p in plan.pools), sum(p.nodes_max for p in plan.pools)
    yield Text.assemble(("NODES", "bold"), f"  {_plural(now, 'GPU node')} now, at most {most}   ·   ", *_cost(plan))
    for pool in plan.pools:
        yield Text(f"  {pool.name}: {_pool(pool)}")
    if plan.system is not None:
        yield Text(f"  system: {_system(plan.system)}")


def _pool(pool: Pool) -> str:
    parts = [
        f"{pool.nodes_now} × {' or '.join(pool.instances)} now, at most {pool.nodes_max}",
        f"limit {_plural(pool.gpu_limit, 'GPU')}",
        " → ".join(pool.buy),
        "in " + ", ".join(pool.zones),
    ]
    if pool.efa:
        parts.append(f"EFA × {pool.efa}")
    if pool.warm:
        parts.append(f"{_plural(pool.warm, 'node')} kept warm")
    return ", ".join(parts)


def _system(group: SystemGroup) -> str:
    ask = f"{group.cpu_millis / 1000:.1f} CPU and {group.memory_mib / 1024:.0f} GiB of pods"
    other = "llm-d" if group.demanding == "dynamo" else "dynamo"
    types = " or ".join(group.instances)
    return (
        f"{group.nodes} × {types}, at most {group.nodes_max}, for {ask} (with {group.demanding}, which needs more than "
        f"{other})"
    )


def _cost(plan: Plan) -> Iterable[str | tuple[str, str]]:
    cost = plan.cost
    reserved = f", of it reserved {dollars(cost.reserved)}" if cost.reserved else ""
    known = "" if cost.complete else " (not every price is known)"
    return (
        ("COST", MONEY),
        f" {dollars(cost.now)} $/h now{reserved}, at most {dollars(cost.most)} $/h{known}",
        "   ·   platform: the existing cluster's"
        if plan.system is None
        else f"   ·   platform about {dollars(cost.platform)} $/h",
    )


def _warnings(plan: Plan) -> Iterator[Text]:
    found = [*plan.warnings, *(f"{m.name}: {text}" for m in plan.models for text in m.warnings)]
    for text in dict.fromkeys(found):
        yield Text.assemble(("WARN  ", "bold yellow"), text)
    if plan.stack_why:
        yield Text.assemble(("STACK ", "bold"), plan.stack_why)
    if plan.settings.cluster.existing is None:
        yield Text.assemble(("UP    ", "bold"), plan.settings.cluster.reach)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("s" if count != 1 else "")

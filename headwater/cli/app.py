"""Every command, its arguments and its help."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.calibrate import calibrate_command
from headwater.cli.resume import resume_command
from headwater.cli.size import size_command

app = typer.Typer(
    help="LLM serving on EKS from one stack file: sized, priced and previewed before anything is bought.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Stack = Annotated[str, typer.Argument(help="An environment (dev is stacks/Pulumi.dev.yaml) or a stack file's path.")]
Json = Annotated[bool, typer.Option("--json", help="The same facts for machines.")]


@app.command()
def plan(stack: Stack, as_json: Json = False) -> None:
    """Models, placement, memory, nodes and cost of a stack."""
    from headwater.cli.places import console, planned, write_json
    from headwater.cli.plan_screen import plan_screen

    decided, _, _ = planned(stack)
    if as_json:
        write_json(decided.model_dump(mode="json"))
    else:
        plan_screen(decided, console())


@app.command()
def preview(
    stack: Stack,
    full: Annotated[bool, typer.Option("--full", help="List every resource, as a tree.")] = False,
    as_json: Json = False,
) -> None:
    """The plan, and every resource `pulumi up` would create; no cloud account needed."""
    from headwater.cli.places import console, planned, write_json
    from headwater.cli.plan_screen import plan_screen
    from headwater.cli.preview_screen import notes, resource_tree, resources_line
    from headwater.cli.progress import waiting

    with waiting(f"previewing {stack}"):
        from headwater.preview.engine import evaluate

        decided, file, project = planned(stack)
        graph = evaluate(file, project, decided.environment)
    if as_json:
        write_json({"plan": decided.model_dump(mode="json"), "graph": graph.to_json()})
        return
    screen = console()
    plan_screen(decided, screen)
    screen.print()
    screen.print(resources_line(graph, full=full, width=screen.width if screen.is_terminal else 0))
    for note in notes(graph):
        screen.print(note)
    if full:
        resource_tree(graph, screen)


@app.command()
def render(
    stack: Stack,
    out: Annotated[Path, typer.Option("--out", help="A new or empty folder, or one an earlier render wrote.")],
    as_json: Json = False,
) -> None:
    """Write every Kubernetes object, Helm release and AWS resource of a stack as a file."""
    from headwater.cli.places import console, planned, write_json
    from headwater.cli.progress import waiting

    with waiting(f"rendering {stack}"):
        from headwater.preview.engine import evaluate
        from headwater.preview.render import render as write

        decided, file, project = planned(stack)
        files = write(evaluate(file, project, decided.environment), out)
    if as_json:
        write_json({"out": str(out), "files": files})
    else:
        console().print(f"{len(files)} files under {out}")


@app.command()
def diff(
    old: Annotated[str, typer.Argument(help="A stack file, an environment, or a git revision.")],
    new: Annotated[str, typer.Argument(help="The same, to compare with.")],
    stack: Annotated[
        list[str] | None, typer.Option("--stack", help="With revisions: only this environment; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What a change means: money, GPUs, users, risks; then every resource. Markdown, for a pull request."""
    from headwater.cli.compare import pairs
    from headwater.cli.places import write_json
    from headwater.preview.review import review, review_json

    found = pairs(old, new, stack or [])
    if as_json:
        write_json([review_json(before, after) for before, after in found])
    else:
        typer.echo("\n".join(review(before, after) for before, after in found), nl=False)


@app.command()
def explain(
    stack: Stack,
    model: Annotated[str, typer.Argument(help="A model of the stack, by the name clients ask for.")],
    as_json: Json = False,
) -> None:
    """One model's memory: each addend with its formula, numbers, band and source."""
    from headwater.cli.explain_screen import explain_json, explain_screen
    from headwater.cli.places import console, project_folder, stack_file, write_json
    from headwater.plan.explain import explain as laid_open
    from headwater.refusal import Refusal
    from headwater.settings import load_stack, shown_path

    file = stack_file(stack)
    try:
        found = laid_open(load_stack(file), model, project=project_folder())
    except Refusal as refusal:
        raise refusal.at(refusal.source or shown_path(file)) from None
    if as_json:
        write_json(explain_json(found))
    else:
        explain_screen(found, console())


@app.command()
def models(as_json: Json = False) -> None:
    """The models of the catalogue, with their checkpoints."""
    from headwater.cli.models_screen import models_json, models_screen
    from headwater.cli.places import console, write_json

    if as_json:
        write_json(models_json())
    else:
        models_screen(console())


app.command("size")(size_command)
app.command("calibrate")(calibrate_command)
app.command("resume")(resume_command)

for _command in app.registered_commands:  # whole sentences in the list of commands, where typer would cut them short
    _command.short_help = inspect.getdoc(_command.callback)

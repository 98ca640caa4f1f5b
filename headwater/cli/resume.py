"""`headwater resume`: what a `pulumi up` that was killed had begun, and a state that knows what came of it.

A killed CLI leaves creations that it had asked for and whose end it never recorded; the state lists them as pending.
Only somebody who looks can tell which of them exist. What exists has to enter the state under its id, or the next `up`
makes a second one.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.refusal import Fault, Refusal, did_you_mean

State = dict[str, Any]
RELEASE = "kubernetes:helm.sh/v3:Release"


@dataclass(frozen=True)
class Begun:
    """A creation whose end the state does not know.

    Attributes:
        name: its logical name in the program.
        look_for: its physical names or its tag `Name`; of a Kubernetes object or Helm release this is the id, too.
    """

    urn: str
    type: str
    name: str
    look_for: str


def pending_creations(state: State) -> list[State]:
    """The resources of creations without an end in an exported state; components and providers exist nowhere else."""
    operations = state["deployment"].get("pending_operations") or []
    created = [item["resource"] for item in operations if item["type"] == "creating"]
    return [item for item in created if item.get("custom") and not item["type"].startswith("pulumi:")]


def begun(state: State) -> list[Begun]:
    """Every creation without an end in an exported state, as the state lists them."""
    return [
        Begun(item["urn"], item["type"], item["urn"].rsplit("::", 1)[1], look_for(item))
        for item in pending_creations(state)
    ]


def look_for(resource: State) -> str:
    """By what a resource is found: see `Begun`."""
    inputs = resource.get("inputs") or {}
    if resource["type"].startswith("kubernetes:"):
        about = inputs if resource["type"] == RELEASE else inputs.get("metadata") or {}
        return "/".join(str(about[key]) for key in ("namespace", "name") if about.get(key))
    named = [str(value) for key, value in sorted(inputs.items()) if key == "name" or key.endswith("Name")]
    tag = (inputs.get("tags") or {}).get("Name")
    return ", ".join(named or ([f"tag Name={tag}"] if tag else []))


def resumed(state: State, answers: Mapping[str, str | None]) -> State:
    """The state with what exists, and without pending operations.

    Args:
        state: as `pulumi stack export` writes it.
        answers: for each unfinished creation, by logical name or URN, its id; None when it does not exist.

    Raises:
        Refusal: a creation without an answer, an answer without a creation, an answer for several, a replacement.
    """
    creations, deployment = begun(state), state["deployment"]
    known = {item["urn"] for item in deployment.get("resources") or []}
    faults, ids = [], {}
    for key, number in answers.items():
        meant = [item for item in creations if key in {item.name, item.urn}]
        if len(meant) != 1:
            names = {item.name for item in creations}
            why = f"The state has {len(meant) or 'no'} unfinished creations of this name."
            faults.append(Fault(key, "", why, "Say the URN." if meant else did_you_mean(key, names)))
            continue
        if meant[0].urn in ids:
            faults.append(Fault(key, number or "", "It is answered twice, by its name and by its URN.", "Keep one."))
        if number and meant[0].urn in known:
            why = "It was about to replace another one, which the state still holds."
            faults.append(Fault(key, number, why, "Delete the new one by hand and say --absent: up replaces it again."))
        ids[meant[0].urn] = number
    for item in creations:
        if item.urn not in ids:
            why = f"This {item.type} was being created, and the state does not say whether it exists."
            remedy = f"Look for {item.look_for or item.urn}; then say --found {item.name}=ID or --absent {item.name}."
            faults.append(Fault(item.name, "", why, remedy))
    if faults:
        raise Refusal(faults)
    made = [item | {"id": ids[item["urn"]]} for item in pending_creations(state) if ids[item["urn"]]]
    rest = {key: value for key, value in deployment.items() if key != "pending_operations"}
    return state | {"deployment": rest | {"resources": [*(deployment.get("resources") or []), *made]}}


def _read(file: Path) -> State:
    """An exported state, of which everything read here is there.

    Raises:
        Refusal: there is no such file, or it is another one.
    """
    try:
        state: State = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        why = f"It cannot be read: {error.strerror}."
        raise Refusal([Fault(str(file), "", why, "Run `pulumi stack export --file` first.")]) from None
    except (ValueError, RecursionError):
        state = {}
    deployment = state.get("deployment") if isinstance(state, dict) else None
    resources, operations = _items(deployment, "resources"), _items(deployment, "pending_operations")
    asked = [item.get("resource") for item in operations or []]
    if (
        resources is None
        or operations is None
        or not all(isinstance(item.get("urn"), str) for item in resources)
        or not all(isinstance(item.get("type"), str) for item in operations)
        or not all(_is_resource(item) for item in asked)
    ):
        why = "It is not what `pulumi stack export --file` writes."
        raise Refusal([Fault(str(file), "", why, "Export the state again.")])
    return state


def _items(deployment: Any, key: str) -> list[State] | None:
    """A list of mappings in a deployment, empty where it has none; None where it is something else."""
    found = (deployment.get(key) or []) if isinstance(deployment, dict) else None
    return found if isinstance(found, list) and all(isinstance(item, dict) for item in found) else None


def _is_resource(item: Any) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("inputs") or {}, dict):
        return False
    return isinstance(item.get("type"), str) and "::" in str(item.get("urn"))


def _write(state: State, out: Path) -> None:
    """The state, whole or not at all.

    Raises:
        Refusal: it cannot be written there.
    """
    target = out.resolve()
    part = target.with_name(f".{target.name}.part")
    if target.exists() and not target.is_file():
        raise Refusal([Fault("--out", str(out), "It cannot be written: it is no file.", "Name a file.")])
    try:
        part.write_text(json.dumps(state, indent=4) + "\n", encoding="utf-8")
        part.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise Refusal([Fault("--out", str(out), f"It cannot be written: {error.strerror}.", "Name a file.")]) from None


def resume_command(
    state: Annotated[Path, typer.Argument(help="What `pulumi stack export --file` wrote.")],
    found: Annotated[
        list[str] | None, typer.Option(help="NAME=ID of a creation that exists; may be repeated.", metavar="NAME=ID")
    ] = None,
    absent: Annotated[
        list[str] | None, typer.Option(help="A creation that does not exist; may be repeated.", metavar="NAME")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the state with these answers here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The unfinished creations for machines.")] = False,
) -> None:
    """What a `pulumi up` that was killed had begun, and a state that knows what came of it."""
    from headwater.cli.places import console, write_json

    exported = _read(state)
    creations = begun(exported)
    answers: dict[str, str | None] = dict.fromkeys(absent or [])
    if "" in answers:
        raise Refusal([Fault("--absent", "", "It names no creation.", "Say which one does not exist.")])
    for answer in found or []:
        name, _, number = (part.strip() for part in answer.partition("="))
        if not name or not number or name in answers:
            raise Refusal([Fault("--found", answer, "Each name gets one answer, NAME=ID or --absent NAME.", "")])
        answers[name] = number
    screen = console()
    if out is not None:
        _write(resumed(exported, answers), out)
    elif answers:
        raise Refusal([Fault("--out", "", "There are answers and no place for the state.", "Add --out FILE.")])
    if as_json:
        write_json([asdict(item) for item in creations])
    elif out is not None:
        screen.print(f"written; next: pulumi stack import --file {out}, then pulumi refresh, then pulumi up")
    else:
        for item in creations:
            screen.print(f"{item.name}   {item.type}   look for {item.look_for or item.urn}")
        if not creations:
            screen.print("no creation is unfinished; pulumi up goes on from here")

"""The resources behind a plan: counted by room, or all of them as a tree."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from headwater.preview.graph import STACK_TYPE, Graph, Resource
from headwater.preview.rooms import rooms

TITLE = "RESOURCES"


def resources_line(graph: Graph, *, full: bool, width: int = 0) -> Text:
    """``RESOURCES  +187   network 31 · cluster 24 · ...``, the same every time.

    Args:
        graph: what is counted.
        full: whether the tree follows.
        width: of the terminal; a room and its number stay on one line. 0 for a pipe: all on one line.
    """
    counted = rooms(graph)
    total = sum(len(found) for found in counted.values())
    head = f"  +{total}   "
    lines = [""]
    for place, (room, found) in enumerate(counted.items()):
        part = f"{room} {len(found)}" + (" · " if place < len(counted) - 1 else "")
        if width and lines[-1] and len(TITLE + head + lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    body = ("\n" + " " * len(TITLE + head)).join(line.rstrip() for line in lines)
    return Text.assemble((TITLE, "bold"), head, body, ("" if full else "   (--full lists them)", "dim"))


def notes(graph: Graph) -> list[Text]:
    """What the engine has to say, each sentence once with the resources it is about."""
    about: dict[str, list[str]] = {}
    for message in graph.messages:
        names = about.setdefault(message.text, [])
        if message.urn:
            names.append(message.urn.rsplit("::", 1)[-1])
    return [
        Text.assemble(("NOTE  ", "bold"), f"{', '.join(names)}: " if names else "", text)
        for text, names in about.items()
    ]


def resource_tree(graph: Graph, screen: Console) -> None:
    """Print every resource under its parent."""
    children: dict[str, list[Resource]] = {}
    for resource in graph.resources:
        children.setdefault(resource.parent, []).append(resource)
    root = next((r for r in graph.resources if r.type == STACK_TYPE), None)
    tree = Tree(Text(f"{graph.project}-{graph.stack}", style="bold"), guide_style="dim")
    _grow(tree, root.urn if root else "", children)
    screen.print(tree)


def _grow(tree: Tree, urn: str, children: dict[str, list[Resource]]) -> None:
    for resource in children.get(urn, []):
        label = Text.assemble(
            resource.name, "  ", (resource.type, "dim"), (" protected" if resource.protect else "", "yellow")
        )
        _grow(tree.add(label), resource.urn, children)

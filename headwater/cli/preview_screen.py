"""The resources behind a plan: counted by room, or all of them as a tree."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from headwater.preview.graph import STACK_TYPE, Graph, Resource
from headwater.preview.rooms import rooms


def resources_line(graph: Graph, *, full: bool) -> Text:
    """``RESOURCES  +187   network 31 · cluster 24 · ...``, the same every time."""
    counted = rooms(graph)
    total = sum(len(found) for found in counted.values())
    parts = " · ".join(f"{room} {len(found)}" for room, found in counted.items())
    return Text.assemble(
        ("RESOURCES", "bold"), f"  +{total}   {parts}", ("" if full else "   (--full lists them)", "dim")
    )


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

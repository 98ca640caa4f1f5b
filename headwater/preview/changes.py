"""What differs between two graphs: added, changed, replaced, removed resources, and in which properties."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headwater.preview.force_new import force_new
from headwater.preview.graph import STACK_TYPE, Graph, Resource

Kind = Literal["added", "changed", "replaced", "removed"]
ABSENT = "(absent)"


@dataclass(frozen=True)
class Property:
    """One property that differs; both sides as text."""

    path: str
    before: str
    after: str
    replaces: bool


@dataclass(frozen=True)
class Change:
    """One resource that differs."""

    kind: Kind
    urn: str
    type: str
    name: str
    properties: tuple[Property, ...] = ()


def changes(before: Graph, after: Graph) -> tuple[Change, ...]:
    """Every resource that differs, sorted by kind's weight and URN; an alias keeps a renamed resource the same."""
    old = {r.urn: r for r in before.resources if r.type != STACK_TYPE}
    found: list[Change] = []
    kept: set[str] = set()
    for resource in after.resources:
        if resource.type == STACK_TYPE:
            continue
        former = next((urn for urn in (resource.urn, *resource.aliases) if urn in old), None)
        if former is None:
            found.append(Change("added", resource.urn, resource.type, resource.name))
            continue
        kept.add(former)
        differing = tuple(_properties(old[former], resource))
        if differing:
            kind: Kind = "replaced" if any(p.replaces for p in differing) else "changed"
            found.append(Change(kind, resource.urn, resource.type, resource.name, differing))
    found += [Change("removed", r.urn, r.type, r.name) for urn, r in old.items() if urn not in kept]
    weight = {"replaced": 0, "removed": 1, "added": 2, "changed": 3}
    return tuple(sorted(found, key=lambda c: (weight[c.kind], c.urn)))


def _properties(old: Resource, new: Resource) -> Iterator[Property]:
    replacing = (*force_new(new.type), *new.replace_on_changes)
    for path, before, after in _walk(old.inputs, new.inputs, ""):
        if not _under(path, new.ignore_changes):
            yield Property(path, before, after, _under(path, replacing))
    for name in ("protect", "retain_on_delete"):
        if getattr(old, name) != getattr(new, name):
            yield Property(name, str(getattr(old, name)).lower(), str(getattr(new, name)).lower(), replaces=False)
    if old.provider != new.provider and new.custom:
        yield Property("provider", _short(old.provider), _short(new.provider), replaces=True)


def _walk(old: Any, new: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            below = f"{path}.{key}" if path else str(key)
            yield from _walk(old.get(key, ABSENT), new.get(key, ABSENT), below)
    elif (
        isinstance(old, Sequence)
        and isinstance(new, Sequence)
        and not isinstance(old, str)
        and not isinstance(new, str)
    ):
        keyed = _by_name(old), _by_name(new)
        if keyed[0] is not None and keyed[1] is not None:
            yield from _walk(keyed[0], keyed[1], path)
        elif len(old) == len(new):
            for place, (a, b) in enumerate(zip(old, new, strict=True)):
                yield from _walk(a, b, f"{path}[{place}]")
        elif list(old) != list(new):
            yield path, _show(old), _show(new)
    elif old != new:
        yield path, _show(old), _show(new)


def _by_name(items: Sequence[Any]) -> dict[str, Any] | None:
    """A list of named things as a mapping, so that one more in front does not make all differ."""
    if items and all(isinstance(item, Mapping) and isinstance(item.get("name"), str) for item in items):
        named = {item["name"]: item for item in items}
        return named if len(named) == len(items) else None
    return None


def _under(path: str, roots: Sequence[str]) -> bool:
    return any(
        re.fullmatch(re.escape(root).replace(r"\[\*\]", r"(?:\[\d+\]|\.[^.]+)") + r"(?:[.\[].*)?", path)
        for root in roots
    )


def _show(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(str(text).split())
    return text if len(text) <= 80 else text[:60] + f"… ({len(text)} characters)"


def _short(provider: str) -> str:
    return provider.split("::")[-2] if "::" in provider else provider

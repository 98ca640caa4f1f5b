"""What differs between two graphs: added, changed, replaced, removed resources, and in which properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from headwater.preview.compared import at, differing, short, under
from headwater.preview.force_new import force_new, frozen
from headwater.preview.graph import STACK_TYPE, Graph, Resource
from headwater.preview.wire import SECRET, UNKNOWN, walk

Kind = Literal["added", "changed", "replaced", "removed"]
WEIGHT: dict[Kind, int] = {"replaced": 0, "removed": 1, "added": 2, "changed": 3}


@dataclass(frozen=True)
class Property:
    """One property that differs; both sides as text.

    Attributes:
        replaces: the resource is made anew for it.
        refused: the API server keeps the old value, and the provider does not replace: the update fails.
    """

    path: str
    before: str
    after: str
    replaces: bool = False
    refused: bool = False


@dataclass(frozen=True)
class Change:
    """One resource that differs.

    Attributes:
        protected: the stack refuses to delete it, so to replace it, too.
        cause: URN of the resource whose replacement makes this one be replaced; empty when its own inputs do.
    """

    kind: Kind
    urn: str
    type: str
    name: str
    properties: tuple[Property, ...] = ()
    protected: bool = False
    cause: str = ""


def changes(before: Graph, after: Graph) -> tuple[Change, ...]:
    """Every resource that differs, sorted by kind's weight and URN.

    An alias keeps a renamed resource the same. A replacement reaches what hangs on it: what the replaced resource
    alone can tell (its id) is another value afterwards.
    """
    old = {r.urn: r for r in before.resources if r.type != STACK_TYPE}
    new = {r.urn: r for r in after.resources if r.type != STACK_TYPE}
    former = {urn: next((u for u in (urn, *r.aliases) if u in old), "") for urn, r in new.items()}
    own = {
        urn: list(_own(old[was], new[urn], _mutable(new.get(new[urn].provider)))) for urn, was in former.items() if was
    }
    causes = _spread(new, own)
    found = [
        _kept(old[former[urn]], r, own[urn], causes) if former[urn] else Change("added", r.urn, r.type, r.name)
        for urn, r in new.items()
    ]
    gone = old.keys() - set(former.values())
    found += [Change("removed", r.urn, r.type, r.name, protected=r.protect) for u, r in old.items() if u in gone]
    real = [c for c in found if c.properties or c.kind in ("added", "removed")]
    return tuple(sorted(real, key=lambda c: (WEIGHT[c.kind], c.urn)))


def _kept(old: Resource, new: Resource, properties: list[Property], causes: Mapping[str, str]) -> Change:
    kind: Kind = "replaced" if any(p.replaces for p in properties) else "changed"
    cause = causes.get(new.urn, "")
    return Change(
        kind,
        new.urn,
        new.type,
        new.name,
        tuple(properties),
        protected=old.protect and new.protect,
        cause="" if cause == new.urn else cause,
    )


def _own(old: Resource, new: Resource, mutable: frozenset[str]) -> Iterator[Property]:
    """What differs in the resource itself."""
    replacing = (*force_new(new.type, mutable), *new.replace_on_changes)
    for path, before, after in differing(old.inputs, new.inputs):
        if not under(path, new.ignore_changes):
            kept = under(path, frozen(new.type))
            yield Property(path, before, after, replaces=under(path, replacing), refused=kept)
    for name in ("protect", "retain_on_delete", "delete_before_replace", "deleted_with", "timeouts"):
        was, now = getattr(old, name), getattr(new, name)
        if was != now:
            yield Property(name, _word(was), _word(now))
    if old.provider != new.provider and new.custom:
        yield Property("provider", _word(old.provider), _word(new.provider), replaces=True)


def _spread(new: Mapping[str, Resource], own: dict[str, list[Property]]) -> dict[str, str]:
    """Let replacements reach what hangs on them; adds to ``own``.

    Returns:
        For each replaced resource, the one where it began: itself when nothing it hangs on is replaced.
    """
    replaced = {urn for urn, found in own.items() if any(p.replaces for p in found)}
    above: dict[str, str] = {}
    grown = True
    while grown:
        grown = False
        for urn in sorted(own):
            for path, origin, replaces in _following(new[urn], replaced, new) if new[urn].custom else ():
                if path not in {p.path for p in own[urn]}:
                    before = "" if path == "provider" else UNKNOWN
                    own[urn].append(Property(path, before, f"new {new[origin].name}", replaces=replaces))
                if replaces:
                    above.setdefault(urn, origin)
                    grown = grown or urn not in replaced
                    replaced.add(urn)
    return {urn: _beginning(urn, above) for urn in replaced}


def _beginning(urn: str, above: Mapping[str, str]) -> str:
    while urn in above:
        urn = above[urn]
    return urn


def _following(resource: Resource, replaced: set[str], new: Mapping[str, Resource]) -> Iterator[tuple[str, str, bool]]:
    """Properties whose value comes from a replaced resource: path, that resource, whether it forces replacement."""
    if resource.provider in replaced:
        yield "provider", resource.provider, True
    replacing = (*force_new(resource.type, _mutable(new.get(resource.provider))), *resource.replace_on_changes)
    for key, urns in sorted(resource.property_dependencies.items()):
        origin = next((urn for urn in urns if urn in replaced), "")
        if not origin or under(key, resource.ignore_changes) or not _open(resource.inputs.get(key)):
            continue
        forced = any(_open(found) for path in replacing if _top(path) == key for found in at(resource.inputs, path))
        yield key, origin, forced


def _open(value: Any) -> bool:
    """Whether any part is not known, or not shown."""
    return any(part in (UNKNOWN, SECRET) for part in walk(value) if isinstance(part, str))


def _mutable(provider: Resource | None) -> frozenset[str]:
    """Kinds that a Kubernetes provider was told to change in place."""
    inputs = provider.inputs if provider else {}
    flags = {"ConfigMap": "enableConfigMapMutable", "Secret": "enableSecretMutable"}
    return frozenset(kind for kind, flag in flags.items() if str(inputs.get(flag, "")).lower() == "true")


def _top(path: str) -> str:
    return path.replace("[", ".").split(".")[0]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {text}" for key, text in value.items()) or "none"
    return short(value) or "none"

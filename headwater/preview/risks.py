"""What can go wrong with a change, as sentences: restarts, reservations, replacements, protection, tightness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headwater.preview.changes import Change
from headwater.preview.snapshot import Snapshot

SERVERS = ("Deployment", "LeaderWorkerSet", "DisaggregatedSet", "DynamoGraphDeployment")

VPC, CLUSTER = "aws:ec2/vpc:Vpc", "aws:eks/cluster:Cluster"


def risks(before: Snapshot, after: Snapshot, found: Sequence[Change]) -> list[str]:
    """Sentences for the reviewer, most serious first; empty when there is nothing to say."""
    if not after.exists:
        return ["the whole environment goes: every model, node and cluster resource"] if before.exists else []
    told = [*_gone(before.plan, after.plan), *_replaced(found), *_refused(found), *_unprotected(found)]
    if before.exists:
        told += [
            *_region(before.plan, after.plan),
            *_restarts(before.plan, after.plan, found),
            *_stack(before.plan, after.plan),
        ]
    told += [*_reservations(before.plan, after.plan), *_tight(after.plan), *_warnings(before.plan, after.plan)]
    return list(dict.fromkeys(told))


def _gone(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    names = {m["name"] for m in after["models"]}
    for model in before.get("models", ()):
        if model["name"] not in names:
            yield f"{model['name']} is no longer served"


def _replaced(found: Sequence[Change]) -> Iterator[str]:
    """Each replacement where it begins, with the number it reaches; what is protected against it is said."""
    followers = Counter(c.cause for c in found if c.cause)
    for change in found:
        if change.kind != "replaced" or change.cause:
            continue
        why = ", ".join(p.path for p in change.properties if p.replaces)
        rest = followers[change.urn]
        more = f", and with it {rest} other resource{'s' if rest > 1 else ''}" if rest else ""
        yield f"{change.name} is replaced ({why}){more}"
    replaced = {c.type for c in found if c.kind == "replaced"}
    if VPC in replaced and CLUSTER not in replaced and any(c.type == CLUSTER for c in found):
        yield "EKS does not move a cluster to another VPC: this change needs a new cluster, under another name"
    kept = [c.name for c in found if c.protected and c.kind in ("replaced", "removed")]
    if kept:
        yield f"protected, so `pulumi up` stops there until `protect` goes: {', '.join(kept)}"


def _refused(found: Sequence[Change]) -> Iterator[str]:
    for change in found:
        paths = [p.path for p in change.properties if p.refused]
        if paths and change.kind == "changed":
            yield f"the API server refuses another {', '.join(paths)} of {change.name}: give the object another name"


def _region(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    if before["region"] != after["region"]:
        yield f"the region changes from {before['region']} to {after['region']}: every AWS resource is made anew"


def _unprotected(found: Sequence[Change]) -> Iterator[str]:
    for change in found:
        if any(p.path == "protect" and p.after == "false" for p in change.properties):
            yield f"{change.name} loses its protection"


def _restarts(before: Mapping[str, Any], after: Mapping[str, Any], found: Sequence[Change]) -> Iterator[str]:
    """A model restarts when one of its workloads changes in its pod template."""
    olds = {m["name"] for m in before["models"]}
    changed = [c for c in found if c.kind != "removed" and c.type.rsplit(":", 1)[1] in SERVERS and _rolls(c)]
    for model in after["models"]:
        name = model["name"]
        if name in olds and any(_belongs(c.name, name) for c in changed):
            minutes = max(role["startup_seconds"] for role in model["roles"]) / 60
            yield f"{name} restarts (at most {minutes:.0f} min each replica, one at a time)"


def _rolls(change: Change) -> bool:
    only_count = all(p.path.endswith("replicas") for p in change.properties)
    return change.kind in ("added", "replaced") or (bool(change.properties) and not only_count)


def _belongs(resource: str, model: str) -> bool:
    return f"-{model}-" in f"-{resource}-"


def _stack(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    if before["stack"] != after["stack"]:
        yield f"the serving stack changes from {before['stack']} to {after['stack']}: every model server is made anew"


def _reservations(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    olds = {p["name"]: p for p in before.get("pools", ())}
    for pool in after["pools"]:
        reserved, now = pool["reserved_nodes"], pool["nodes_now"]
        was = olds.get(pool["name"])
        if "reserved" in pool["buy"] and now > reserved and (was is None or was["nodes_now"] != now):
            gpus = pool["gpus_per_node"]
            name = pool["accelerator"].upper()
            yield f"{now * gpus} {name} exceed the reservation: {(now - reserved) * gpus} on demand"


def _tight(after: Mapping[str, Any]) -> Iterator[str]:
    for model in after["models"]:
        if any(role["memory"]["verdict"] == "tight" for role in model["roles"]):
            yield f"{model['name']} is tight: it may not hold the context × users asked"


def _warnings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Warnings of the plan that were not there before."""
    known = set(_all_warnings(before))
    yield from (text for text in _all_warnings(after) if text not in known)


def _all_warnings(plan: Mapping[str, Any]) -> list[str]:
    own = [f"{m['name']}: {text}" for m in plan.get("models", ()) for text in m["warnings"]]
    return [*plan.get("warnings", ()), *own]

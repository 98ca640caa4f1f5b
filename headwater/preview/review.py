"""What a reviewer must not miss: money, GPUs, users, risk first; the resources folded. Markdown, always the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from headwater.preview.changes import Change, changes
from headwater.preview.risks import risks
from headwater.preview.snapshot import Snapshot

Model = Mapping[str, Any]
SIGN = {"added": "+", "changed": "~", "replaced": "±", "removed": "−"}
MOST_PROPERTIES = 6
DETAILS = ("`--", "KV cache", "fit")
"""Facts of a model that matter when they change, not when the whole model comes or goes."""


def review(before: Snapshot, after: Snapshot) -> str:
    """The comment on a change of one stack."""
    stack = title(before, after)
    if not before.exists and not after.exists:
        return f"### {stack}: there is no such stack on either side\n"
    found = changes(before.graph, after.graph)
    rows = list(_rows(before.plan, after.plan))
    if not found and not rows and _money(before.plan) == _money(after.plan):
        return f"### {stack}: no change\n"
    parts = [f"### {stack}: {_headline(before, after, found)}"]
    if rows:
        parts.append("\n".join(["| model | | before | after |", "|---|---|---|---|", *rows]))
    told = risks(before, after, found)
    if told:
        parts.append("**Risks** · " + " · ".join(told))
    parts.append(_resources(found))
    return "\n\n".join(parts) + "\n"


def title(before: Snapshot, after: Snapshot) -> str:
    """The environment; both names when two environments are compared."""
    if not (before.exists and after.exists):
        return after.stack if after.exists else before.stack
    return after.stack if before.stack == after.stack else f"{before.stack} → {after.stack}"


def review_json(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """The same facts for machines."""
    found = changes(before.graph, after.graph)
    return {
        "format": "headwater.diff/v1",
        "stack": title(before, after),
        "dollarsPerHour": {"before": _money(before.plan), "after": _money(after.plan)},
        "gpus": {"before": dict(sorted(_gpus(before.plan).items())), "after": dict(sorted(_gpus(after.plan).items()))},
        "risks": risks(before, after, found),
        "resources": [
            {
                "kind": c.kind,
                "urn": c.urn,
                "type": c.type,
                "name": c.name,
                "cause": c.cause,
                "protected": c.protected,
                "properties": [
                    {
                        "path": p.path,
                        "before": p.before,
                        "after": p.after,
                        "replaces": p.replaces,
                        "refused": p.refused,
                    }
                    for p in c.properties
                ],
            }
            for c in found
        ],
    }


def _headline(before: Snapshot, after: Snapshot, found: tuple[Change, ...]) -> str:
    if not after.exists:
        return f"removed (was {_money(before.plan):,.2f} $/h)"
    old, new = _money(before.plan), _money(after.plan)
    parts = [f"new, {new:,.2f} $/h"] if not before.exists else [_delta_money(old, new)]
    gpus_before, gpus_after = _gpus(before.plan), _gpus(after.plan)
    for name in sorted({*gpus_before, *gpus_after}):
        delta = gpus_after[name] - gpus_before[name]
        if delta:
            parts.append(f"{_signed(delta)} {name.upper()}")
    replaced = sum(c.kind == "replaced" for c in found)
    if replaced:
        parts.append(f"{replaced} replacement" + ("s" if replaced > 1 else ""))
    return ", ".join(parts)


def _delta_money(old: float, new: float) -> str:
    if round(old, 2) == round(new, 2):
        return f"cost unchanged ({new:,.2f} $/h)"
    sign = "+" if new > old else "−"
    return f"{sign}{abs(new - old):,.2f} $/h ({old:,.2f} → {new:,.2f})"


def _signed(value: int) -> str:
    return f"+{value}" if value > 0 else f"−{-value}"


def _money(plan: Model) -> float:
    return float(plan["cost"]["now"]) if plan else 0.0


def _gpus(plan: Model) -> Counter[str]:
    """GPUs of the nodes at the minimum of replicas, by accelerator."""
    counted: Counter[str] = Counter()
    for pool in plan.get("pools", ()):
        counted[pool["accelerator"]] += pool["nodes_now"] * pool["gpus_per_node"]
    return counted


def _rows(before: Model, after: Model) -> Iterator[str]:
    for fact, key in (
        ("serving stack", "stack"),
        ("Kubernetes", "kubernetes"),
        ("region", "region"),
        ("vLLM", "vllm"),
    ):
        old, new = before.get(key, ""), after.get(key, "")
        if old != new and before and after:
            yield _row("*all*", fact, old, new)
    olds = {m["name"]: m for m in before.get("models", ())}
    news = {m["name"]: m for m in after.get("models", ())}
    for name in [*news, *(n for n in olds if n not in news)]:
        facts = _facts(olds[name]) if name in olds else {}
        later = _facts(news[name]) if name in news else {}
        first = True
        whole = not (facts and later)
        for fact in [*later, *(t for t in facts if t not in later)]:
            old, new = facts.get(fact, ""), later.get(fact, "")
            if old != new and not (whole and fact.rpartition(": ")[2].startswith(DETAILS)):
                yield _row(name if first else "", fact, old, new)
                first = False
    for fact, of in (("system nodes", _system), ("platform, $/h", _platform)):
        if before and after and of(before) != of(after):
            yield _row("*all*", fact, of(before), of(after))


def _system(plan: Model) -> str:
    group = plan.get("system")
    return f"{group['nodes']} × {' or '.join(group['instances'])}" if group else ""


def _platform(plan: Model) -> str:
    return f"{plan['cost']['platform']:,.2f}"


def _row(model: str, title: str, old: str, new: str) -> str:
    cells = [model, title, old or "–", new or "–"]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _facts(model: Model) -> dict[str, str]:
    facts = {
        "checkpoint": f"{model['repository']} ({model['weight_format']})",
        "context": f"{model['context']:,}",
        "users": str(model["concurrency"]),
    }
    for role in model["roles"]:
        label = "" if role["role"] == "serve" else f"{role['role']}: "
        least, most = role["replicas_min"], role["replicas_max"]
        memory = role["memory"]
        facts |= {
            f"{label}runs on": _place(role),
            f"{label}replicas": str(least) if most == least else f"{least} (…{most})",
            f"{label}KV cache asked of free": f"{memory['kv_asked']:.1f} of {memory['kv']['expected']:.1f} GiB per GPU",
            f"{label}fit": memory["verdict"],
        }
        for argument in role["engine_args"]:
            value = argument["value"] if argument["value"] is not None else "on"
            facts[f"{label}`{argument['flag']}`"] = f"{value} (yours)" if argument["origin"] == "user" else str(value)
    facts["$/h"] = f"{model['dollars_per_hour']:,.2f}"
    return facts


def _place(role: Model) -> str:
    degrees = role["parallel"]
    words = [
        f"{name} {degrees[key]}"
        for name, key in (("TP", "tensor"), ("PP", "pipeline"), ("DP", "data"))
        if degrees[key] > 1
    ]
    if degrees["expert"]:
        words.append("EP")
    if degrees["decode_context"] > 1:
        words.append(f"DCP {degrees['decode_context']}")
    gpus = degrees["tensor"] * degrees["pipeline"] * degrees["data"]
    return ", ".join(
        [f"{gpus} × {role['accelerator'].upper()}", *([" × ".join(words)] if words else []), role["instance"]]
    )


def _resources(found: tuple[Change, ...]) -> str:
    counted = Counter(c.kind for c in found)
    line = "**Resources** " + " ".join(f"{SIGN[k]}{counted[k]}" for k in ("added", "changed", "replaced", "removed"))
    if not found:
        return line
    listed: list[str] = []
    for change in found:
        listed.append(f"{SIGN[change.kind]} {change.type} {change.name}")
        shown = sorted(change.properties, key=lambda p: not p.replaces)[:MOST_PROPERTIES]
        listed += [
            f"    {p.path}: {p.before} → {p.after}" + (" (forces replacement)" if p.replaces else "") for p in shown
        ]
        rest = len(change.properties) - len(shown)
        if rest:
            listed.append(f"    and {rest} more")
    body = "\n".join(listed).replace("```", "'''")
    return f"{line}\n\n<details><summary>every resource</summary>\n\n```\n{body}\n```\n\n</details>"

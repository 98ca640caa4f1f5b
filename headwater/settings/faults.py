"""Turn what pydantic found into sentences a person can act on."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from headwater.refusal import Fault, did_you_mean

SECRET_KEYS = frozenset({"token", "huggingFace"})


def faults_of(error: ValidationError, model: type[BaseModel]) -> list[Fault]:
    """Every fault of ``error``, one a key path, in the order found.

    Args:
        error: what validation of the stack file's content found.
        model: the settings class that was validated, to know the right keys.
    """
    best: dict[str, tuple[int, Fault]] = {}
    for detail in error.errors(include_url=False):
        keys, owner = _walk(detail["loc"], model)
        fault = _fault(detail, keys, owner)
        rank = len(detail["loc"]) * 2 + (detail["type"] == "value_error")  # our own sentence beats "this must be text"
        if fault.path not in best or best[fault.path][0] < rank:
            best[fault.path] = (rank, fault)
        elif best[fault.path][0] == rank:
            best[fault.path] = (rank, _either(best[fault.path][1], fault))
    found = [fault for _, fault in best.values()]
    return [f for f in found if not any(other.path.startswith((f"{f.path}.", f"{f.path}[")) for other in found)]


def _either(first: Fault, second: Fault) -> Fault:
    """One fault for a value that may be of two kinds and is of neither."""
    must = "This must be "
    one, other = first.why.removeprefix(must).removesuffix("."), second.why.removeprefix(must).removesuffix(".")
    if first.why == one or other in (second.why, one) or other in one.split(", or "):
        return first
    listed = "one of: "
    if one.startswith(listed) and other.startswith(listed):
        words = [*one.removeprefix(listed).split(", "), *other.removeprefix(listed).split(", ")]
        why = f"{must}{listed}{', '.join(dict.fromkeys(words))}."
    else:
        why = f"{must}{one}, or {other}."
    return replace(first, why=why, remedy=first.remedy or second.remedy)


def key_path(keys: Sequence[str | int]) -> str:
    """``headwater:serving.models[0].context`` for its parts."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else (f".{key}" if text else f"headwater:{key}")
    text = (
        text.replace("headwater:region", "aws:region")
        .replace("headwater:environment", "the stack's name")
        .replace("headwater:tags.values", "headwater:tags")
    )
    return text or "config"


def _classes(annotation: Any) -> Iterator[type[BaseModel]]:
    """Every settings class an annotation can be."""
    if get_origin(annotation) is Annotated:
        yield from _classes(get_args(annotation)[0])
    elif get_origin(annotation) in (types.UnionType, typing.Union, tuple, dict):
        for part in get_args(annotation):
            yield from _classes(part)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation


def _walk(loc: Sequence[str | int], model: type[BaseModel]) -> tuple[list[str | int], type[BaseModel] | None]:
    """The parts of ``loc`` that are keys of the file (pydantic adds names of union members), and the last class."""
    keys: list[str | int] = []
    classes: list[type[BaseModel]] = [model]
    annotation: Any = model
    for part in loc:
        if isinstance(part, int):
            keys.append(part)
            continue
        field = next(
            (f for c in classes for n, f in c.model_fields.items() if part in (n, f.alias)),
            None,
        )
        if field is not None:
            keys.append(field.alias or part)
            annotation = field.annotation
            classes = list(_classes(annotation)) or []
        elif _is_union_tag(part, annotation):
            classes = [c for c in classes if c.__name__ == part] or classes
        else:
            keys.append(part)
    return keys, classes[0] if classes else None


def _is_union_tag(part: str, annotation: Any) -> bool:
    if any(part == c.__name__ for c in _classes(annotation)):
        return True
    return "[" in part or part in {"str", "int", "bool", "float", "none", "constrained-str", "constrained-int"}


def _fault(detail: ErrorDetails, keys: list[str | int], owner: type[BaseModel] | None) -> Fault:
    kind, context = detail["type"], detail.get("ctx", {})
    path, value = key_path(keys), _shown(detail.get("input"), keys)
    if kind == "extra_forbidden":
        known = [f.alias or n for n, f in (owner.model_fields if owner else {}).items()]
        return Fault(path, "", f"There is no key `{keys[-1]}` here.", did_you_mean(str(keys[-1]), known))
    if kind == "missing":
        return Fault(path, "", "This key is required.", "Add it; docs/configuration.md shows an example.")
    if kind == "literal_error":
        allowed = [w.strip().strip("'") for w in str(context["expected"]).replace(" or ", ", ").split(",")]
        remedy = did_you_mean(str(detail["input"]), allowed)
        return Fault(
            path, value, f"This must be one of: {', '.join(allowed)}.", remedy if remedy.startswith("Did") else ""
        )
    if kind in {"value_error", "assertion_error"}:
        return Fault(path, value, _sentence(str(context.get("error", detail["msg"]))), "")
    if kind == "string_pattern_mismatch":
        return Fault(path, value, _pattern_sentence(str(keys[-1]), str(context["pattern"])), "")
    bounds = {
        "greater_than_equal": ("ge", "at least"),
        "less_than_equal": ("le", "at most"),
        "greater_than": ("gt", "above"),
    }
    if kind in bounds:
        name, words = bounds[kind]
        return Fault(path, value, f"This must be {words} {context[name]}.", "")
    if kind == "too_short":
        return Fault(path, value, f"At least {context['min_length']} needed, {context['actual_length']} given.", "")
    if kind == "string_too_long":
        return Fault(path, value, f"At most {context['max_length']} characters allowed.", "")
    if kind == "too_long":
        return Fault(path, value, f"At most {context['max_length']} allowed, {context['actual_length']} given.", "")
    expected = {
        "int": "a whole number", "float": "a number", "string": "text (in quotes if it looks like a number)",
        "bool": "true or false", "number": "a number, not infinite",
        "tuple": "a list", "list": "a list", "dict": "a mapping", "model": "a mapping",
    }  # fmt: skip
    for word, meaning in expected.items():
        if kind.startswith((f"{word}_", f"finite_{word}")):
            return Fault(path, value, f"This must be {meaning}.", "")
    return Fault(path, value, _sentence(detail["msg"]), "")


_PATTERNS = {
    "name": "lower-case letters, digits and dashes, starting with a letter; it becomes part of Kubernetes names",
    "environment": "lower-case letters, digits and dashes, at most 20, starting with a letter; the file's name says it",
    "region": "an AWS region such as us-east-2",
    "id": "a reservation id such as cr-0123456789abcdef0",
    "vpc": "a VPC id such as vpc-0123456789abcdef0",
    "mirror": "an S3 location such as s3://bucket/prefix",
    "repository": "a repository as org/name",
    "secretArn": "an ARN, arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME",
    "certificate": "an ARN, arn:aws:acm:REGION:ACCOUNT:certificate/ID",
    "host": "a DNS name in lower case, such as llm.example.com",
    "account": "an account id of 12 digits, in quotes",
    "retention": "a number with h, d, w or y, such as 15d (99999h, 9999d, 999w or 9y at most)",
    "charts": "an oci:// registry or a folder, without spaces",
    "manifests": "a folder or an http(s):// address, without spaces",
    "images": "a registry host with its prefix, such as registry.example.com/mirror, without https:// and a last slash",
    "zone": "a zone name such as us-east-2a",
}


def _pattern_sentence(key: str, pattern: str) -> str:
    if pattern.startswith("^arn") and key not in _PATTERNS:
        return "This must be an ARN: arn:aws:SERVICE:REGION:ACCOUNT:RESOURCE."
    if "\\d[a-z]$" in pattern:
        return f"This must be {_PATTERNS['zone']}."
    return f"This must be {_PATTERNS[key]}." if key in _PATTERNS else f"This must look like {pattern}."


def _shown(value: Any, keys: Sequence[str | int]) -> str:
    """A plain value as text; nothing for mappings, lists and whatever may be secret."""
    if value is None or isinstance(value, (dict, list, tuple)):
        return ""
    if any(key in SECRET_KEYS for key in keys):
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _sentence(text: str) -> str:
    text = text.removeprefix("Value error, ").strip()
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")

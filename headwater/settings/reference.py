"""The configuration reference, written from the settings classes themselves."""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from headwater.settings.base import Seconds, Version, duration
from headwater.settings.stack import ACCELERATORS, Settings

HEAD = """# Configuration

One environment is one file, `stacks/Pulumi.<environment>.yaml`, with one mapping, `config:`. Keys below stand there
as `headwater:<section>`; the region is `aws:region`. Every section is optional except `headwater:serving`; a default is
a catalogue value that `headwater plan` prints. An unknown key is refused, with the nearest right one.

For completion in an editor, put `# yaml-language-server: $schema=../docs/stack.schema.json` on top of a stack file.

This page is written from the settings classes by `make docs`; change those.
"""


def reference() -> str:
    """docs/configuration.md, whole."""
    parts = [HEAD]
    for name, field in Settings.model_fields.items():
        if name in ("environment", "region"):
            continue
        parts.append(f"\n## headwater:{field.alias or name}\n")
        if get_origin(field.annotation) is dict:
            parts.append(f"By accelerator, {' and '.join(f'`{key}`' for key in ACCELERATORS)}; under each:\n")
        for title, model in _models(field.annotation, ""):
            parts.append(_table(title, model))
    return "\n".join(parts).rstrip() + "\n"


def schema() -> dict[str, Any]:
    """JSON schema of a stack file, for editors."""
    own = Settings.model_json_schema(by_alias=True)
    properties = {f"headwater:{k}": v for k, v in own["properties"].items() if k not in ("environment", "region")}
    properties["aws:region"] = own["properties"]["region"]
    config = {
        "type": "object",
        "properties": properties,
        "required": ["aws:region", "headwater:serving"],
        "additionalProperties": True,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Headwater stack file",
        "type": "object",
        "properties": {"config": config},
        "required": ["config"],
        "$defs": own["$defs"],
    }


def schema_text() -> str:
    """The schema as stable text."""
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"


def _models(annotation: Any, title: str) -> Iterator[tuple[str, type[BaseModel]]]:
    """Every class an annotation leads to, with the key path under the section."""
    for model in _classes(annotation):
        yield title, model
        for name, field in model.model_fields.items():
            key = field.alias or name
            many = "[]" if "tuple" in str(get_origin(_bare(field.annotation))) else ""
            yield from _models(field.annotation, f"{title}.{key}{many}".lstrip("."))


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _classes(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    else:
        for part in get_args(annotation):
            yield from _classes(part)


def _table(title: str, model: type[BaseModel]) -> str:
    intro, texts = _doc(model)
    rows = [f"### {title}\n" if title else "", intro, "", "| key | value | default | meaning |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        meaning = texts.get(name, "")
        rows.append(f"| `{field.alias or name}` | {_type(field)} | {_default(field)} | {meaning} |")
    return "\n".join(row for row in rows if row is not None) + "\n"


def _doc(model: type[BaseModel]) -> tuple[str, dict[str, str]]:
    text = inspect.getdoc(model) or ""
    intro, _, attributes = text.partition("Attributes:")
    found: dict[str, str] = {}
    for match in re.finditer(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", attributes, re.MULTILINE):
        found[match.group(1)] = " ".join(match.group(2).split()).replace("|", "\\|").replace("``", "`")
    return " ".join(intro.split()).replace("``", "`"), found


def _type(field: FieldInfo) -> str:
    return _words(field.annotation, field.metadata).replace("|", "\\|")


def _words(annotation: Any, metadata: list[Any] | None = None) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation == Seconds or any("parse_duration" in repr(m) for m in metadata or ()):
        return "duration"
    if annotation == Version or any("_text_not_number" in repr(m) for m in metadata or ()):
        return "version, in quotes"
    if origin is Annotated:
        return _words(args[0], [part for m in args[1:] for part in getattr(m, "metadata", [m])])
    if origin is Literal:
        return ", ".join(f"`{a}`" for a in args)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_words(a, metadata) for a in args if a is not type(None))
    if origin is tuple:
        return f"list of {_words(args[0])}"
    if origin is dict:
        return f"mapping to {_words(args[1])}"
    if annotation is SecretStr:
        return "secret text"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping, below"
    names: dict[Any, str] = {str: "text", int: "whole number", float: "number", bool: "true, false", Any: "anything"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation))) + _bounds(annotation, metadata or [])


def _bounds(annotation: Any, metadata: list[Any]) -> str:
    """`` ≥ 1, ≤ 64``, of a number that has bounds."""
    signs = (("gt", ">"), ("ge", "≥"), ("le", "≤"))
    found = [f"{sign} {getattr(m, name):,}" for name, sign in signs for m in metadata if hasattr(m, name)]
    return " " + ", ".join(found) if found and annotation in {int, float} else ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ((), {}) or isinstance(value, BaseModel):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if _type(field) == "duration":
        return f"`{duration(value)}`"
    return "`[" + ", ".join(map(str, value)) + "]`" if isinstance(value, tuple) else f"`{value}`"

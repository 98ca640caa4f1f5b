"""The ``x-kubernetes-validations`` of a CRD, evaluated as the API server does: per node, transition rules included."""

import re
from functools import cache
from typing import Any

import cel

from tests.validators.cel_functions import FUNCTIONS
from tests.validators.structural import Schema, identity
from tests.validators.unknown import holds_unknown

_MISSING: Any = object()
_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while"
)


@cache
def program(expression: str) -> cel.Program:
    """The rule, compiled once; raises ValueError for what is no CEL."""
    return cel.compile(expression)


def escaped(name: str) -> str:
    """A property's name as CEL rules spell it (``namespace`` is ``__namespace__``)."""
    if _RESERVED.fullmatch(name):
        return f"__{name}__"
    for plain, word in (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")):
        name = name.replace(plain, word)
    return name


def cel_value(schema: Schema, value: Any) -> Any:
    """The value as CEL sees it: property names escaped, numbers in their declared type."""
    if isinstance(value, dict):
        known, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        other = extra if isinstance(extra, dict) else {}
        return {(escaped(k) if k in known else k): cel_value(known.get(k, other), v) for k, v in value.items()}
    if isinstance(value, list):
        return [cel_value(schema.get("items") or {}, v) for v in value]
    if schema.get("type") == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def errors(schema: Schema, value: Any, old: Any = _MISSING, path: str = "") -> list[str]:
    """Every rule the value breaks. Transition rules run where ``old`` has the same node; none on creation."""
    if value is None or not has_rules(schema):
        return []
    found = [
        message
        for rule in schema.get("x-kubernetes-validations", ())
        if (message := _broken(rule, schema, value, old, path)) is not None
    ]
    if isinstance(value, dict):
        known, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, item in value.items():
            sub = known.get(key) or (extra if isinstance(extra, dict) else None)
            if sub:
                before = old.get(key, _MISSING) if isinstance(old, dict) else _MISSING
                found += errors(sub, item, before, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and schema.get("items"):
        before_by_key = _by_key(schema, old)
        for index, item in enumerate(value):
            key = identity(schema, item) if schema.get("x-kubernetes-list-type") == "map" else None
            before = before_by_key.get(key, _MISSING) if key is not None else _MISSING
            found += errors(schema["items"], item, before, f"{path}[{index}]")
    return found


def _by_key(schema: Schema, old: Any) -> dict[str | None, Any]:
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map":
        return {}
    return {identity(schema, item): item for item in old}


def _broken(rule: dict[str, Any], schema: Schema, value: Any, old: Any, path: str) -> str | None:
    compiled = program(rule["rule"].strip())
    variables: dict[str, Any] = {"self": cel_value(schema, value)}
    if "oldSelf" in compiled.variables():
        before = None if old is _MISSING else cel_value(schema, old)
        if rule.get("optionalOldSelf"):
            variables["oldSelf"] = cel.OptionalValue.none() if old is _MISSING else cel.OptionalValue.of(before)
        elif old is _MISSING:
            return None
        else:
            variables["oldSelf"] = before
    context = cel.Context(variables, FUNCTIONS)
    try:
        result = compiled.execute(context)
    except (ValueError, TypeError, RuntimeError, LookupError, OverflowError, ZeroDivisionError) as error:
        result, reason = False, f"cannot be evaluated ({error}): {rule['rule']}"
    else:
        reason = rule.get("message", "").strip() or _said(rule, context) or f"breaks {rule['rule']}"
    if result is True or holds_unknown(value):
        return None
    return f"{path}{rule.get('fieldPath', '')}: {reason}"


def _said(rule: dict[str, Any], context: cel.Context) -> str:
    return str(program(rule["messageExpression"]).execute(context)) if "messageExpression" in rule else ""


_RULED: dict[int, tuple[Schema, bool]] = {}


def has_rules(schema: Schema) -> bool:
    """Whether a rule hangs anywhere below: most of a pod template has none, and need not be walked."""
    known = _RULED.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    extra = schema.get("additionalProperties")
    below = [*(schema.get("properties") or {}).values(), schema.get("items"), extra]
    answer = bool(schema.get("x-kubernetes-validations")) or any(
        has_rules(sub) for sub in below if isinstance(sub, dict)
    )
    _RULED[id(schema)] = (schema, answer)
    return answer

"""Placeholders: values a preview cannot know yet, or does not keep. They are right wherever a value may stand."""

import re
from typing import Any

UNKNOWN = "<unknown>"
SECRET = "<secret>"
WIRE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def is_unknown(value: Any) -> bool:
    """Whether the value is a placeholder, or a text with a placeholder in it."""
    return isinstance(value, str) and (UNKNOWN in value or WIRE in value or value == SECRET)


def holds_unknown(value: Any) -> bool:
    """Whether a placeholder hides anywhere inside."""
    if isinstance(value, dict):
        return any(holds_unknown(k) or holds_unknown(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return any(holds_unknown(v) for v in value)
    return is_unknown(value)


def number(value: Any, default: int) -> int:
    """The number, or the default where it is absent or not known yet."""
    return default if value is None or is_unknown(value) else int(value)


# Keys that hold a map or a list in Kubernetes objects: where such a part is hidden, there is nothing to look into.
_PARTS = re.compile(
    "metadata|spec|template|labels|annotations|selector|data|stringData|binaryData|containers|initContainers|env|envFrom|"
    "volumes|volumeMounts|ports|args|command|resources|requests|limits|tolerations|nodeSelector|affinity|rules|subjects|"
    "ingress|egress|securityContext|parameters|topologySpreadConstraints|imagePullSecrets|matchLabels|matchExpressions"
)


def without_hidden_parts(value: Any) -> Any:
    """A copy in which no placeholder stands for a whole map or list; placeholders for plain values stay."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if not (is_unknown(v) and _PARTS.fullmatch(str(k)))}
        return {k: without_hidden_parts(v) for k, v in kept.items()}
    if isinstance(value, list):
        return [without_hidden_parts(v) for v in value]
    return value

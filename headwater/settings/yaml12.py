"""Read YAML as Pulumi's own loader does: ``off`` is a word, a time stamp is text, only true and false are booleans."""

from __future__ import annotations

import re
from typing import Any

import yaml

from headwater.refusal import Fault, Refusal

MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """SafeLoader with the core schema of YAML 1.2; a key given twice is an error."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping whose keys are all different."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise Refusal([Fault(f"line {line}", "", "A key is one word here.", "Write `key: value`.")])
            if key_node.tag == MERGE:  # what the merged mapping brings may be given again
                continue
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise Refusal(
                    [Fault(str(key), "", f"The key stands twice, again in line {line}.", "Keep one of them.")]
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^(?:[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+)$", "-+0123456789"),
    (
        "float",
        r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+0123456789.",
    ),
    ("merge", r"^(?:<<)$", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def read_yaml(text: str) -> Any:
    """The document in ``text``.

    Raises:
        Refusal: it is not YAML, or a key stands twice.
    """
    try:
        document = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "unknown place"
        problem = error.problem or error.context or "it ends too early"
        if problem.startswith("but ") and error.context:
            problem = f"{error.context}, {problem}"
        raise Refusal([Fault(where, "", f"This is not YAML: {problem}.", "Mend that line.")]) from None
    except yaml.YAMLError as error:
        raise Refusal([Fault("the file", "", f"This is not YAML: {error}.", "Mend it.")]) from None
    except ValueError as error:
        raise Refusal([Fault("the file", "", f"A value cannot be read: {error}.", "Mend it.")]) from None
    _refuse_loops(document, ())
    return document


def _refuse_loops(value: Any, above: tuple[int, ...]) -> None:
    """An anchor may be used again, but not inside itself."""
    if not isinstance(value, (dict, list)):
        return
    if id(value) in above:
        raise Refusal([Fault("the file", "", "An anchor is used inside itself, without an end.", "Write it out.")])
    for item in value.values() if isinstance(value, dict) else value:
        _refuse_loops(item, (*above, id(value)))

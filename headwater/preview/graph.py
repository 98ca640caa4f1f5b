"""What a program would create: a frozen graph, the same for the same input, with a documented JSON form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

FORMAT = "headwater.preview/v1"
STACK_TYPE = "pulumi:pulumi:Stack"


def qualified_type(urn: str) -> str:
    """The type chain of a URN, ``parent$child``."""
    return urn.split("::")[2]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Names of the resource hooks bound to a resource, by the moment they run."""

    before_create: tuple[str, ...] = ()
    after_create: tuple[str, ...] = ()
    before_update: tuple[str, ...] = ()
    after_update: tuple[str, ...] = ()
    before_delete: tuple[str, ...] = ()
    after_delete: tuple[str, ...] = ()
    on_error: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource as the engine would plan it.

    Attributes:
        urn: its identity; see ``name`` and ``type`` for the last two parts.
        custom: managed by a provider; False for a component.
        parent: URN of the parent, empty for the stack and default providers.
        provider: URN of the provider, empty for components and providers.
        inputs: wire names; unknown parts are ``<unknown>``, secret parts ``<secret>``.
        outputs: what a component or the stack registered; empty for a custom resource.
        external: read, not managed (``X.get``).
        dependencies: URNs that must exist first, sorted.
        property_dependencies: the same by input property, only where there are any.
        aliases: former URNs.
        timeouts: ``create``, ``update``, ``delete``, ``read``, as written.
        additional_secrets: output properties that are secret.
        version: plugin version asked for.
    """

    urn: str
    type: str
    name: str
    custom: bool
    parent: str = ""
    provider: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    external: bool = False
    remote: bool = False
    dependencies: tuple[str, ...] = ()
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    protect: bool = False
    retain_on_delete: bool = False
    delete_before_replace: bool = False
    deleted_with: str = ""
    replace_with: tuple[str, ...] = ()
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    additional_secrets: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    timeouts: Mapping[str, str] = field(default_factory=dict)
    import_id: str = ""
    hooks: Hooks = Hooks()
    version: str = ""

    @property
    def package(self) -> str:
        """``aws``, ``kubernetes``, ``headwater``, ...; of a provider, what it provides for."""
        parts = self.type.split(":")
        return parts[2] if self.type.startswith("pulumi:providers:") else parts[0]

    @property
    def is_provider(self) -> bool:
        """Whether this is a provider, explicit or default."""
        return self.type.startswith("pulumi:providers:")

    def to_json(self) -> dict[str, Any]:
        """The resource as plain JSON; what is at its default is left out."""
        out: dict[str, Any] = {}
        for spec in fields(self):
            value = getattr(self, spec.name)
            if spec.name in _ALWAYS or value != getattr(_DEFAULT, spec.name):
                out[_camel(spec.name)] = _plain(value)
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Resource:
        """The resource that ``to_json`` wrote."""
        values: dict[str, Any] = {}
        for spec in fields(cls):
            value = data.get(_camel(spec.name))
            if value is None:
                continue
            if spec.name == "hooks":
                value = Hooks(**{f.name: tuple(value.get(_camel(f.name), ())) for f in fields(Hooks)})
            elif spec.name == "property_dependencies":
                value = {key: tuple(urns) for key, urns in value.items()}
            elif isinstance(value, list):
                value = tuple(value)
            values[spec.name] = value
        return cls(**values)


_DEFAULT = Resource(urn="", type="", name="", custom=False)
_ALWAYS = ("urn", "type", "name", "custom", "parent")


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


def _plain(value: Any) -> Any:
    if isinstance(value, Hooks):
        return {_camel(f.name): list(getattr(value, f.name)) for f in fields(Hooks) if getattr(value, f.name)}
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


@dataclass(frozen=True, slots=True)
class Question:
    """Something the program asked a provider, which a real preview would ask the cloud.

    Attributes:
        token: the function, e.g. ``aws:index/getPartition:getPartition``.
        args: as shown in a graph.
        answered: False when only the cloud can tell, so the answer is unknown here.
    """

    token: str
    args: str
    answered: bool


@dataclass(frozen=True, slots=True)
class Message:
    """A warning of the program or of the engine, about a resource or (empty URN) the whole."""

    urn: str
    text: str


@dataclass(frozen=True)
class Graph:
    """Every resource of a stack, sorted by URN.

    Attributes:
        outputs: what the stack exports.
        questions: what was asked of providers.
        messages: warnings.
    """

    project: str
    stack: str
    resources: tuple[Resource, ...]
    outputs: Mapping[str, Any] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    messages: tuple[Message, ...] = ()

    @cached_property
    def by_urn(self) -> Mapping[str, Resource]:
        """Resources by URN."""
        return {resource.urn: resource for resource in self.resources}

    @cached_property
    def children(self) -> Mapping[str, tuple[Resource, ...]]:
        """Resources by parent URN; those without a parent under the empty string."""
        found: dict[str, list[Resource]] = {}
        for resource in self.resources:
            found.setdefault(resource.parent, []).append(resource)
        return {urn: tuple(sorted(items, key=lambda r: (r.name, r.type))) for urn, items in found.items()}

    @property
    def root(self) -> Resource | None:
        """The stack itself."""
        return next((r for r in self.resources if r.type == STACK_TYPE), None)

    def of_type(self, token: str) -> tuple[Resource, ...]:
        """Resources of exactly this type."""
        return tuple(r for r in self.resources if r.type == token)

    def descendants(self, urn: str) -> Iterator[Resource]:
        """Everything below a resource, depth first."""
        for child in self.children.get(urn, ()):
            yield child
            yield from self.descendants(child.urn)

    def to_json(self) -> dict[str, Any]:
        """The graph as plain JSON, ``headwater.preview/v1``; docs/preview.md describes it."""
        return {
            "format": FORMAT,
            "project": self.project,
            "stack": self.stack,
            "resources": [resource.to_json() for resource in self.resources],
            "outputs": dict(self.outputs),
            "questions": [{"token": q.token, "args": q.args, "answered": q.answered} for q in self.questions],
            "messages": [{"urn": m.urn, "text": m.text} for m in self.messages],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Graph:
        """The graph that ``to_json`` wrote.

        Raises:
            ValueError: another format.
        """
        if data.get("format") != FORMAT:
            raise ValueError(f"not a {FORMAT} document, but {data.get('format')!r}")
        return cls(
            project=data["project"],
            stack=data["stack"],
            resources=tuple(Resource.from_json(item) for item in data["resources"]),
            outputs=data["outputs"],
            questions=tuple(Question(**item) for item in data["questions"]),
            messages=tuple(Message(**item) for item in data["messages"]),
        )

    def dumps(self) -> str:
        """The JSON text: sorted keys, two spaces, one newline at the end."""
        return json.dumps(self.to_json(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"

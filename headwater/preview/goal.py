"""What a program asks for when it registers a resource, as the engine works on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.proto.alias_pb2 import Alias
from pulumi.runtime.proto.callback_pb2 import Callback

from headwater.preview import wire
from headwater.preview.graph import STACK_TYPE, Hooks, qualified_type

PROVIDER_PREFIX = "pulumi:providers:"


@dataclass
class Goal:
    """One registration. Property values are on-the-wire values as plain Python; see ``headwater.preview.wire``."""

    type: str
    name: str
    parent: str
    custom: bool
    remote: bool = False
    external: bool = False
    props: dict[str, Any] = field(default_factory=dict)
    dependencies: set[str] = field(default_factory=set)
    property_dependencies: dict[str, set[str]] = field(default_factory=dict)
    provider: str = ""
    providers: dict[str, str] = field(default_factory=dict)
    protect: bool | None = None
    retain_on_delete: bool | None = None
    delete_before_replace: bool = False
    deleted_with: str = ""
    replace_with: Sequence[str] = ()
    ignore_changes: Sequence[str] = ()
    replace_on_changes: Sequence[str] = ()
    additional_secrets: Sequence[str] = ()
    aliases: Sequence[Alias] = ()
    timeouts: dict[str, str] = field(default_factory=dict)
    import_id: str = ""
    hooks: Hooks = field(default_factory=Hooks)
    version: str = ""
    download_url: str = ""
    transforms: Sequence[Callback] = ()

    @property
    def package(self) -> str:
        """The package that serves the type."""
        return self.type.split(":")[0]

    @property
    def is_provider(self) -> bool:
        """Whether this registers a provider."""
        return self.type.startswith(PROVIDER_PREFIX)


def from_request(request: resource_pb2.RegisterResourceRequest) -> Goal:
    """The goal of a registration request."""
    props = wire.read_struct(request.object)
    dependencies = set(request.dependencies)
    per_property = {key: set(deps.urns) for key, deps in request.propertyDependencies.items()}
    if not per_property and not request.remote:
        per_property = {key: set(dependencies) for key in props}
    return Goal(
        type=request.type,
        name=request.name,
        parent=request.parent,
        custom=request.custom,
        remote=request.remote,
        props=props,
        dependencies=dependencies,
        property_dependencies=per_property,
        provider=request.provider,
        providers=dict(request.providers),
        protect=request.protect if request.HasField("protect") else None,
        retain_on_delete=request.retainOnDelete if request.HasField("retainOnDelete") else None,
        delete_before_replace=request.deleteBeforeReplace,
        deleted_with=request.deletedWith,
        replace_with=tuple(request.replace_with),
        ignore_changes=tuple(request.ignoreChanges),
        replace_on_changes=tuple(request.replaceOnChanges),
        additional_secrets=tuple(request.additionalSecretOutputs),
        aliases=(*(Alias(urn=urn) for urn in request.aliasURNs), *request.aliases),
        timeouts=timeouts_of(request.customTimeouts),
        import_id=request.importId,
        hooks=hooks_of(request.hooks),
        version=request.version,
        download_url=request.pluginDownloadURL,
        transforms=tuple(request.transforms),
    )


def timeouts_of(message: resource_pb2.RegisterResourceRequest.CustomTimeouts) -> dict[str, str]:
    """The timeouts that are set."""
    found = {word: getattr(message, word) for word in ("create", "update", "delete", "read")}
    return {word: text for word, text in found.items() if text}


def hooks_of(message: resource_pb2.RegisterResourceRequest.ResourceHooksBinding) -> Hooks:
    """The hook names that are bound."""
    return Hooks(**{word: tuple(getattr(message, word)) for word in Hooks.__dataclass_fields__})


def make_urn(stack: str, project: str, parent: str, type_: str, name: str) -> str:
    """The URN of a resource; the stack's own type is left out of its children's chain."""
    chain = qualified_type(parent) if parent else ""
    qualified = f"{chain}${type_}" if chain and chain != STACK_TYPE else type_
    return f"urn:pulumi:{stack}::{project}::{qualified}::{name}"


def alias_urns(goal: Goal, stack: str, project: str) -> tuple[str, ...]:
    """The former URNs a goal names, in order, each once."""
    found: dict[str, None] = {}
    for alias in goal.aliases:
        if alias.urn:
            found[alias.urn] = None
            continue
        spec = alias.spec
        parent = "" if spec.noParent else (spec.parentUrn or goal.parent)
        urn = make_urn(
            spec.stack or stack, spec.project or project, parent, spec.type or goal.type, spec.name or goal.name
        )
        found[urn] = None
    return tuple(found)


def provider_urn(reference: str) -> str:
    """The URN in a provider reference ``urn::id``."""
    return reference.rpartition("::")[0]


def options_message(goal: Goal) -> resource_pb2.TransformResourceOptions:
    """The goal's options as a transform sees them."""
    message = resource_pb2.TransformResourceOptions(
        depends_on=sorted(goal.dependencies),
        ignore_changes=goal.ignore_changes,
        replace_on_changes=goal.replace_on_changes,
        version=goal.version,
        aliases=goal.aliases,
        provider=goal.provider,
        providers=goal.providers,
        plugin_download_url=goal.download_url,
        deleted_with=goal.deleted_with,
        replace_with=goal.replace_with,
        additional_secret_outputs=goal.additional_secrets,
    )
    setattr(message, "import", goal.import_id)
    if goal.protect is not None:
        message.protect = goal.protect
    if goal.retain_on_delete is not None:
        message.retain_on_delete = goal.retain_on_delete
    if goal.delete_before_replace:
        message.delete_before_replace = True
    if goal.timeouts:
        message.custom_timeouts.CopyFrom(resource_pb2.RegisterResourceRequest.CustomTimeouts(**goal.timeouts))
    if goal.hooks != Hooks():
        for word in Hooks.__dataclass_fields__:
            getattr(message.hooks, word).extend(getattr(goal.hooks, word))
    return message


def take_options(goal: Goal, message: resource_pb2.TransformResourceOptions) -> None:
    """Put options that a transform returned back into the goal."""
    goal.ignore_changes = tuple(message.ignore_changes)
    goal.replace_on_changes = tuple(message.replace_on_changes)
    goal.version = message.version
    goal.aliases = tuple(message.aliases)
    goal.provider = message.provider
    goal.providers = dict(message.providers)
    goal.download_url = message.plugin_download_url
    goal.deleted_with = message.deleted_with
    goal.replace_with = tuple(message.replace_with)
    goal.additional_secrets = tuple(message.additional_secret_outputs)
    goal.import_id = getattr(message, "import")
    goal.protect = message.protect if message.HasField("protect") else None
    goal.retain_on_delete = message.retain_on_delete if message.HasField("retain_on_delete") else None
    goal.delete_before_replace = message.delete_before_replace
    goal.timeouts = timeouts_of(message.custom_timeouts)
    goal.hooks = hooks_of(message.hooks)


def rebuild_dependencies(goal: Goal, depends_on: Sequence[str]) -> None:
    """After a transform of the resource's own: dependencies are what it returned, and what its values carry."""
    goal.dependencies = set(depends_on)
    goal.property_dependencies = {key: wire.dependencies_of(value) for key, value in goal.props.items()}


def merge_output_dependencies(goal: Goal) -> None:
    """Dependencies that output values carry, added to those of their property."""
    for key, value in goal.props.items():
        found = wire.dependencies_of(value)
        if found:
            goal.property_dependencies.setdefault(key, set()).update(found)


def plain_inputs(props: Mapping[str, Any]) -> dict[str, Any]:
    """Properties as a provider sees them: no output values."""
    return {key: wire.without_dependencies(value) for key, value in props.items()}

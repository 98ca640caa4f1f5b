"""Resources registered so far, and the rules by which the engine admits the next one.

The rules follow Pulumi's engine (pulumi/pulumi, ``pkg/resource/deploy``): URNs, what children inherit, default
providers, and what a preview knows of a resource's outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.preview import wire
from headwater.preview.computed import computed_parts
from headwater.preview.errors import PreviewError
from headwater.preview.goal import PROVIDER_PREFIX, Goal, alias_urns, make_urn, plain_inputs, provider_urn
from headwater.preview.graph import STACK_TYPE, Resource
from headwater.preview.project import DENIED
from headwater.refusal import Fault, Refusal


@dataclass
class State:
    """A registered resource: its goal as admitted, and what a preview knows of it."""

    urn: str
    goal: Goal
    inputs: dict[str, Any]
    identifier: str
    outputs: dict[str, Any]
    registered: dict[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()


class Registry:
    """Every resource of one evaluation.

    Args:
        project: name of the Pulumi project.
        stack: name of the stack.
        config: values by namespaced key, as text; a package's own become its default provider's inputs.
        secret_keys: keys of ``config`` whose values are secret.
        denied: packages that must not have a default provider; ``*`` for all.
    """

    def __init__(
        self,
        project: str,
        stack: str,
        config: Mapping[str, str],
        secret_keys: frozenset[str] = frozenset(),
        denied: frozenset[str] = frozenset(),
    ) -> None:
        self.project = project
        self.stack = stack
        self.config = config
        self.secret_keys = secret_keys
        self.denied = denied
        self.states: dict[str, State] = {}
        self.warn: Callable[[str, str], None] = lambda _urn, _text: None

    def inherit(self, goal: Goal) -> None:
        """Fill what the goal leaves open from its parent's goal.

        Raises:
            PreviewError: the parent is not registered.
        """
        if not goal.parent:
            return
        parent = self.states.get(goal.parent)
        if parent is None:
            raise PreviewError(f"could not find parent resource {goal.parent}")
        above = parent.goal
        goal.deleted_with = goal.deleted_with or above.deleted_with
        goal.protect = above.protect if goal.protect is None else goal.protect
        goal.retain_on_delete = above.retain_on_delete if goal.retain_on_delete is None else goal.retain_on_delete
        if not goal.provider and above.custom and _serves(above.provider, goal.package):
            goal.provider = above.provider
        if goal.custom or goal.remote:
            goal.provider = goal.provider or goal.providers.get(goal.package) or above.providers.get(goal.package, "")
        if not goal.custom and not above.custom:
            goal.providers = {**above.providers, **goal.providers}

    def admit(self, goal: Goal) -> State:
        """Register a goal whose transforms have run.

        Raises:
            PreviewError: its URN is taken.
            Refusal: it needs a default provider that the stack denies.
        """
        urn = make_urn(self.stack, self.project, goal.parent, goal.type, goal.name)
        if urn in self.states:
            raise PreviewError(f"duplicate resource URN `{urn}`; give one of the two another name")
        if goal.is_provider:
            if goal.version:
                goal.props.setdefault("version", goal.version)
            if goal.download_url:
                goal.props.setdefault("pluginDownloadURL", goal.download_url)
        elif goal.custom or goal.remote:
            goal.provider = goal.provider or self.default_provider(goal.package, goal.version, goal.download_url)
        inputs = plain_inputs(goal.props)
        identifier, outputs = self._known(goal, inputs)
        state = State(urn, goal, inputs, identifier, outputs, aliases=alias_urns(goal, self.stack, self.project))
        self.states[urn] = state
        if not goal.custom:
            self._warn_of_ignored(state)
        return state

    def default_provider(self, package: str, version: str, download_url: str) -> str:
        """Reference of the default provider of a package, registered on first use.

        Raises:
            Refusal: the stack denies default providers for this package.
        """
        if package != "pulumi" and self.denied & {"*", package}:
            why = f"A resource or question of `{package}` has no provider of its own, and the default one is disabled."
            raise Refusal([Fault(DENIED, ", ".join(sorted(self.denied)), why, f"Leave `{package}` out of the list.")])
        suffix = "".join("_" + part for part in version.replace("-", ".").replace("+", ".").split(".") if part)
        goal = Goal(PROVIDER_PREFIX + package, f"default{suffix}", "", custom=True, version=version)
        goal.download_url = download_url
        for key, text in self.config.items():
            namespace, _, name = key.partition(":")
            if namespace == package:
                goal.props[name] = wire.secret(text) if key in self.secret_keys else text
        urn = make_urn(self.stack, self.project, "", goal.type, goal.name)
        if urn not in self.states:
            self.admit(goal)
        return f"{urn}::{wire.UNKNOWN_SENTINEL}"

    def configured(self, reference: str) -> bool:
        """Whether a provider's configuration is fully known, so that it would answer in a preview."""
        state = self.states.get(provider_urn(reference))
        return state is not None and not wire.has_unknown(state.inputs)

    def _known(self, goal: Goal, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Id and outputs a first preview can tell; a missing output is unknown to the program."""
        if goal.is_provider:
            return wire.UNKNOWN_SENTINEL, inputs
        if not goal.custom or not self.configured(goal.provider):
            return goal.import_id, {}
        return goal.import_id, computed_parts(goal.type, inputs)

    def _warn_of_ignored(self, state: State) -> None:
        goal = state.goal
        ignored = {
            "ignoreChanges": bool(goal.ignore_changes),
            "customTimeouts": bool(goal.timeouts),
            "additionalSecretOutputs": bool(goal.additional_secrets),
            "replaceOnChanges": bool(goal.replace_on_changes),
            "replaceWith": bool(goal.replace_with),
        }
        for option, is_set in ignored.items():
            if is_set:
                self.warn(state.urn, f"The option '{option}' has no effect on a component resource.")

    def resources(self) -> tuple[Resource, ...]:
        """Everything registered, as a graph keeps it, sorted by URN."""
        return tuple(_resource(self.states[urn]) for urn in sorted(self.states))

    def stack_outputs(self) -> dict[str, Any]:
        """What the program exported."""
        root = next((s for s in self.states.values() if s.goal.type == STACK_TYPE), None)
        return {} if root is None else {key: wire.shown(root.registered[key]) for key in sorted(root.registered)}


def _serves(reference: str, package: str) -> bool:
    return bool(reference) and provider_urn(reference).split("::")[2].endswith(PROVIDER_PREFIX + package)


def _resource(state: State) -> Resource:
    goal = state.goal
    mask = {key: state.inputs[key] for key in sorted(state.inputs)}
    return Resource(
        urn=state.urn,
        type=goal.type,
        name=goal.name,
        custom=goal.custom,
        parent=goal.parent,
        provider=provider_urn(goal.provider) if goal.custom and not goal.is_provider else "",
        inputs={key: wire.shown(value) for key, value in mask.items()},
        outputs={key: wire.shown(state.registered[key]) for key in sorted(state.registered)},
        external=goal.external,
        remote=goal.remote,
        dependencies=tuple(sorted(goal.dependencies)),
        property_dependencies={
            key: tuple(sorted(urns)) for key, urns in sorted(goal.property_dependencies.items()) if urns
        },
        protect=bool(goal.protect),
        retain_on_delete=bool(goal.retain_on_delete),
        delete_before_replace=goal.delete_before_replace,
        deleted_with=goal.deleted_with,
        replace_with=tuple(sorted(goal.replace_with)),
        ignore_changes=tuple(goal.ignore_changes),
        replace_on_changes=tuple(goal.replace_on_changes),
        additional_secrets=tuple(goal.additional_secrets),
        aliases=state.aliases,
        timeouts=dict(sorted(goal.timeouts.items())),
        import_id=goal.import_id,
        hooks=goal.hooks,
        version=goal.version,
    )

"""The endpoint picker's configuration document, checked the way the pinned router checks it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, model_validator

from components.llmd.epp.parameters import Parameters, Part
from headwater.catalog.router import router_plugins

API_VERSION = "llm-d.ai/v1alpha1"
KIND = "EndpointPickerConfig"


class Plugin(Part):
    """One plugin instance.

    Attributes:
        type: its type; must be usable with the pinned router.
        name: of the instance, the type when unset.
        parameters: typed, None for the router's defaults.
    """

    type: str
    name: str | None = None
    parameters: Parameters | None = None

    @property
    def ref(self) -> str:
        """What others call it."""
        return self.name or self.type

    @model_validator(mode="after")
    def _known(self) -> Plugin:
        known = router_plugins()
        state = known.maturity(self.type)
        if state is None:
            raise ValueError(f"the router {known.router} has no plugin `{self.type}`")
        if state == "gone":
            raise ValueError(f"`{self.type}` is deprecated or removed; use `{known.gone[self.type]}`")
        if self.parameters is not None and self.parameters.plugin != self.type:
            raise ValueError(f"parameters of `{self.parameters.plugin}` were given to `{self.type}`")
        return self


def plugin(what: str | Parameters, name: str | None = None) -> Plugin:
    """An instance from a bare type, or from its parameters."""
    if isinstance(what, str):
        return Plugin(type=what, name=name)
    return Plugin(type=what.plugin, name=name, parameters=what)


class Use(Part):
    """A plugin in a profile; only scorers have a weight."""

    plugin_ref: str
    weight: Annotated[float | None, Field(gt=0)] = None


class Profile(Part):
    """What is run, in order, to choose one endpoint."""

    name: str
    plugins: tuple[Use, ...]


class Ref(Part):
    """A reference to a plugin."""

    plugin_ref: str


class Source(Part):
    """A source of facts about endpoints, and who reads it."""

    plugin_ref: str
    extractors: tuple[Ref, ...]


class DataLayer(Part):
    """Sources beside the default metrics."""

    sources: tuple[Source, ...]


class Band(Part):
    """A priority with its queue."""

    priority: int
    max_requests: Annotated[int | None, Field(ge=1)] = None
    fairness_policy_ref: str
    ordering_policy_ref: str


class FlowControlConfig(Part):
    """The queue in the router."""

    max_bytes: str
    max_requests: int
    default_request_ttl: Annotated[str, Field(alias="defaultRequestTTL")]
    saturation_detector: Ref
    default_priority_band: Band | None = None
    priority_bands: tuple[Band, ...]


class EndpointPickerConfig(Part):
    """The whole document.

    Attributes:
        allow_alpha: the opt-in flag is set; not part of the document.
    """

    plugins: tuple[Plugin, ...]
    scheduling_profiles: tuple[Profile, ...]
    data_layer: DataLayer | None = None
    flow_control: FlowControlConfig | None = None
    feature_gates: tuple[Literal["flowControl"], ...] = ()
    allow_alpha: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> EndpointPickerConfig:
        known = router_plugins()
        names = [p.ref for p in self.plugins]
        if doubled := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"plugin names are not unique: {', '.join(doubled)}")
        kinds = {p.ref: known.kind(p.type) for p in self.plugins}
        for ref in self._refs():
            if ref not in kinds:
                raise ValueError(f"`{ref}` is referred to but not declared")
        for profile in self.scheduling_profiles:
            for use in profile.plugins:
                if use.weight is not None and kinds[use.plugin_ref] != "scorer":
                    raise ValueError(f"profile `{profile.name}`: only scorers have a weight, not `{use.plugin_ref}`")
        handlers = [p.ref for p in self.plugins if kinds[p.ref] == "handler"]
        if len(self.scheduling_profiles) > 1 and len(handlers) != 1:
            raise ValueError("several profiles need exactly one profile handler")
        alpha = sorted(p.type for p in self.plugins if known.maturity(p.type) == "alpha")
        if alpha and not self.allow_alpha:
            raise ValueError(f"alpha plugins need the opt-in: {', '.join(alpha)}")
        if (self.flow_control is not None) != ("flowControl" in self.feature_gates):
            raise ValueError("flow control needs its feature gate, and the gate needs a configuration")
        return self

    def _refs(self) -> list[str]:
        found = [use.plugin_ref for profile in self.scheduling_profiles for use in profile.plugins]
        if self.data_layer is not None:
            found += [s.plugin_ref for s in self.data_layer.sources]
            found += [e.plugin_ref for s in self.data_layer.sources for e in s.extractors]
        if self.flow_control is not None:
            found.append(self.flow_control.saturation_detector.plugin_ref)
            for band in self.flow_control.priority_bands:
                found += [band.fairness_policy_ref, band.ordering_policy_ref]
        for p in self.plugins:
            if p.parameters is not None:
                values = p.parameters.model_dump(exclude_none=True)
                found += [v for k, v in values.items() if k.endswith("_producer_name")]
                found += list((values.get("deciders") or {}).values())
        return found

    @property
    def stateful(self) -> tuple[str, ...]:
        """Plugins that keep state of this process: with any, the picker runs alone."""
        known = router_plugins().stateful
        return tuple(sorted({p.type for p in self.plugins if p.type in known}))

    def document(self) -> dict[str, Any]:
        """The document, in the router's spelling."""
        body = self.model_dump(by_alias=True, exclude_none=True, exclude={"allow_alpha"}, serialize_as_any=True)
        if not self.feature_gates:
            body.pop("featureGates")
        return {"apiVersion": API_VERSION, "kind": KIND, **_plain(body)}

    def text(self) -> str:
        """The document as YAML; the same configuration gives the same text."""
        return yaml.safe_dump(self.document(), sort_keys=False, width=120)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if v != {} or k != "parameters"}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value

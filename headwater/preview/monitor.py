"""The resource monitor and engine of a preview: Pulumi's two gRPC services, as an object the SDK calls directly."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import engine_pb2, provider_pb2, resource_pb2
from pulumi.runtime.proto.callback_pb2 import Callback

from headwater.preview import wire
from headwater.preview.answers import ANSWERS, partition
from headwater.preview.callbacks import Callbacks
from headwater.preview.errors import PreviewError
from headwater.preview.goal import (
    Goal,
    from_request,
    merge_output_dependencies,
    provider_urn,
    rebuild_dependencies,
)
from headwater.preview.graph import STACK_TYPE, Message, Question
from headwater.preview.registry import Registry, State
from headwater.preview.remote import construct

_FEATURES = (
    "SECRETS",
    "RESOURCE_REFERENCES",
    "OUTPUT_VALUES",
    "ALIAS_SPECS",
    "REPLACEMENT_TRIGGER",
    "DELETED_WITH",
    "REPLACE_WITH",
    "TRANSFORMS",
    "INVOKE_TRANSFORMS",
    "RESOURCE_HOOKS",
    "ERROR_HOOKS",
    "INVOKE_DEPENDS_ON",
)
FEATURES = [resource_pb2.ResourceMonitorFeature.Value(f"RESOURCE_MONITOR_FEATURE_{word}") for word in _FEATURES]


class Monitor:
    """Answers the program's requests as a first preview would, with no provider behind it.

    The method names are the protocol's. Hooks are recorded and never run: in a preview nothing happens for them to
    wait for.

    Attributes:
        registry: what was registered so far.
        failure: the first refusal of the engine, None while there is none.
        questions: what was asked of providers.
        messages: warnings; ``errors`` are what the program logged as errors.
    """

    def __init__(self, registry: Registry, organization: str = "organization") -> None:
        self.registry = registry
        registry.warn = lambda urn, text: self.messages.append(Message(urn, text))
        self.organization = organization
        self.callbacks = Callbacks()
        self.failure: Exception | None = None
        self.questions: list[Question] = []
        self.messages: list[Message] = []
        self.errors: list[Message] = []
        self._transforms: dict[str, tuple[Callback, ...]] = {}
        self._lock = threading.RLock()

    # --- what every program calls -------------------------------------------------------------------------------

    def GetDeploymentInfo(self, _: Empty) -> resource_pb2.DeploymentInfo:  # noqa: N802 - the protocol's name
        """Who is previewed, and what this monitor can do."""
        return resource_pb2.DeploymentInfo(
            project=self.registry.project,
            stack=self.registry.stack,
            organization=self.organization,
            dryRun=True,
            supportedFeatures=FEATURES,
        )

    def RegisterResource(  # noqa: N802
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        """Admit a resource and tell what a preview knows of it."""
        try:
            return self._register(request)
        except Exception as error:
            with self._lock:
                self.failure = self.failure or error
            raise

    def RegisterResourceOutputs(self, request: resource_pb2.RegisterResourceOutputsRequest) -> Empty:  # noqa: N802
        """Keep the outputs of a component or of the stack."""
        with self._lock:
            state = self.registry.states[request.urn]
            state.registered = {k: wire.without_dependencies(v) for k, v in wire.read_struct(request.outputs).items()}
        return Empty()

    def SignalAndWaitForShutdown(self, _: Empty) -> Empty:  # noqa: N802
        """Nothing is pending here."""
        return Empty()

    def Log(self, request: engine_pb2.LogRequest) -> Empty:  # noqa: N802
        """Keep warnings and errors, drop the rest."""
        if request.severity == engine_pb2.WARNING:
            self.messages.append(Message(request.urn, request.message.strip()))
        elif request.severity == engine_pb2.ERROR:
            self.errors.append(Message(request.urn, request.message.strip()))
        return Empty()

    # --- what some programs call --------------------------------------------------------------------------------

    def RegisterStackTransform(self, callback: Callback) -> Empty:  # noqa: N802
        """A transform of every resource."""
        self.callbacks.stack.append(callback)
        return Empty()

    def RegisterStackInvokeTransform(self, callback: Callback) -> Empty:  # noqa: N802
        """A transform of every question."""
        self.callbacks.invokes.append(callback)
        return Empty()

    def RegisterResourceHook(self, _: resource_pb2.RegisterResourceHookRequest) -> Empty:  # noqa: N802
        """Hooks are named on the resources that bind them; they do not run."""
        return Empty()

    def RegisterErrorHook(self, _: resource_pb2.RegisterErrorHookRequest) -> Empty:  # noqa: N802
        """As other hooks."""
        return Empty()

    def RequirePulumiVersion(  # noqa: N802
        self, _: engine_pb2.RequirePulumiVersionRequest
    ) -> engine_pb2.RequirePulumiVersionResponse:
        """No CLI runs, so no version is wrong."""
        return engine_pb2.RequirePulumiVersionResponse()

    def Invoke(self, request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:  # noqa: N802
        """Answer a question, or say that only the cloud can."""
        args = {key: wire.without_dependencies(value) for key, value in wire.read_struct(request.args).items()}
        if request.tok == "pulumi:pulumi:getResource":
            return _answer(self._hydrate(args["urn"]))
        with self._lock:
            package = request.tok.split(":")[0]
            provider = request.provider or self.registry.default_provider(
                package, request.version, request.pluginDownloadURL
            )
        args = self.callbacks.transform_invoke(request, args, provider)
        answer = None
        if request.tok in ANSWERS and not wire.has_unknown(args) and not self._pending(request.dependsOn):
            answer = ANSWERS[request.tok](self._region(provider, args), args)
        shown = json.dumps({key: wire.shown(args[key]) for key in sorted(args)}, sort_keys=True)
        with self._lock:
            self.questions.append(Question(request.tok, shown, answer is not None))
        return resource_pb2.ResourceInvokeResponse(unknown=True) if answer is None else _answer(answer)

    def Call(self, _: resource_pb2.ResourceCallRequest) -> provider_pb2.CallResponse:  # noqa: N802
        """A method of a remote component: its result is known once the component exists."""
        return provider_pb2.CallResponse(**{"return": wire.write_struct({"result": wire.UNKNOWN_SENTINEL})})

    def ReadResource(self, request: resource_pb2.ReadResourceRequest) -> resource_pb2.ReadResourceResponse:  # noqa: N802
        """Record a resource that exists already; its properties are the cloud's to tell."""
        goal = Goal(
            type=request.type,
            name=request.name,
            parent=request.parent,
            custom=True,
            external=True,
            props=wire.read_struct(request.properties),
            dependencies=set(request.dependencies),
            provider=request.provider,
            version=request.version,
            download_url=request.pluginDownloadURL,
            import_id="" if request.id == wire.UNKNOWN_SENTINEL else request.id,
        )
        with self._lock:
            self.registry.inherit(goal)
            state = self.registry.admit(goal)
            state.outputs = {}
        return resource_pb2.ReadResourceResponse(urn=state.urn, id=goal.import_id, properties=Struct())

    # --- how -----------------------------------------------------------------------------------------------------

    def _register(self, request: resource_pb2.RegisterResourceRequest) -> resource_pb2.RegisterResourceResponse:
        state = self._admit(from_request(request))
        response = resource_pb2.RegisterResourceResponse(urn=state.urn, id=state.identifier)
        if state.goal.remote:
            region = self._region(state.goal.providers.get("aws", ""), {})
            built = construct(state, self._admit, partition(region, {})["partition"])
            if built is None:
                self.messages.append(Message(state.urn, self._unlisted(state)))
                return response
            response.object.CopyFrom(wire.write_struct(built.outputs))
            for key, urns in built.dependencies.items():
                response.propertyDependencies[key].urns.extend(urns)
        elif state.goal.custom:
            response.object.CopyFrom(wire.write_struct(state.outputs))
        return response

    def _admit(self, goal: Goal) -> State:
        with self._lock:
            self.registry.inherit(goal)
            chain = (*goal.transforms, *self._ancestors(goal.parent), *self.callbacks.stack)
        if chain and goal.type != STACK_TYPE:
            if goal.transforms:
                goal.props = {
                    key: wire.with_dependencies(value, goal.property_dependencies.get(key, ()))
                    for key, value in goal.props.items()
                }
            depends_on = self.callbacks.transform(goal, chain)
            if goal.transforms:
                rebuild_dependencies(goal, depends_on)
        merge_output_dependencies(goal)
        with self._lock:
            state = self.registry.admit(goal)
            if goal.transforms:
                self._transforms[state.urn] = tuple(goal.transforms)
        return state

    def _unlisted(self, component: State) -> str:
        """Why a remote component stands alone; where its provider waits, Pulumi's own preview lists no child either."""
        type_ = component.goal.type
        if self.registry.configured(component.goal.provider):
            return f"What the remote component {type_} creates is not known offline and not listed."
        return f"What {type_} creates is listed once the cluster exists."

    def _ancestors(self, urn: str) -> Iterator[Callback]:
        while urn:
            yield from self._transforms.get(urn, ())
            urn = self.registry.states[urn].goal.parent

    def _hydrate(self, urn: str) -> dict[str, Any]:
        state = self.registry.states.get(urn)
        if state is None:
            raise PreviewError(f"unknown resource {urn}")
        known = state.outputs if state.goal.custom else state.registered
        return {"urn": urn, "id": state.identifier, "provider": state.goal.provider, "state": known}

    def _pending(self, urns: Any) -> bool:
        """Whether a question waits for resources that a first preview has not created."""
        states = self.registry.states
        below = [*urns]
        while below:
            state = states.get(below.pop())
            if state is None or state.goal.is_provider or state.goal.external:
                continue
            if state.goal.custom:
                return True
            below.extend(s.urn for s in states.values() if s.goal.parent == state.urn)
        return False

    def _region(self, provider: str, args: dict[str, Any]) -> str:
        state = self.registry.states.get(provider_urn(provider))
        found = args.get("region") or (state.inputs.get("region") if state else None)
        known = isinstance(found, str) and found != wire.UNKNOWN_SENTINEL
        return str(found) if known else self.registry.config.get("aws:region", "")


def _answer(values: dict[str, Any]) -> resource_pb2.ResourceInvokeResponse:
    return resource_pb2.ResourceInvokeResponse(**{"return": wire.write_struct(values)})

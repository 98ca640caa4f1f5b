"""An AWS provider that speaks Pulumi's provider protocol; nothing of it leaves this machine."""
# ruff: noqa: N802 - the protocol names the methods

import threading
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.protobuf.empty_pb2 import Empty
from google.rpc import code_pb2, status_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from headwater.preview.wire import SECRET_SIGNATURE, UNKNOWN_SENTINEL, read_struct, signature, write_struct

from .aws_backed import Surroundings, backed_types
from .aws_models import check_inputs
from .aws_types import REPLACES, identifier, outputs_of, sole, takes_name
from .faults import MESSAGES, Faults
from .serve import Served

Object = dict[str, Any]
DEFAULTS = "__defaults"


@dataclass
class Kept:
    """A resource that exists."""

    type: str
    inputs: Object
    outputs: Object


@dataclass
class Journal:
    """What the provider was asked to do, in order: ``("create", type, id)``."""

    entries: list[tuple[str, str, str]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, verb: str, type_: str, number: str) -> None:
        """Append one entry."""
        with self._lock:
            self.entries.append((verb, type_, number))


def plain(value: Any) -> Any:
    """The value without secret envelopes; an output value without ``value`` is unknown."""
    if isinstance(value, dict):
        kind = signature(value)
        if kind == SECRET_SIGNATURE:
            return plain(value.get("value", UNKNOWN_SENTINEL))
        if kind is not None:
            return plain(value["value"]) if "value" in value else UNKNOWN_SENTINEL
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def unknown(value: Any) -> bool:
    """Whether a part of the value is not known yet."""
    if isinstance(value, dict):
        return any(map(unknown, value.values()))
    if isinstance(value, list):
        return any(map(unknown, value))
    return bool(value == UNKNOWN_SENTINEL)


def type_of(urn: str) -> str:
    """The resource type in a URN."""
    return urn.split("::")[2].rsplit("$", maxsplit=1)[-1]


class AwsProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Keeps resources in memory; some types also in the simulated AWS.

    Attributes:
        kept: what exists, by (type, id).
        faults: what goes wrong next.
        journal: what was done.
    """

    def __init__(self, around: Surroundings):
        self.kept: dict[tuple[str, str], Kept] = {}
        self.faults, self.journal = Faults(), Journal()
        self._around, self._backed = around, backed_types(around)
        self._lock, self._serial, self._under_way = threading.Lock(), 0, 0

    @property
    def busy(self) -> bool:
        """Whether a creation is under way, asked for by whoever, even if it has died meanwhile."""
        return self._under_way > 0

    def lose(self, type_: str) -> str:
        """Somebody deletes the newest resource of the type by hand; returns its id."""
        number = [number for kind, number in self.kept if kind == type_][-1]
        if type_ in self._backed:
            self._backed[type_].delete(number)
        del self.kept[(type_, number)]
        return number

    def Handshake(self, request: Any, context: Any) -> Any:
        """We take secrets and resource references as they are."""
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, accept_resources=True)

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        """The version of the SDK beside us."""
        from importlib.metadata import version

        return plugin_pb2.PluginInfo(version=version("pulumi-aws"))

    def Attach(self, request: Any, context: Any) -> Any:
        """Nothing to do."""
        return Empty()

    def Cancel(self, request: Any, context: Any) -> Any:
        """Nothing to do."""
        return Empty()

    def CheckConfig(self, request: Any, context: Any) -> Any:
        """Any configuration will do."""
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        """A provider's configuration never replaces it here."""
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:
        """As the real one: secrets and previews, no output values."""
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True, acceptResources=True)

    def Invoke(self, request: Any, context: Any) -> Any:
        """The few data sources the program asks."""
        region = self._around.aws.region
        answers: dict[str, Object] = {
            "aws:index/getPartition:getPartition": {
                "id": "aws",
                "partition": "aws",
                "dnsSuffix": "amazonaws.com",
                "reverseDnsPrefix": "com.amazonaws",
                "region": region,
            },
            "aws:index/getRegion:getRegion": {
                "id": region,
                "name": region,
                "region": region,
                "endpoint": f"ec2.{region}.amazonaws.com",
            },
            "aws:index/getCallerIdentity:getCallerIdentity": {
                "id": "123456789012",
                "accountId": "123456789012",
                "arn": "arn:aws:iam::123456789012:user/simulated",
                "userId": "AIDASIMULATED",
            },
        }
        if request.tok not in answers:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{request.tok} is not simulated")
        return provider_pb2.InvokeResponse(**{"return": write_struct(answers[request.tok])})

    def Check(self, request: Any, context: Any) -> Any:
        """Names made up where none is given, and AWS's own limits."""
        news, olds = read_struct(request.news), read_struct(request.olds)
        type_ = type_of(request.urn)
        key = "nodeGroupName" if type_ == "aws:eks/nodeGroup:NodeGroup" else "name"
        if takes_name(type_) and news.get(key) is None and news.get(f"{key}Prefix") is None:
            made = f"{request.urn.rsplit('::', 1)[1]}-{request.randomSeed.hex()[:7]}"
            news[key] = olds.get(key) or made
            news[DEFAULTS] = [key]
        faults = check_inputs(type_, plain(news))
        failures = [provider_pb2.CheckFailure(property=key, reason=text) for key, text in faults]
        return provider_pb2.CheckResponse(inputs=write_struct(news), failures=failures)

    def Diff(self, request: Any, context: Any) -> Any:
        """Input by input."""
        old, new = (plain(read_struct(part)) for part in (request.old_inputs, request.news))
        ignored = set(request.ignoreChanges) | {DEFAULTS}
        changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key) and key not in ignored)
        replaces = [key for key in changed if key in REPLACES.get(type_of(request.urn), ())]
        some = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=some, diffs=changed, replaces=replaces)

    def Create(self, request: Any, context: Any) -> Any:
        """Create, or say what a preview can know of it."""
        type_, wire = type_of(request.urn), read_struct(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=write_struct(_preview_outputs(type_, wire)))
        with self._lock:
            self._under_way += 1
        try:
            return self._create(request.urn, type_, wire, context)
        finally:
            with self._lock:
                self._under_way -= 1

    def _create(self, urn: str, type_: str, wire: Object, context: Any) -> Any:
        if self.faults.meet(urn, "before"):
            context.abort(grpc.StatusCode.UNAVAILABLE, f"creating {type_}: nobody waits for it any more")
        fault = self.faults.next(type_)
        if fault in {"throttled", "refused"}:
            context.abort(grpc.StatusCode.UNKNOWN, f"creating {type_}: {MESSAGES[fault]}")
        inputs = plain(wire)
        if unknown(inputs):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{urn}: an input is unknown in an update")
        with self._lock:
            self._serial += 1
            serial = self._serial
        try:
            if type_ in self._backed:
                number, added = self._backed[type_].create(inputs)
            else:
                self._refuse_a_second(type_, inputs)
                number, added = identifier(type_, urn, inputs, serial), {}
        except Exception as error:
            context.abort(grpc.StatusCode.UNKNOWN, f"creating {type_}: {error}")
        outputs = outputs_of(type_, number, inputs, self._around.aws.region) | added
        self.kept[(type_, number)] = Kept(type_, inputs, outputs)
        self.journal.add("create", type_, number)
        self.faults.meet(urn, "after")
        answer = _with_secrets(outputs, wire)
        if fault == "after-create":
            _fail_initialised(context, number, answer, wire, MESSAGES[fault])
        return provider_pb2.CreateResponse(id=number, properties=write_struct(answer))

    def _refuse_a_second(self, type_: str, inputs: Object) -> None:
        wanted = sole(type_, inputs)
        if wanted and any(kept.type == type_ and sole(type_, kept.inputs) == wanted for kept in [*self.kept.values()]):
            raise ValueError(f"AlreadyExistsException: there is one for {', '.join(map(str, wanted))}")

    def Read(self, request: Any, context: Any) -> Any:
        """What is kept; an empty id for what is gone."""
        type_ = type_of(request.urn)
        kept = self.kept.get((type_, request.id))
        backed = self._backed.get(type_)
        if kept is None or (backed is not None and not backed.exists(request.id)):
            return provider_pb2.ReadResponse()
        inputs = request.inputs if len(request.inputs.fields) else write_struct(kept.inputs)
        outputs = _with_secrets(kept.outputs, read_struct(inputs))
        return provider_pb2.ReadResponse(id=request.id, properties=write_struct(outputs), inputs=inputs)

    def Update(self, request: Any, context: Any) -> Any:
        """Take the new inputs."""
        type_, wire = type_of(request.urn), read_struct(request.news)
        inputs = plain(wire)
        old = plain(read_struct(request.olds))
        if request.preview:
            return provider_pb2.UpdateResponse(properties=write_struct({**old, **wire}))
        if type_ in self._backed:
            try:
                self._backed[type_].update(request.id, inputs)
            except Exception as error:
                context.abort(grpc.StatusCode.UNKNOWN, f"updating {type_}: {error}")
        fresh = outputs_of(type_, request.id, inputs, self._around.aws.region)
        added = {key: value for key, value in old.items() if key not in fresh or key not in inputs}
        outputs = fresh | added | {"tagsAll": inputs.get("tags", {})}
        if isinstance(old.get("vpcConfig"), dict) and isinstance(inputs.get("vpcConfig"), dict):
            outputs["vpcConfig"] = old["vpcConfig"] | inputs["vpcConfig"]
        self.kept[(type_, request.id)] = Kept(type_, inputs, outputs)
        self.journal.add("update", type_, request.id)
        return provider_pb2.UpdateResponse(properties=write_struct(_with_secrets(outputs, wire)))

    def Delete(self, request: Any, context: Any) -> Any:
        """Delete; what refuses says so."""
        type_ = type_of(request.urn)
        try:
            if type_ in self._backed and self._backed[type_].exists(request.id):
                self._backed[type_].delete(request.id)
        except Exception as error:
            context.abort(grpc.StatusCode.UNKNOWN, f"deleting {type_} {request.id}: {error}")
        self.kept.pop((type_, request.id), None)
        self.journal.add("delete", type_, request.id)
        return Empty()


def _preview_outputs(type_: str, inputs: Object) -> Object:
    outputs = {key: value for key, value in inputs.items() if key != DEFAULTS}
    if type_ == "aws:eks/cluster:Cluster" and isinstance(outputs.get("vpcConfig"), dict):
        computed = dict.fromkeys(("clusterSecurityGroupId", "vpcId"), UNKNOWN_SENTINEL)
        outputs["vpcConfig"] = {**outputs["vpcConfig"], **computed}
    return outputs


def _with_secrets(outputs: Object, wire: Object) -> Object:
    """Outputs whose input came as a secret go back as one."""
    secrets = {key for key, value in wire.items() if signature(value) == SECRET_SIGNATURE}
    return {key: wire[key] if key in secrets else value for key, value in outputs.items()}


def _fail_initialised(context: Any, number: str, outputs: Object, inputs: Object, reason: str) -> None:
    """The way a provider says: it exists, but it is not well."""
    detail = provider_pb2.ErrorResourceInitFailed(
        id=number, properties=write_struct(outputs), inputs=write_struct(inputs), reasons=[reason]
    )
    packed = any_pb2.Any()
    packed.Pack(detail)
    status = status_pb2.Status(code=code_pb2.UNKNOWN, message=reason, details=[packed])
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, reason)


def serve_aws(around: Surroundings) -> tuple[AwsProvider, Served]:
    """A provider behind a port."""
    provider = AwsProvider(around)
    return provider, Served(provider_pb2_grpc.add_ResourceProviderServicer_to_server, provider)

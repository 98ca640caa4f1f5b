"""Transforms: functions of the program that the engine calls back before it admits a resource or asks a question."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc
from pulumi.runtime.proto import callback_pb2, callback_pb2_grpc, resource_pb2
from pulumi.runtime.proto.callback_pb2 import Callback

from headwater.preview import wire
from headwater.preview.errors import PreviewError
from headwater.preview.goal import Goal, options_message, take_options


class Callbacks:
    """Calls the program's callback server.

    Attributes:
        stack: transforms of every resource, in order of registration.
        invokes: transforms of every question.
    """

    def __init__(self) -> None:
        self.stack: list[Callback] = []
        self.invokes: list[Callback] = []

    def transform(self, goal: Goal, chain: Iterable[Callback]) -> list[str]:
        """Run transforms on a goal, one after another.

        Returns:
            The dependencies the last one left in the options.

        Raises:
            PreviewError: a transform failed.
        """
        options = options_message(goal)
        properties = wire.write_struct(goal.props)
        for callback in chain:
            ask = resource_pb2.TransformRequest(
                type=goal.type,
                name=goal.name,
                custom=goal.custom,
                parent=goal.parent,
                properties=properties,
                options=options,
            )
            answer = resource_pb2.TransformResponse.FromString(_call(callback, ask.SerializeToString()))
            if answer.HasField("properties"):
                properties = answer.properties
            if answer.HasField("options"):
                options = answer.options
        goal.props = wire.read_struct(properties)
        take_options(goal, options)
        return list(options.depends_on)

    def transform_invoke(
        self, request: resource_pb2.ResourceInvokeRequest, args: dict[str, Any], provider: str
    ) -> dict[str, Any]:
        """The arguments of a question after the transforms of questions.

        Raises:
            PreviewError: a transform failed.
        """
        for callback in self.invokes:
            ask = resource_pb2.TransformInvokeRequest(
                token=request.tok,
                args=wire.write_struct(args),
                options=resource_pb2.TransformInvokeOptions(provider=provider, version=request.version),
            )
            answer = resource_pb2.TransformInvokeResponse.FromString(_call(callback, ask.SerializeToString()))
            if answer.HasField("args"):
                args = wire.read_struct(answer.args)
        return args


def _call(callback: Callback, request: bytes) -> bytes:
    try:
        with grpc.insecure_channel(callback.target) as channel:
            ask = callback_pb2.CallbackInvokeRequest(token=callback.token, request=request)
            return bytes(callback_pb2_grpc.CallbacksStub(channel).Invoke(ask).response)
    except grpc.RpcError as error:
        raise PreviewError(f"a transform failed: {error.details()}") from None

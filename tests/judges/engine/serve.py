"""gRPC servers on loopback ports."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

_SIZE = 400 << 20


class Served:
    """A servicer behind a port of its own."""

    def __init__(self, add: Callable[[Any, Any], None], servicer: Any):
        self._server = grpc.server(
            ThreadPoolExecutor(32),
            options=[("grpc.max_receive_message_length", _SIZE), ("grpc.max_send_message_length", _SIZE)],
        )
        add(servicer, self._server)
        self.port: int = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.stop(1).wait(5)

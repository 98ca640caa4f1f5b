"""Processes of the simulated world: started with a log, awaited, ended by their own id."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_handed_out: set[int] = set()


def free_port() -> int:
    """A TCP port that is free on the loopback interface and was not handed out before by this process."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in _handed_out:
            _handed_out.add(port)
            return port


def port_is_free(port: int) -> bool:
    """Whether nothing listens on the loopback port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def wait_until(what: str, condition: Callable[[], T], *, seconds: float, every: float = 0.1) -> T:
    """Ask until the condition is truthy, and return its value.

    Raises:
        TimeoutError: it stayed false; the message says ``what`` and the condition's last value or error.
    """
    deadline = time.monotonic() + seconds
    last: object = None
    while time.monotonic() < deadline:
        try:
            value = condition()
        except (OSError, RuntimeError) as error:
            last = error
        else:
            if value:
                return value
            last = value
        time.sleep(every)
    raise TimeoutError(f"after {seconds:g} s still not: {what} (last: {last!r})")


class Daemon:
    """One process with a log file. It ends at the latest with the thread that started it (``setpriv`` sees to it)."""

    def __init__(self, name: str, command: Sequence[str | Path], *, logs: Path, env: dict[str, str] | None = None):
        self.name, self.stopped = name, False
        self.log = logs / f"{name}.log"
        base = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR", "LANG") if key in os.environ}
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *(str(part) for part in command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**base, **(env or {})},
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def check(self) -> None:
        """Raise when the process has ended by itself."""
        if not self.stopped and not self.alive():
            raise RuntimeError(f"{self.name} ended with {self._process.returncode}:\n{self.tail()}")

    def ready(self, condition: Callable[[], T], *, seconds: float) -> T:
        """Wait for the condition while the process lives."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.check()
            with contextlib.suppress(OSError, RuntimeError):
                value = condition()
                if value:
                    return value
            time.sleep(0.05)
        raise TimeoutError(f"{self.name} not ready after {seconds:g} s:\n{self.tail()}")

    def tail(self, lines: int = 30) -> str:
        """The end of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def signal(self, number: int) -> None:
        """Send a signal to this process alone."""
        if self.alive():
            self._process.send_signal(number)

    def stop(self, *, seconds: float = 10) -> None:
        """TERM, then KILL after ``seconds``; returns when the process is gone."""
        self.stopped = True
        self.signal(signal.SIGTERM)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self._process.wait(10)

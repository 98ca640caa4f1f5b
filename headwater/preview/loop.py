"""Running a program on a loop of its own, quietly and without leaving anything behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

HIDDEN_VARIABLES = ("AWS_", "KUBECONFIG", "PULUMI_", "HELM_")
"""Prefixes of variables a program must not see: a preview depends on files alone."""


class InlineExecutor(ThreadPoolExecutor):
    """Runs a call at once, in the caller's thread, unless ``threaded`` says that it would wait for the loop itself.

    The SDK hands every request to the loop's executor. The monitor is a plain object, so a thread would only cost time
    and make the order of requests a matter of luck.
    """

    def __init__(self, threaded: Callable[[], bool]) -> None:
        super().__init__(max_workers=16)
        self._threaded = threaded

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn`` now or in a thread."""
        if self._threaded():
            return super().submit(fn, *args, **kwargs)
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


_ATTEMPTS, _PATIENCE = 3, 0.2
"""How often tasks are told to end, and the seconds each time: the SDK's own answers a first cancellation by waiting."""


def run(main: Callable[[], Awaitable[None]], threaded: Callable[[], bool]) -> None:
    """Run ``main`` to its end on a new loop; pending tasks are cancelled, nothing is printed about them."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    executor = InlineExecutor(threaded)
    loop.set_default_executor(executor)
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(main())
    finally:
        with _silence():
            for _ in range(_ATTEMPTS):
                pending = asyncio.all_tasks(loop)
                for task in pending:
                    task.cancel()
                if pending:
                    loop.run_until_complete(asyncio.wait(pending, timeout=_PATIENCE))
            loop.run_until_complete(loop.shutdown_asyncgens())
            executor.shutdown(wait=False, cancel_futures=True)
            asyncio.set_event_loop(None)
            loop.close()


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Swallow what the interpreter says about futures nobody awaited after a failure."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.unraisablehook = hook


def collect_quietly() -> None:
    """After a failed run: free its futures now, while their complaints are swallowed."""
    with _silence():
        gc.collect()


async def settle(open_outputs: Callable[[], int]) -> None:
    """Let the loop run while outputs still resolve.

    The SDK then finds few to wait for; it waits for any one of all that are open, again and again, which takes time
    in the square of their number.
    """
    before = -1
    while (now := open_outputs()) != before:
        before = now
        for _ in range(_TURNS):
            await asyncio.sleep(0)


_TURNS = 32


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Pause the garbage collector: a program makes only what lives to its end, and the SDKs a million objects."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


@contextlib.contextmanager
def files_alone() -> Iterator[None]:
    """Hide the variables that would let the caller's cloud or cluster into a preview."""
    hidden = {key: value for key, value in os.environ.items() if key.startswith(HIDDEN_VARIABLES)}
    for key in hidden:
        del os.environ[key]
    try:
        yield
    finally:
        os.environ.update(hidden)

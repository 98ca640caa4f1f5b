"""Runs the program for the language host: one process per run. The request comes as JSON on standard input."""

import asyncio
import json
import runpy
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pulumi
from pulumi.runtime import Settings, configure, set_all_config
from pulumi.runtime.stack import run_in_stack

REPORTED = 32
"""Exit code that tells the engine: the error has been shown already."""


def main(request: dict[str, Any]) -> int:
    """Run ``__main__.py`` of the project against the engine's monitor; returns the exit code."""
    program = Path(request["program"])
    sys.path.insert(0, str(program.parent))
    sys.argv = [str(program)]
    set_all_config(request["config"], request["secretKeys"])
    configure(
        Settings(
            project=request["project"],
            stack=request["stack"],
            parallel=request["parallel"],
            monitor=request["monitor"],
            engine=request["engine"],
            dry_run=request["dryRun"],
            organization=request["organization"],
        )
    )
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_default_executor(ThreadPoolExecutor(max(4, min(request["parallel"], 16) * 4)))
    try:
        loop.run_until_complete(run_in_stack(lambda: runpy.run_path(str(program), run_name="__main__")))
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        return 1
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAVAILABLE:
            return REPORTED
        pulumi.log.error(f"RPC error: {error.details()}")
        return 1
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(json.load(sys.stdin)))

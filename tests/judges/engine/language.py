"""The language host: starts the program as the engine asks."""
# ruff: noqa: N802 - the protocol names the methods

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from .runner import REPORTED
from .serve import Served

RUNNER = Path(__file__).with_name("runner.py")


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Runs the project's ``__main__.py`` with this interpreter; its output goes to ``log``."""

    def __init__(self, log: Path):
        self._log = log
        self._engine = ""
        self._running: list[subprocess.Popen[str]] = []

    def Handshake(self, request: Any, context: Any) -> Any:
        """Remember where the engine listens."""
        self._engine = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        """Our version."""
        return plugin_pb2.PluginInfo(version="1.0.0")

    def GetRequiredPackages(self, request: Any, context: Any) -> Any:
        """None: every provider is attached or on PATH."""
        return language_pb2.GetRequiredPackagesResponse()

    def GetRequiredPlugins(self, request: Any, context: Any) -> Any:
        """None, as above."""
        return language_pb2.GetRequiredPluginsResponse()

    def RuntimeOptionsPrompts(self, request: Any, context: Any) -> Any:
        """Nothing to ask."""
        return language_pb2.RuntimeOptionsResponse()

    def About(self, request: Any, context: Any) -> Any:
        """This interpreter."""
        return language_pb2.AboutResponse(executable=sys.executable, version=sys.version.split()[0])

    def InstallDependencies(self, request: Any, context: Any) -> Any:
        """Nothing to install."""
        return iter(())

    def Cancel(self, request: Any, context: Any) -> Any:
        """End the programs that still run."""
        for process in self._running:
            if process.poll() is None:
                process.kill()
        return Empty()

    def Run(self, request: Any, context: Any) -> Any:
        """Run the program to its end."""
        folder = Path(request.info.program_directory or request.pwd)
        asked = {
            "program": str(folder / "__main__.py"),
            "project": request.project,
            "stack": request.stack,
            "organization": request.organization or "organization",
            "config": dict(request.config),
            "secretKeys": list(request.configSecretKeys),
            "dryRun": request.dryRun,
            "parallel": request.parallel,
            "monitor": request.monitor_address,
            "engine": request.args[0] if request.args else self._engine,
        }
        process = subprocess.Popen(
            [sys.executable, str(RUNNER)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._running.append(process)
        context.add_callback(lambda: process.poll() is None and process.kill())
        said, _ = process.communicate(json.dumps(asked))
        self._running.remove(process)
        with self._log.open("a") as log:
            log.write(said)
        if process.returncode == REPORTED:
            return language_pb2.RunResponse(bail=True)
        error = f"the program exited with {process.returncode}: {said[-2000:]}" if process.returncode else ""
        return language_pb2.RunResponse(error=error)


def serve_language(log: Path) -> Served:
    """A language host behind a port."""
    return Served(language_pb2_grpc.add_LanguageRuntimeServicer_to_server, LanguageHost(log))

"""Dynamo's own wheels in an environment of their own, made once and kept in the user's cache.

``requirements-dynamo.lock`` has them, without all they ask for, by hash; another lock or interpreter is another
environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[2] / "requirements-dynamo.lock"
PROBES = Path(__file__).parent / "probes"
STARTED = "Starting HTTP(S) service"


@dataclass(frozen=True)
class Started:
    """How a program's start went: whether it came up, and all it said."""

    up: bool
    text: str


class Wheels:
    """The environment."""

    def __init__(self) -> None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headwater"
        content = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
        self.folder = cache / f"dynamo-{content[:12]}"
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / ".dynamo-lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (self.folder / ".ready").is_file():
                self._make()

    def _make(self) -> None:
        venv.create(self.folder, clear=True)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(self.python),
            "install",
            "-q",
            "--disable-pip-version-check",
        ]
        subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", str(LOCK)], check=True, timeout=1800)
        (self.folder / ".ready").touch()

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.folder / "bin" / "python"

    def ask(self, probe: str, question: Any = None) -> Any:
        """Run a probe with a question as JSON; its answer."""
        done = subprocess.run(
            [str(self.python), str(PROBES / f"{probe}.py")],
            input=json.dumps(question),
            capture_output=True,
            text=True,
            timeout=180,
            env=self.environment(),
            check=False,
        )
        line = next((text for text in done.stdout.splitlines() if text.startswith("ANSWERS")), None)
        assert line is not None, done.stdout[-2000:] + done.stderr[-4000:]
        return json.loads(line.removeprefix("ANSWERS"))

    def frontend(self, arguments: list[str], port: int, **variables: str) -> Started:
        """Start the real frontend with a command line, and stop it once it is up or has given up."""
        command = [str(self.python), "-W", "always", "-m", "dynamo.frontend", *arguments, "--http-port", str(port)]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**self.environment(), **variables},
        )
        assert process.stdout is not None
        lines: list[str] = []
        deadline = time.monotonic() + 60
        try:
            for line in process.stdout:
                lines.append(line)
                if STARTED in line or time.monotonic() > deadline:
                    break
        finally:
            process.terminate()
            rest, _ = process.communicate(timeout=60)
        text = "".join(lines)
        return Started(STARTED in text, text + rest)

    def environment(self) -> dict[str, str]:
        """Variables of a program: none of the caller's that Dynamo or Python would read."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DYN_", "PYTHON"))}
        return {**kept, "DYN_DISCOVERY_BACKEND": "mem", "NO_COLOR": "1"}


def supported() -> str:
    """Why the wheels cannot run here; empty when they can."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return "Dynamo's wheels exist for Linux on x86-64 only"
    return ""

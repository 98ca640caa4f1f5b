"""Pulumi's own command line on a project folder of its own, with our providers attached."""

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
PASSPHRASE = "only-for-the-judges"


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        seconds: wall time.
    """

    code: int
    out: str
    err: str
    seconds: float

    @property
    def text(self) -> str:
        """All that was said."""
        return self.out + self.err


class PulumiFailed(RuntimeError):
    """A command ended with an error that the test did not ask for."""


def copy_project(root: Path, folder: Path, stacks: Mapping[str, Object]) -> Path:
    """A project folder with links to the code, and stack files of its own (the CLI writes into them)."""
    folder.mkdir(parents=True)
    for name in ("__main__.py", "components", "headwater"):
        (folder / name).symlink_to(root / name)
    shutil.copy(root / "Pulumi.yaml", folder)
    (folder / "stacks").mkdir()
    for name, config in stacks.items():
        (folder / "stacks" / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump({"config": config}))
    return folder


class Pulumi:
    """The real CLI.

    Args:
        binaries: the judges.
        project: folder with ``Pulumi.yaml``.
        home: folder for state, plugins and helper commands.
        language: port of the language host.
        providers: port of each attached provider.
        token: what the stand-in of ``aws eks get-token`` answers.
    """

    def __init__(
        self,
        binaries: dict[str, Path],
        project: Path,
        home: Path,
        *,
        language: int,
        providers: dict[str, int],
        token: str,
        extra: Mapping[str, str] | None = None,
    ):
        self.project, self._binary = project, binaries["pulumi"]
        self.home, self.state = home, home / "state"
        self.state.mkdir(parents=True, exist_ok=True)
        tools = home / "bin"
        tools.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (tools / "pulumi-resource-kubernetes").symlink_to(binaries["pulumi-resource-kubernetes"])
        _write_aws_command(tools / "aws", token)
        self.env = {
            "PATH": f"{tools}:/usr/bin:/bin",
            "HOME": str(home),
            "PULUMI_HOME": str(home / "pulumi"),
            # without the metadata beside each file, which a kill can leave half written
            "PULUMI_BACKEND_URL": f"file://{self.state}?metadata=skip",
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DEBUG_COMMANDS": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_AUTOMATION_API_SKIP_VERSION_CHECK": "true",
            "PULUMI_DEBUG_LANGUAGES": f"python:{language}",
            "PULUMI_DEBUG_PROVIDERS": ",".join(f"{name}:{port}" for name, port in sorted(providers.items())),
            **(extra or {}),
        }

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start a command without waiting for it."""
        return subprocess.Popen(
            [str(self._binary), *args, "--non-interactive", "--color=never"],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: str, check: bool = True, timeout: float = 900) -> Ended:
        """Run a command to its end.

        Raises:
            PulumiFailed: it failed and ``check`` is set.
        """
        begin = time.monotonic()
        process = self.start(*args)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise PulumiFailed(f"pulumi {' '.join(args)}: no end after {timeout:g} s\n{(out + err)[-6000:]}") from None
        ended = Ended(process.returncode, out, err, time.monotonic() - begin)
        if check and ended.code:
            raise PulumiFailed(f"pulumi {' '.join(args)} ended with {ended.code}:\n{ended.text[-6000:]}")
        return ended

    def init(self, stack: str) -> None:
        """Make the stack and choose it."""
        self.run("stack", "init", stack)

    def preview(self, *args: str) -> Object:
        """``pulumi preview --json``, parsed."""
        found: Object = json.loads(self.run("preview", "--json", *args).out)
        return found

    def up(self, *args: str, check: bool = True) -> Ended:
        """``pulumi up --yes``."""
        return self.run("up", "--yes", "--skip-preview", *args, check=check)

    def export(self, *, secrets: bool = False) -> list[Object]:
        """The resources in the state; secrets in plain text where asked for."""
        return self.deployment(secrets=secrets).get("resources") or []

    def deployment(self, *, secrets: bool = False) -> Object:
        """The state: ``resources``, and as ``pending_operations`` what a command that died had begun."""
        shown = ("--show-secrets",) if secrets else ()
        found: Object = json.loads(self.run("stack", "export", *shown).out)["deployment"]
        return found

    def raw_export(self) -> str:
        """The whole state, secrets encrypted."""
        return self.run("stack", "export").out

    def configure(self, stack: str, change: Mapping[str, Any]) -> None:
        """Set keys of the stack file; None removes one."""
        path = self.project / "stacks" / f"Pulumi.{stack}.yaml"
        content = yaml.safe_load(path.read_text())
        for key, value in change.items():
            if value is None:
                content["config"].pop(key, None)
            else:
                content["config"][key] = value
        path.write_text(yaml.safe_dump(content))


def end_plugins(home: Path) -> None:
    """End the provider plugins that a killed CLI left behind: those started from this home's ``bin``."""
    ours = f"{home / 'bin'}/"
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
            if command.startswith(ours):
                os.kill(int(entry.name), signal.SIGKILL)


def _write_aws_command(path: Path, token: str) -> None:
    """``aws eks get-token``, answered with the control plane's own token; every other call is refused."""
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
    script = f"""#!/bin/sh
case "$*" in
  *"eks get-token"*) echo '{json.dumps(answer)}' ;;
  *) echo "aws: not simulated: $*" >&2; exit 1 ;;
esac
"""
    path.write_text(script)
    os.chmod(path, path.stat().st_mode | stat.S_IXUSR)  # noqa: PTH101

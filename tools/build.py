"""Build the judges into the user's cache folder: ``python tools/build.py``.

Each module has a folder named by the hash of its sources and flags, so a fresh clone builds nothing that the machine
already has. A binary of the pinned version on PATH is taken instead of a build.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

if __package__ in {None, ""}:  # run as a file
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.judges import JUDGES, TOOLS, Judge

GO_CACHES_BYTES = 20 * 10**9
"""What the Go module and build caches hold after all judges are built: 18 GB measured, plus the linker's work space."""

NO_GO = (
    "The judges are built from source and need Go (1.21 or newer; it fetches the release that go.mod names): "
    "install it (Debian: apt-get install golang; else https://go.dev/dl), then run `make tools`."
)


def cache_folder() -> Path:
    """Where the binaries live: ``$XDG_CACHE_HOME/headwater/tools``, else ``~/.cache/headwater/tools``."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "headwater" / "tools"


def module_hash(judge: Judge) -> str:
    """Twelve hex digits over the module's sources, what is built from them, and the platform."""
    digest = hashlib.sha256()
    for part in (judge.linker_flags(), judge.tags, repr(judge.programs), platform.system(), platform.machine()):
        digest.update(part.encode() + b"\0")
    for path in sorted(judge.folder.iterdir()):
        if path.name in {"go.mod", "go.sum"} or path.suffix == ".go":
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def built_folder(judge: Judge) -> Path:
    """The folder that holds (or will hold) the judge's binaries."""
    return cache_folder() / f"{judge.module}-{module_hash(judge)}"


def on_path(judge: Judge, name: str) -> Path | None:
    """The executable ``name`` on PATH if it says it is of the pinned version."""
    found = shutil.which(name)
    if found is None or not judge.probe:
        return None
    try:
        said = subprocess.run([found, *judge.probe], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = (said.stdout + said.stderr).replace(",", " ").split()
    pinned = judge.version.removeprefix("v")
    return Path(found) if any(word.removeprefix("v") == pinned for word in words) else None


def find(judge: Judge) -> dict[str, Path] | None:
    """The judge's executables by name, from PATH or the cache; None when one of them is missing."""
    folder = built_folder(judge)
    cached = {name: folder / name for name, _ in judge.programs}
    if all(path.is_file() for path in cached.values()):
        return cached
    ready = {name: on_path(judge, name) for name, _ in judge.programs}
    found = {name: path for name, path in ready.items() if path is not None}
    return found if len(found) == len(ready) else None


def binaries(modules: Collection[str] = ()) -> dict[str, Path]:
    """Every executable of the named judges (default: all), by name.

    Raises:
        FileNotFoundError: one or more judges are not built; the message names them and the command that builds them.
    """
    found: dict[str, Path] = {}
    missing = []
    for judge in JUDGES:
        if modules and judge.module not in modules:
            continue
        programs = find(judge)
        if programs is None:
            missing.append(judge.module)
        else:
            found |= programs
    if missing:
        raise FileNotFoundError(f"judges not built: {', '.join(missing)}; run `make tools`")
    return found


def folder_bytes(folder: Path) -> int:
    """Disk space of all files below ``folder``; 0 when it does not exist."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_size  # noqa: PTH118 - a hundred thousand files
    return total


def go_env(name: str) -> Path:
    """A path from ``go env``."""
    said = subprocess.run(["go", "env", name], capture_output=True, text=True, check=True, cwd=TOOLS / "etcd")
    return Path(said.stdout.strip())


def disk_complaint() -> str | None:
    """A sentence when the volumes of the Go caches are too full for the builds to come."""
    for name in ("GOCACHE", "GOMODCACHE"):
        folder = go_env(name)
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(existing).free
        if free >= GO_CACHES_BYTES:
            continue
        held = folder_bytes(go_env("GOCACHE")) + folder_bytes(go_env("GOMODCACHE"))
        need = max(GO_CACHES_BYTES - held, GO_CACHES_BYTES // 10)
        if free < need:
            return (
                f"{existing}: {free / 1e9:.1f} GB free, and building the judges fills the Go caches with "
                f"{need / 1e9:.1f} GB more: free some space, or point GOCACHE and GOMODCACHE to a larger volume."
            )
    return None


@contextlib.contextmanager
def one_builder() -> Iterator[None]:
    """Only one build at a time per user: two would compile the same packages twice."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(judge: Judge) -> None:
    """Compile the judge's programs into its cache folder, all or none of them.

    Raises:
        subprocess.CalledProcessError: Go refused; its own output has been shown.
    """
    target = built_folder(judge)
    work = target.with_name(target.name + ".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for name, package in judge.programs:
        command = ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", judge.linker_flags()]
        command += ["-tags", judge.tags] if judge.tags else []
        command += ["-o", str(work / name), package]
        subprocess.run(command, cwd=judge.folder, check=True, env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"})
    shutil.rmtree(target, ignore_errors=True)
    work.rename(target)


def make(judges: tuple[Judge, ...]) -> int:
    """Build what is missing, one judge after the other, and say how long each took. Returns an exit code."""
    with one_builder():
        todo = [judge for judge in judges if find(judge) is None]
        if not todo:
            return 0
        if shutil.which("go") is None:
            print(NO_GO, file=sys.stderr)
            return 2
        complaint = disk_complaint()
        if complaint:
            print(complaint, file=sys.stderr)
            return 2
        for number, judge in enumerate(todo, 1):
            names = ", ".join(name for name, _ in judge.programs)
            print(f"[{number}/{len(todo)}] {names} {judge.version} ... ", end="", flush=True)
            start = time.monotonic()
            try:
                build(judge)
            except subprocess.CalledProcessError as error:
                print(f"\ntools/{judge.module}: `go build` ended with {error.returncode} (see above)", file=sys.stderr)
                return 1
            print(f"{time.monotonic() - start:.0f} s", flush=True)
    return 0


def main() -> int:
    """Build the named judges (default: all), or with ``--check`` only say what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("judge", nargs="*", choices=[[], *(judge.module for judge in JUDGES)], default=[])
    parser.add_argument("--check", action="store_true", help="exit 3 and name the judges that are not built")
    args = parser.parse_args()
    chosen = tuple(judge for judge in JUDGES if not args.judge or judge.module in args.judge)
    if args.check:
        missing = [judge.module for judge in chosen if find(judge) is None]
        if missing:
            hint = "`make test-judges` builds and runs it" if shutil.which("go") else NO_GO
            print(f"left out: the tier on real engines (not built: {', '.join(missing)}); {hint}")
        return 3 if missing else 0
    return make(chosen)


if __name__ == "__main__":
    sys.exit(main())

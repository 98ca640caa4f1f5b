"""Evaluate a Pulumi program as a first ``pulumi preview`` would, in this process and from files alone."""

from __future__ import annotations

import contextlib
import contextvars
import runpy
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

from pulumi.runtime import Settings, configure, set_all_config
from pulumi.runtime import settings as sdk
from pulumi.runtime._callbacks import _CallbackServicer
from pulumi.runtime.stack import run_in_stack

from headwater.preview import loop
from headwater.preview.errors import PreviewError, ProgramError
from headwater.preview.graph import Graph
from headwater.preview.monitor import Monitor
from headwater.preview.project import Project, denied_providers, load_config, load_project, stack_name
from headwater.preview.registry import Registry


def evaluate(stack_file: Path, project_dir: Path, stack: str | None = None) -> Graph:
    """What the project's program would create for a stack.

    Nothing outside the two folders counts: cloud and cluster variables of the environment are hidden, nothing is
    asked over a network. May be called again and again in one process.

    Args:
        stack_file: ``stacks/Pulumi.<env>.yaml``, or any file of that form.
        project_dir: folder with ``Pulumi.yaml`` and the program.
        stack: name of the stack, when it is not the file's.

    Raises:
        PreviewError: Pulumi's engine would refuse this, too.
        ProgramError: the program failed: a bug.
        Exception: a refusal (an exception with ``faults``) surfaces as it is.
    """
    project = load_project(project_dir.resolve())
    config = load_config(project, stack_file)
    name = stack or stack_name(stack_file)
    registry = Registry(project.name, name, config.values, config.secret_keys, denied_providers(config))
    monitor = Monitor(registry)

    def start() -> None:
        set_all_config(dict(config.values), sorted(config.secret_keys))
        sdk.set_root_resource(None)  # type: ignore[arg-type]
        configure(
            Settings(
                project.name,
                name,
                monitor=monitor,
                engine=monitor,
                dry_run=True,
                organization=monitor.organization,
                root_directory=str(project.directory),
            )
        )
        _run(project, monitor)

    with loop.files_alone(), loop.no_collection(), contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the SDKs deprecate parts of themselves at import
        contextvars.copy_context().run(start)
    return Graph(
        project=project.name,
        stack=name,
        resources=registry.resources(),
        outputs=registry.stack_outputs(),
        questions=tuple(sorted(monitor.questions, key=lambda q: (q.token, q.args, q.answered))),
        messages=tuple(sorted(set(monitor.messages), key=lambda m: (m.urn, m.text))),
    )


def _run(project: Project, monitor: Monitor) -> None:
    """Run the program against the monitor; the first thing that went wrong is what is raised."""
    raised: list[BaseException] = []

    async def program() -> None:
        try:
            runpy.run_path(str(project.main), run_name="__main__")
        except BaseException as error:
            raised.append(error)
            raise
        await loop.settle(lambda: len(sdk.SETTINGS.outputs))

    failed = True
    try:
        with _importable(project):
            loop.run(lambda: run_in_stack(program), threaded=lambda: bool(_CallbackServicer._servicers))
        failed = False
    except (Exception, SystemExit) as error:
        if raised and isinstance(raised[0], KeyboardInterrupt):
            raise KeyboardInterrupt from None
        cause = monitor.failure or (raised[0] if raised else error)
        raise _translated(cause, project) from None
    finally:
        if failed:
            loop.collect_quietly()
    if monitor.errors:
        text = "; ".join(message.text for message in monitor.errors)
        raise ProgramError(RuntimeError(f"the program logged an error: {text}"), "")


def _translated(error: BaseException, project: Project) -> BaseException:
    """A refusal or an engine's error as it is; anything else as a bug with its line."""
    looked_at: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in looked_at:  # the SDK raises an exception from itself: a ring
        if hasattr(link, "faults") or isinstance(link, PreviewError):
            return link
        looked_at.append(link)
        link = link.__cause__ or link.__context__
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_relative_to(project.directory) and "site-packages" not in path.parts:
            where = f"{path.relative_to(project.directory)}:{frame.lineno} in {frame.name}"
    wrapped = ProgramError(error, where)
    wrapped.__cause__ = error
    return wrapped


@contextlib.contextmanager
def _importable(project: Project) -> Iterator[None]:
    """The project's modules can be imported, and are forgotten afterwards, so that the next run reads them anew."""
    before = set(sys.modules)
    sys.path.insert(0, str(project.directory))
    try:
        yield
    finally:
        sys.path.remove(str(project.directory))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            inside = file is not None and Path(file).is_relative_to(project.directory)
            if inside and "site-packages" not in str(file) and name.partition(".")[0] != "headwater":
                del sys.modules[name]

"""Run a command; say no in words with exit code 2, own up to a bug of ours with exit code 70."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import sys
import traceback
from typing import NoReturn

from typer.exceptions import Abort, TyperException

from headwater.cli.streams import masked_stream
from headwater.refusal import Refusal

REFUSED = 2
BUG = 70
INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> None:
    """The console script ``headwater``; always ends with ``SystemExit``."""
    if arguments is None:
        _short_life()
    sys.stdout, sys.stderr = (stream or io.StringIO() for stream in (sys.stdout, sys.stderr))  # None when closed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in {"utf-8", "utf8"}:
            stream.reconfigure(encoding="utf-8")  # under LANG=C or an old code page
    words = sys.argv[1:] if arguments is None else arguments
    with contextlib.redirect_stdout(masked_stream(sys.stdout)), contextlib.redirect_stderr(masked_stream(sys.stderr)):
        _run(words)


def _run(words: list[str]) -> NoReturn:
    """One command, whatever it ends with."""
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    from headwater.cli.app import app

    try:
        code = app(words, prog_name="headwater", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # how typer tells of Ctrl-C
            raise KeyboardInterrupt
    except Refusal as refusal:
        sys.stderr.write(refusal.text() + "\n")
        raise SystemExit(REFUSED) from None
    except (Abort, KeyboardInterrupt):
        sys.stderr.write("Stopped; nothing was left half-done.\n")
        raise SystemExit(INTERRUPTED) from None
    except TyperException as wrong:
        _show_usage(wrong)
        raise SystemExit(REFUSED) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except Exception as error:
        if debug:
            traceback.print_exc()
        sys.stderr.write(_apology(error, words))
        raise SystemExit(BUG) from None
    raise SystemExit(code if isinstance(code, int) else 0)


def _short_life() -> None:
    """This process lives for seconds: looking for garbage, now or at its end, takes half of a preview's time."""
    gc.disable()
    atexit.register(gc.freeze)


def _show_usage(wrong: TyperException) -> None:
    """What is wrong with the words of the command, as typer says it."""
    show = getattr(wrong, "show", None)
    if show is None:
        sys.stderr.write(f"{wrong}\n")
    else:
        show()


def _apology(error: Exception, words: list[str]) -> str:
    """One paragraph for a bug: it is ours, what to send us."""
    where = _innermost(error)
    return (
        "This is a bug of Headwater's, not of your stack file; nothing was changed.\n"
        f"  Please report this line: headwater {' '.join(words)}: {type(error).__name__}: {error}{where}\n"
        "  --debug shows the whole trace.\n"
    )


def _innermost(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/headwater/" in f.filename or "/components/" in f.filename]
    if not own:
        return ""
    name = own[-1].filename.rsplit("/", 2)
    return f" ({'/'.join(name[-2:])}:{own[-1].lineno})"

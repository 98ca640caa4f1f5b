"""What the person at the terminal waits for; nothing in a pipe, and nothing on standard output."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show ``text`` and a moving sign while the block runs, when standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text, spinner="dots"):
        yield

"""What commands write to: the terminal or the pipe, without secrets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, cast

from headwater.refusal import Fault, Refusal, masked


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """A full disk is no bug of ours; a reader that has gone is no failure, and told otherwise."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Refusal(
            [Fault("the output", "", f"It cannot be written: {error.strerror}.", "Write elsewhere.")]
        ) from None


class _Masked:
    """A text stream through which no Hugging Face token passes; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write ``text``, its tokens masked; the length is the caller's."""
        with _told():
            self._stream.write(masked(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of ``lines`` likewise."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Everything written so far, on its way."""
        with _told():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def masked_stream(stream: TextIO) -> TextIO:
    """``stream`` for whoever writes what people read."""
    return cast(TextIO, _Masked(stream))

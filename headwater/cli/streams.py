"""What commands write to: the terminal or the pipe, without secrets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO, cast

from headwater.refusal import masked


class _Masked:
    """A text stream through which no Hugging Face token passes; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write ``text``, its tokens masked; the length is the caller's."""
        self._stream.write(masked(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of ``lines`` likewise."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def masked_stream(stream: TextIO) -> TextIO:
    """``stream`` for whoever writes what people read."""
    return cast(TextIO, _Masked(stream))

"""vLLM versions as people and logs write them, and half-open intervals of them."""

from __future__ import annotations

import re
from functools import lru_cache

from headwater.sizing.units import SizingError

Version = tuple[int, int, int]


@lru_cache(maxsize=1024)
def parse_version(text: str) -> Version:
    """First version found in ``text``: ``v0.19.0``, ``~0.11``, ``0.15.2rc1``, ``0.17/0.18 dev`` (the first of the two).

    Raises:
        SizingError: when there is none.
    """
    found = re.search(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", text)
    if found is None:
        raise SizingError(f"vLLM version {text!r} is not a version; write it like 0.31.0")
    return int(found[1]), int(found[2] or 0), int(found[3] or 0)


def since(version: Version, start: str) -> bool:
    """True from ``start`` on."""
    return version >= parse_version(start)


def within(version: Version, start: str, end: str) -> bool:
    """True in ``[start, end)``."""
    return parse_version(start) <= version < parse_version(end)

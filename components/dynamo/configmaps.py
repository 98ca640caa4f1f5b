"""Configuration files that are read once, at the start: a change of content is another object, and pods roll to it."""

from __future__ import annotations

import hashlib


def content_name(name: str, text: str) -> str:
    """``<name>-<ten digits of the content's hash>``."""
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"

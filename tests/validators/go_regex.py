"""Go (RE2) patterns on Python's ``re``: ``$`` ends the text, and flags may stand behind ``^``."""

import re
from functools import cache


@cache
def compile_go(pattern: str) -> re.Pattern[str]:
    """The pattern as Go reads it; raises ``re.error`` when neither reads it."""
    flags = 0
    if found := re.match(r"\^?\(\?([ims]+)\)", pattern):
        flags = sum({"i": re.I, "m": re.M, "s": re.S}[flag] for flag in found.group(1))
        pattern = pattern[: found.group(0).startswith("^")] + pattern[found.end() :]
    out, in_class, escaped = [], False, False
    for char in pattern:
        if escaped:
            out.append("Z" if char == "z" and not in_class else char)
            escaped = False
            continue
        if char == "\\":
            escaped = True
        elif char == "[":
            in_class = True
        elif char == "]":
            in_class = False
        out.append(r"\Z" if char == "$" and not in_class and not flags & re.M else char)
    return re.compile("".join(out), flags | re.A)


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text, unanchored, as the API server does."""
    return compile_go(pattern).search(text) is not None

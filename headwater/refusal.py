"""How Headwater says no: where, what, which bound, why, what to do. One fault a paragraph, all faults at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

HUB_TOKEN = re.compile(r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{16,}")
"""A Hugging Face token; a real one has 34 letters and digits after its prefix."""
_TOKEN_LIKE = re.compile(r"(?<![A-Za-z0-9])hf_(?!overrides\b)[A-Za-z0-9]{8,}")
"""In a refusal, where a person may have pasted half of one; ``hf_overrides`` is an argument of vLLM."""


def masked(text: str, pattern: re.Pattern[str] = HUB_TOKEN) -> str:
    """``text`` without the Hugging Face tokens in it: whatever a person gets to read goes through here."""
    return pattern.sub("hf_***", text) if "hf_" in text else text


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that cannot be done as asked.

    Attributes:
        path: key path as the person wrote it, e.g. ``headwater:serving.models[0].context``.
        value: the value found there, as text; empty when the key is absent.
        why: the bound and the reason, one sentence.
        remedy: what to change, one sentence.
    """

    path: str
    value: str
    why: str
    remedy: str

    def text(self, source: str = "") -> str:
        """The fault as a paragraph; ``source`` is the stack file, shown in front of the key path."""
        head = f"{source}, {self.path}" if source else self.path
        if self.value:
            head += f" = {self.value}"
        return masked("\n".join([head, f"  {self.why}", *([f"  {self.remedy}"] if self.remedy else [])]), _TOKEN_LIKE)


class Refusal(Exception):
    """The stack file asks for something impossible, unsafe or unknown. Carries every fault found.

    Attributes:
        faults: all faults, in the order of the stack file.
        source: the stack file or command the faults belong to; may be empty.
    """

    def __init__(self, faults: Iterable[Fault], source: str = "") -> None:
        self.faults = tuple(faults)
        self.source = source
        super().__init__(self.text())

    def text(self) -> str:
        """Every fault as its own paragraph."""
        return "\n\n".join(fault.text(self.source) for fault in self.faults)

    def at(self, source: str) -> Refusal:
        """The same refusal, saying which file it is about."""
        return Refusal(self.faults, source)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like ``word``, or None when nothing is near."""
    choices = sorted(known)
    folded = {choice.lower(): choice for choice in reversed(choices)}
    found = difflib.get_close_matches(word.lower(), list(folded), n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``Did you mean `x`?``, else the known words as a list."""
    choices = sorted(known)
    best = nearest(word, choices)
    return f"Did you mean `{best}`?" if best else "Known: " + ", ".join(choices) + "."

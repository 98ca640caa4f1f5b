"""Faults that the simulated AWS plays on demand, and what somebody wants to do in the middle of a creation."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["throttled", "refused", "slow", "after-create"]
When = Literal["before", "after"]
"""A moment of a creation: it does not exist yet; it exists, and the engine has not been told."""

MESSAGES = {
    "throttled": "api error ThrottlingException: Rate exceeded",
    "refused": "api error InsufficientInstanceCapacity: We currently do not have sufficient capacity",
    "after-create": "waiting for creation: unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'",
}


@dataclass
class Faults:
    """Per resource type, how often which fault strikes the next creations; per resource, who wants to act meanwhile.

    Attributes:
        played: (type, kind) of each fault that struck, in order.
        met: (URN, moment) of each creation in which somebody acted, in order.
    """

    planned: dict[str, list[Kind]] = field(default_factory=dict)
    played: list[tuple[str, Kind]] = field(default_factory=list)
    met: list[tuple[str, When]] = field(default_factory=list)
    seconds: float = 3.0
    _acts: dict[tuple[str, When], Callable[[], None]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def plan(self, type_: str, kind: Kind, times: int = 1) -> None:
        """The next ``times`` creations of the type meet the fault."""
        with self._lock:
            self.planned.setdefault(type_, []).extend([kind] * times)

    def act(self, urn: str, when: When, action: Callable[[], None]) -> None:
        """Run ``action`` in the next creation of this resource, at that moment; ``before`` also ends the creation."""
        with self._lock:
            self._acts[(urn, when)] = action

    def next(self, type_: str) -> Kind | None:
        """The fault that strikes this creation, if any; ``slow`` has been waited out on return."""
        with self._lock:
            waiting = self.planned.get(type_)
            if not waiting:
                return None
            kind = waiting.pop(0)
            self.played.append((type_, kind))
        if kind == "slow":
            time.sleep(self.seconds)
        return kind

    def meet(self, urn: str, when: When) -> bool:
        """Let whoever asked for this moment act; whether somebody did."""
        with self._lock:
            action = self._acts.pop((urn, when), None)
            if action is None:
                return False
            self.met.append((urn, when))
        action()
        return True

"""Faults that the simulated AWS plays on demand."""

import threading
import time
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["throttled", "refused", "slow", "after-create"]

MESSAGES = {
    "throttled": "api error ThrottlingException: Rate exceeded",
    "refused": "api error InsufficientInstanceCapacity: We currently do not have sufficient capacity",
    "after-create": "waiting for creation: unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'",
}


@dataclass
class Faults:
    """Per resource type, how often which fault strikes the next creations.

    Attributes:
        played: (type, kind) of each fault that struck, in order.
    """

    planned: dict[str, list[Kind]] = field(default_factory=dict)
    played: list[tuple[str, Kind]] = field(default_factory=list)
    seconds: float = 3.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def plan(self, type_: str, kind: Kind, times: int = 1) -> None:
        """The next ``times`` creations of the type meet the fault."""
        with self._lock:
            self.planned.setdefault(type_, []).extend([kind] * times)

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

"""The whole simulated world, up in one call and down in one call."""

import time
from pathlib import Path
from typing import Any

from .aws import SimulatedAws
from .controlplane import ControlPlane
from .follower import Follower
from .joiner import Joiner
from .stages import Loads, stages


class World:
    """A control plane, a simulated AWS region, the nodes between them, and the controllers of installed charts.

    Attributes:
        seconds: how long it took to come up.
    """

    def __init__(
        self,
        binaries: dict[str, Path],
        folder: Path,
        *,
        root: Path,
        region: str,
        prices: dict[str, float],
        loads: Loads,
    ):
        start = time.monotonic()
        self.folder, self.logs, self.binaries = folder, folder / "logs", binaries
        self.logs.mkdir(parents=True, exist_ok=True)
        self._parts: list[Any] = []
        try:
            self.aws = self._part(SimulatedAws(region, folder, self.logs, prices=prices, root=root))
            self.plane = self._part(ControlPlane(binaries, folder / "plane", self.logs, stages(loads)))
            self.follower = self._part(Follower(self.plane, self.aws, binaries))
            self.joiner = self._part(Joiner(self.plane.kube, self.aws, plugins=self.follower.plugins))
        except BaseException:
            self.close()
            raise
        self.kube = self.plane.kube
        self.seconds = time.monotonic() - start

    def _part(self, part: Any) -> Any:
        self._parts.append(part)
        return part

    def close(self) -> None:
        """End everything, last first."""
        for part in reversed(self._parts):
            part.close()
        self._parts.clear()

"""A chart's controllers run while its echo is in the cluster: they start after it and end with it."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .aws import SimulatedAws
from .charts import CHART_LABEL
from .controllers import start_karpenter, start_lws, stop_lws, values_of
from .controlplane import ControlPlane
from .daemon import Daemon
from .external_secrets import ExternalSecrets
from .graphs import GraphOperator
from .kube import KubeError

Object = dict[str, Any]


class Follower:
    """Starts and ends Karpenter, the LWS controller and the stand-in operators as their charts come and go.

    Attributes:
        installed: charts whose echo is in the cluster now, by name.
        history: every coming and going in order: ``("+karpenter", ...)``.
    """

    def __init__(self, plane: ControlPlane, aws: SimulatedAws, binaries: dict[str, Path], *, every: float = 0.3):
        self._plane, self._aws, self._binaries, self._every = plane, aws, binaries, every
        self.installed: dict[str, Object] = {}
        self.history: list[str] = []
        self.errors: list[Exception] = []
        self._running: dict[str, Daemon | GraphOperator | ExternalSecrets] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self._step()
            except (KubeError, OSError, RuntimeError) as error:
                self.errors.append(error)
        for name in list(self._running):
            self._end(name)

    def _step(self) -> None:
        echoes = self._plane.kube.list("v1", "ConfigMap", labels=CHART_LABEL)
        now = {item["metadata"]["labels"][CHART_LABEL]: item for item in echoes}
        for name in [name for name in self.installed if name not in now]:
            self._end(name)
            self.installed.pop(name)
            self.history.append(f"-{name}")
        for name, echo in now.items():
            if (
                self.installed.get(name, {}).get("metadata", {}).get("resourceVersion")
                == echo["metadata"]["resourceVersion"]
            ):
                continue
            self._end(name)
            self._begin(name, echo)
            self.installed[name] = echo
            self.history.append(f"+{name}")

    def _begin(self, name: str, echo: Object) -> None:
        start: dict[str, Callable[[], Daemon | GraphOperator | ExternalSecrets]] = {
            "karpenter": lambda: start_karpenter(
                self._plane,
                self._binaries["karpenter-aws"],
                self._aws,
                values=values_of(echo),
                namespace=echo["metadata"]["namespace"],
            ),
            "lws": lambda: start_lws(self._plane, self._binaries["lws-controller"]),
            "dynamo-platform": lambda: GraphOperator(self._plane.kube),
            "external-secrets": lambda: ExternalSecrets(self._plane.kube),
        }
        if name in start:
            self._running[name] = start[name]()

    def _end(self, name: str) -> None:
        running = self._running.pop(name, None)
        if isinstance(running, GraphOperator | ExternalSecrets):
            running.close()
        elif running is not None and name == "lws":
            stop_lws(self._plane, running)
        elif running is not None:
            running.stop()

    def plugins(self) -> set[str]:
        """Extended resources that a device plugin announces on the nodes now."""
        by_chart = {"gpu-operator": "nvidia.com/gpu", "aws-efa-k8s-device-plugin": "vpc.amazonaws.com/efa"}
        return {resource for chart, resource in by_chart.items() if chart in self.installed}

    def close(self) -> None:
        """Stop following and end what runs."""
        self._stop.set()
        self._thread.join(60)

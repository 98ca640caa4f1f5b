"""A stand-in for External Secrets: stores become ready, external secrets become Secrets with a marker in them."""

import threading
from typing import Any

from .kube import Kube, KubeError

Object = dict[str, Any]
API = "external-secrets.io/v1"
MARKER = "hf_judgesMarkerThatMustNeverBeSeen"
"""What every secret of the simulated Secrets Manager holds."""


class ExternalSecrets:
    """Plays the operator until closed."""

    def __init__(self, kube: Kube, *, every: float = 0.3):
        self._kube, self._every = kube, every
        self._stop = threading.Event()
        self.errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, name="external-secrets", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                for kind in ("SecretStore", "ClusterSecretStore", "ExternalSecret"):
                    for item in self._kube.list(API, kind):
                        self._reconcile(item)
            except (KubeError, OSError) as error:
                self.errors.append(error)

    def _reconcile(self, item: Object) -> None:
        if item["metadata"].get("deletionTimestamp") or (item.get("status") or {}).get("conditions"):
            return
        if item["kind"] == "ExternalSecret":
            metadata = item["metadata"]
            target = item["spec"].get("target", {}).get("name") or metadata["name"]
            owner = {"apiVersion": API, "kind": item["kind"], "name": metadata["name"], "uid": metadata["uid"]}
            self._kube.apply(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": target, "namespace": metadata["namespace"], "ownerReferences": [owner]},
                    "stringData": {entry["secretKey"]: MARKER for entry in item["spec"]["data"]},
                }
            )
        ready = {"type": "Ready", "status": "True", "reason": "Valid", "message": "simulated"}
        self._kube.patch(item, {"status": {"conditions": [ready]}}, status=True)

    def close(self) -> None:
        """Stop playing."""
        self._stop.set()
        self._thread.join(10)

"""An environment whose `up` is interrupted, and what a person then does about it (docs/interrupted.md)."""

import json
import threading
import time
from typing import Any

from headwater.cli.resume import RELEASE, look_for, pending_creations, resumed

from .engine.aws_provider import plain
from .engine.cli import end_plugins
from .engine.faults import When
from .engine.harness import Harness
from .world.daemon import wait_until

Object = dict[str, Any]


class Trial:
    """A stack in its world, without anybody who answers questions.

    Attributes:
        imported: URNs of what a killed CLI had created and not recorded, in order.
        cleared: URNs of the creations that a killed CLI had begun and that came to nothing, in order.
    """

    def __init__(self, harness: Harness, stack: str):
        self.harness, self.pulumi, self.aws, self.kube = harness, harness.pulumi, harness.aws, harness.world.kube
        self.imported: list[str] = []
        self.cleared: list[str] = []
        self.pulumi.init(stack)

    def close(self) -> None:
        """End the engine and its world."""
        self.harness.close()
        self.harness.world.close()

    def object_of(self, item: Object) -> Object | None:
        """The object that a Kubernetes resource of the state stands for, or the record of a Helm release."""
        inputs = item["inputs"]
        if item["type"] == RELEASE:
            name, namespace = inputs["name"], inputs["namespace"]
            return self.kube.get("v1", "Secret", f"sh.helm.release.v1.{name}.v1", namespace)
        metadata = inputs["metadata"]
        return self.kube.get(
            inputs["apiVersion"], inputs["kind"], metadata["name"], metadata.get("namespace", "default")
        )

    def kill(self, target: Object, when: When) -> int | None:
        """Start an ``up`` and kill the CLI in the creation of ``target``; returns its exit code.

        An AWS resource is met in the provider at that very moment; a Kubernetes one as soon as the API server has it.
        """
        process = self.pulumi.start("up", "--yes", "--skip-preview")
        if target["type"].startswith("aws:"):
            self.aws.faults.act(target["urn"], when, process.kill)
        else:
            threading.Thread(target=self._kill_once_there, args=(process, target), daemon=True).start()
        try:
            process.communicate(timeout=120)
        finally:
            process.kill()
        wait_until("what was asked of AWS is done", lambda: not self.aws.busy, seconds=90, every=0.01)
        return process.returncode

    def _kill_once_there(self, process: Any, target: Object) -> None:
        while process.poll() is None:
            if self.object_of(target) is not None:
                process.kill()
            time.sleep(0.003)

    def resume(self) -> None:
        """Unlock the state of a killed CLI, say of each creation it had begun what came of it, and read that in."""
        self.pulumi.run("cancel", "--yes")
        exported = self.pulumi.home / "exported.json"
        self.pulumi.run("stack", "export", "--file", str(exported))
        state = json.loads(exported.read_text())
        pending = pending_creations(state)
        self._let_the_plugin_finish(pending)
        known = {(item["type"], item.get("id")) for item in state["deployment"].get("resources") or []}
        answers = {item["urn"]: self._looked_up(item, known) for item in pending}
        self.cleared += [urn for urn, number in answers.items() if number is None]
        self.imported += [urn for urn, number in answers.items() if number is not None]
        settled = self.pulumi.home / "settled.json"
        settled.write_text(json.dumps(resumed(state, answers)))
        self.pulumi.run("stack", "import", "--file", str(settled))
        self.pulumi.run("refresh", "--yes", "--skip-preview")

    def _let_the_plugin_finish(self, begun: list[Object]) -> None:
        """The Kubernetes plugin outlives the CLI by the calls it was in; then it is gone."""
        objects = [item for item in begun if item["type"].startswith("kubernetes:")]
        deadline = time.monotonic() + 3
        while objects and time.monotonic() < deadline:
            objects = [item for item in objects if not self._whole(item)]
            time.sleep(0.05)
        end_plugins(self.pulumi.home)

    def _whole(self, item: Object) -> bool:
        found = self.object_of(item)
        if found is None or item["type"] != RELEASE:
            return found is not None
        return bool(found["metadata"]["labels"]["status"] == "deployed")

    def _looked_up(self, item: Object, known: set[tuple[str, Any]]) -> str | None:
        """The id of what was created and not recorded, as a console would show it; None if it is not there."""
        if item["type"].startswith("aws:"):
            asked = plain(item["inputs"])
            for (type_, number), kept in self.aws.kept.items():
                if type_ == item["type"] and (type_, number) not in known and kept.inputs == asked:
                    return number
            return None
        if self.object_of(item) is None:
            return None
        return look_for(item)

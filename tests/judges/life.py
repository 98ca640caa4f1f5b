"""One environment's whole life in a simulated world, step by step; a step that failed fails what follows from it."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import pytest

from headwater.plan import Plan, build_plan
from headwater.plan.dynamo_layout import component_name
from headwater.settings import settings_from_config

from . import placement
from .engine.events import steps
from .engine.harness import Harness
from .stored import inventory
from .world.daemon import wait_until
from .world.external_secrets import MARKER
from .world.graphs import KIND as GRAPH_KIND
from .world.graphs import VERSION as GRAPH_VERSION
from .world.stages import Loads
from .world.world import World

Object = dict[str, Any]
OTHER = {"llm-d": "dynamo", "dynamo": "llm-d"}
DEPLOYMENT = ("apps/v1", "Deployment")
LEADER_WORKER_SET = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
CLOCK = 1 / 1000
"""A second here is a quarter of an hour there: how fast simulated models load."""


def plan_of(config: Object, stack: str) -> Plan:
    """The plan of a stack file."""
    return build_plan(settings_from_config(config, stack))


def loads_of(plan: Plan) -> Loads:
    """How long each model's pods load, on this world's clock: the budget the plan gives their start-up probes."""
    roles = [(model.name, role) for model in plan.models for role in model.roles]
    return {(name, role.role): role.startup_seconds * CLOCK for name, role in roles}


class Life:
    """A stack in its world.

    Attributes:
        serving: the serving stack that is deployed.
        before: objects in the API server before the first ``up``.
    """

    def __init__(self, world: World, harness: Harness, stack: str, config: Object):
        self.world, self.harness, self.stack, self.config = world, harness, stack, copy.deepcopy(config)
        self.pulumi = harness.pulumi
        self.before = inventory(world.kube)
        self.seen = ""
        self._failed = ""
        for pool in self.plan.pools:
            for reservation in pool.reservations:
                zone, count = reservation.zone or pool.zones[0], reservation.instances or 1
                world.aws.reserve(reservation.id, pool.instances[0], zone, count)
        self.pulumi.init(stack)
        if "headwater:huggingFace" not in config:
            self.pulumi.run("config", "set", "--secret", "--path", "headwater:huggingFace.token", MARKER)

    @property
    def serving(self) -> str:
        """The serving stack of the stack file as it is now."""
        return str(self.config["headwater:serving"]["stack"])

    @property
    def plan(self) -> Plan:
        """The plan of the stack file as it is now."""
        return plan_of(self.config, self.stack)

    def change_serving(self, change: Object) -> None:
        """Edit ``headwater:serving`` in the stack file."""
        self.config["headwater:serving"] = self.config["headwater:serving"] | change
        self.pulumi.configure(self.stack, {"headwater:serving": self.config["headwater:serving"]})

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A step of the life; after a failed one the rest is not worth running."""
        if self._failed:
            pytest.skip(f"the step before failed: {self._failed}")
        try:
            yield
        except BaseException:
            self._failed = name
            raise

    def up(self, *args: str) -> list[tuple[str, str]]:
        """``pulumi up``: (operation, URN) of all it changed; every difference it shows is kept to look for secrets."""
        events = self.harness.project / "up.events"
        self.seen += self.pulumi.up("--diff", "--event-log", str(events), *args).text
        return [(op, urn) for op, urn in steps(events) if op != "same"]

    def destroy(self) -> list[str]:
        """``pulumi destroy``: URNs in the order in which they were gone."""
        events = self.harness.project / "destroy.events"
        self.seen += self.pulumi.run("destroy", "--yes", "--event-log", str(events), timeout=1200).text
        return [urn for op, urn in steps(events) if op == "delete"]

    def scale(self, *, most: bool) -> None:
        """Set every growing role's replicas, as its autoscaler would: to the plan's most, or back to its least."""
        kube = self.world.kube
        for model in self.plan.models:
            for role in model.roles:
                wanted = role.replicas_max if most else role.replicas_min
                if role.replicas_max == role.replicas_min:
                    continue
                if self.serving == "dynamo":
                    self._scale_graph(model.name, component_name(role), wanted)
                    continue
                kind = LEADER_WORKER_SET if role.nodes > 1 else DEPLOYMENT
                servers = kube.get(*kind, f"{model.name}-{role.role}", "models")
                assert servers is not None
                kube.patch(servers, {"spec": {"replicas": wanted}})

    def _scale_graph(self, name: str, component: str, wanted: int) -> None:
        """As a scaling adapter does: this component's number alone."""
        graph = self.world.kube.get(GRAPH_VERSION, GRAPH_KIND, name, "models")
        assert graph is not None
        names = [part["name"] for part in graph["spec"]["components"]]
        path = f"/spec/components/{names.index(component)}/replicas"
        self.world.kube.edit(graph, [{"op": "replace", "path": path, "value": wanted}])

    @contextlib.contextmanager
    def impatience(self) -> Iterator[None]:
        """Karpenter gives empty nodes back at once, not after the quarter of an hour that the pools ask for."""
        pools = self.world.kube.list("karpenter.sh/v1", "NodePool")
        for pool in pools:
            self.world.kube.patch(pool, {"spec": {"disruption": {"consolidateAfter": "1s"}}})
        try:
            yield
        finally:
            for pool in pools:
                after = pool["spec"]["disruption"]["consolidateAfter"]
                self.world.kube.patch(pool, {"spec": {"disruption": {"consolidateAfter": after}}})

    def settle(self, pods: int, *, seconds: float = 300) -> None:
        """Wait until so many model pods run, every node is initialised."""

        def settled() -> bool:
            self.world.plane.check()
            running = placement.model_pods(self.world)
            claims = self.world.kube.list("karpenter.sh/v1", "NodeClaim")
            ready = all(
                any(
                    item["type"] == "Initialized" and item["status"] == "True" for item in claim["status"]["conditions"]
                )
                for claim in claims
                if claim.get("status")
            )
            return len(running) == pods and not placement.not_running(self.world) and ready and bool(claims)

        try:
            wait_until(f"{pods} model pods run", settled, seconds=seconds, every=0.5)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n" + "\n".join(self.story())) from None

    def settle_first(self) -> None:
        """Wait until the plan's least pods run, and Karpenter reports every condition of its classes and pools True."""
        self.settle(placement.demanded_pods(self.plan))
        with contextlib.suppress(TimeoutError):
            wait_until("Karpenter is content", lambda: not placement.not_ready(self.world), seconds=90, every=0.5)
        assert placement.not_ready(self.world) == []

    def story(self) -> list[str]:
        """What a person would look at: pods that wait, the scheduler's and Karpenter's last words."""
        lines = [*placement.not_running(self.world), *placement.not_ready(self.world)]
        events = [item for item in self.world.kube.list("v1", "Event") if item.get("type") == "Warning"]
        lines += sorted({f"{item['involvedObject']['name']}: {item['message'][:300]}" for item in events})[-15:]
        log = self.world.logs / "karpenter.log"
        if log.exists():
            lines += [line[:500] for line in log.read_text().splitlines() if '"ERROR"' in line][-5:]
        lines += [f"joiner: {error}" for error in self.world.joiner.errors[-3:]]
        return lines + [f"follower: {error}" for error in self.world.follower.errors[-3:]]

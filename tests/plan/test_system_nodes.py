"""The system node group: as large as what runs on it, the same under both serving stacks."""

from __future__ import annotations

import math
from typing import Any

import pytest

from components.quantities import cpu, mebibytes
from headwater.catalog.defaults import default
from headwater.catalog.instances import load_instances
from headwater.catalog.prices import on_demand
from headwater.catalog.system import default_system_types, pod_facts, system_types, why_no_system_type
from headwater.plan import Plan, SystemGroup
from headwater.plan.quotas import needs
from headwater.plan.system_model import Workload
from headwater.plan.system_nodes import _placed, nodes_for, room_of
from headwater.plan.system_pods import daemons, system_pods
from headwater.refusal import Refusal
from tests.plan.plans import glm, kimi, plan, qwen, shipped
from tests.stacks import SERVING, STACKS, graph, varied
from tests.validators import helm

VARIANTS: dict[str, dict[str, Any]] = {
    "usual": {},
    "standalone": {"llmd": {"mode": "standalone"}},
    "agentgateway": {"llmd": {"gateway": "agentgateway"}},
    "istio": {"llmd": {"gateway": "istio"}},
    "latency": {"llmd": {"path": "slo"}, "dynamo": {"gateway": "picker"}},
    "unobserved": {"observability": {"enabled": False}},
    "own autoscaler": {"llmd": {"autoscaling": {"by": "hpa"}}},
    "many frontends": {"dynamo": {"frontend": {"replicas": 6}}},
}


def model(change: dict[str, Any]) -> dict[str, Any]:
    """A model that follows load, where Prometheus is there to be asked."""
    return qwen() if "observability" in change else qwen(replicas={"min": 1, "max": 3})


def group(found: Plan) -> SystemGroup:
    assert found.system is not None
    return found.system


@pytest.mark.parametrize(("stack", "nodes"), [("dev", 2), ("staging", 4), ("prod", 4)])
def test_shipped_stacks_have_the_nodes_their_pods_take(stack, nodes):
    assert group(shipped(stack)).nodes == nodes
    assert group(shipped(stack)).nodes_max == 2 * nodes


@pytest.mark.parametrize("change", VARIANTS.values(), ids=VARIANTS)
def test_the_serving_stack_never_changes_the_group(change):
    one, other = (plan(model(change), stack=serving, **change) for serving in SERVING)
    assert one.system == other.system
    assert one.cost.platform == other.cost.platform


@pytest.mark.parametrize("change", VARIANTS.values(), ids=VARIANTS)
def test_every_pod_of_both_stacks_has_a_place(change):
    found = plan(model(change), **change)
    room = room_of(found.settings, group(found).instances)
    for pods in system_pods(found.settings, found.models).values():
        every = [w for w in pods for _ in range(w.replicas)]
        assert _placed(every, room, group(found).nodes)
        assert sum(w.cpu_millis for w in every) <= room.cpu_millis * group(found).nodes
        assert sum(w.memory_mib for w in every) <= room.memory_mib * group(found).nodes


def test_when_a_zone_is_gone_one_replica_of_everything_has_a_place():
    for stack in STACKS:
        found = shipped(stack)
        left = group(found).nodes - math.ceil(group(found).nodes / len(found.zones))
        whole = room_of(found.settings, group(found).instances, margin=False)
        for pods in system_pods(found.settings, found.models).values():
            assert _placed(pods, whole, left)


def test_fewer_nodes_would_not_do():
    found = shipped("staging")
    pods = system_pods(found.settings, found.models)["dynamo"]
    every = [w for w in pods for _ in range(w.replicas)]
    assert not _placed(every, room_of(found.settings, group(found).instances), group(found).nodes - 1)


def test_a_rollout_that_starts_the_new_pod_first_has_room_for_it():
    found = plan(qwen())
    types = group(found).instances
    half = room_of(found.settings, types).cpu_millis // 2
    pods = [Workload(name="large", replicas=4, cpu_millis=half, memory_mib=64)]
    assert nodes_for(found.settings, pods, types, 2) == 3
    assert nodes_for(found.settings, [*map(_in_place, pods), _tiny()], types, 2) == 2


def _in_place(workload: Workload) -> Workload:
    return workload.model_copy(update={"in_place": True})


def _tiny() -> Workload:
    return Workload(name="tiny", replicas=1, cpu_millis=0, memory_mib=0)


def test_more_demand_never_takes_fewer_nodes():
    counts = [group(plan(qwen(), dynamo={"frontend": {"replicas": n}})).nodes for n in (1, 2, 4, 8)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_a_pod_too_large_for_the_usual_type_takes_the_next():
    assert group(plan(qwen(), dynamo={"frontend": {"cpu": 8}})).instances == default_system_types()[1]
    assert group(plan(qwen(), dynamo={"frontend": {"memory": 100}})).instances == default_system_types()[2]


def test_the_stack_files_own_size_is_kept_when_it_holds_the_demand():
    found = plan(qwen(), systemNodes={"instances": ["m7i.4xlarge"], "min": 3, "max": 5})
    assert (group(found).instances, group(found).nodes, group(found).nodes_max) == (("m7i.4xlarge",), 3, 5)
    assert found.cost.platform == pytest.approx(0.10 + 3 * (on_demand("us-east-2", "m7i.4xlarge") or 0))


def test_of_several_types_the_smallest_counts():
    mixed = group(plan(qwen(), systemNodes={"instances": ["m7i.4xlarge", "m7i.2xlarge"]}))
    assert mixed.room == group(plan(qwen(), systemNodes={"instances": ["m7i.2xlarge"]})).room


def test_a_size_that_only_the_other_serving_stack_outgrows_is_refused_too():
    with pytest.raises(Refusal, match=r"systemNodes\.min = 2"):
        plan(qwen(), glm(), stack="llm-d", systemNodes={"min": 2})


def test_an_existing_cluster_has_no_group_and_no_bill_for_one():
    given = {"system": ["subnet-0aaaaaaaaaaaaaaa1", "subnet-0aaaaaaaaaaaaaaa2"], "gpu": {"us-east-2a": "subnet-0b1"}}
    found = plan(qwen(), cluster={"existing": "shared"}, network={"vpc": "vpc-0a1", "subnets": given})
    assert found.system is None
    assert found.cost.platform == 0.0
    assert found.cost.complete


def test_the_quota_follows_the_group():
    found = plan(qwen(), systemNodes={"instances": ["m7i.4xlarge"], "max": 7})
    assert {n.quota.code: n.amount for n in needs(found)}["L-1216C47A"] == 7 * 16


def test_allocatable_is_by_the_same_rule_as_gpu_nodes():
    """Kubelet's reserve: 6, 1, twice 0.5 and then 0.25 % of a core; 255 MiB and 11 a pod; 100 MiB for eviction."""

    def left(vcpus: int, memory: int, pods: int) -> tuple[int, int]:
        millis = vcpus * 1000 - (60 + 10 * (vcpus > 1) + 5 * min(2, max(0, vcpus - 2)) + 2.5 * max(0, vcpus - 4))
        return int(millis), int(memory * 0.925 - 255 - 11 * pods - 100)

    for kind in load_instances().values():
        free = kind.allocatable
        expected = left(kind.vcpus, kind.memory_mib, free.pods)
        assert free.cpu_millis == expected[0]
        assert free.memory_mib == pytest.approx(expected[1], abs=1)
    for small in system_types().values():
        if small.vcpus <= 8:
            expected = left(small.vcpus, small.memory_mib, small.allocatable.pods)
            assert small.allocatable.cpu_millis == expected[0]
            assert small.allocatable.memory_mib == pytest.approx(expected[1], abs=1)


def test_default_types_are_known_priced_and_alike():
    for step in default_system_types():
        assert len({(system_types()[n].vcpus, system_types()[n].memory_mib) for n in step}) == 1
        assert all(on_demand("us-east-2", name) for name in step)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("m7g.xlarge", "Arm"), ("c6gn.2xlarge", "Arm"), ("t4g.large", "Arm"), ("im4gn.xlarge", "Arm"),
        ("a1.xlarge", "Arm"), ("r8gd.4xlarge", "Arm"), ("g5g.xlarge", "GPUs"), ("p5.48xlarge", "GPUs"),
        ("g6e.xlarge", "GPUs"), ("inf2.xlarge", "GPUs"), ("trn1.2xlarge", "GPUs"), ("m9z.large", "does not know"),
        ("large", "does not know"),
    ],
)  # fmt: skip
def test_types_that_cannot_carry_controllers_say_why(name, word):
    answer = why_no_system_type(name)
    assert answer is not None
    assert word in answer[0]


def test_ordinary_types_are_taken():
    assert not [n for n in ("m7i.large", "m6a.4xlarge", "c7i.2xlarge", "r7i.8xlarge") if why_no_system_type(n)]


# What is counted is what is rendered.


def rendered(found: Any, values: str, *path: str) -> Any:
    """Values of a chart in a graph, by a path into them."""
    [release] = [r for r in found.resources if r.type.endswith("Release") and r.inputs["chart"].endswith(values)]
    place = release.inputs["values"]
    for key in path:
        place = place[key]
    return place


def counted(stack: str, serving: str) -> dict[str, Workload]:
    found = shipped(stack)
    return {w.name: w for w in system_pods(found.settings, found.models)[serving]}  # type: ignore[index]


def same(workload: Workload, replicas: int, requests: dict[str, str]) -> bool:
    """Whether a manifest asks what was counted."""
    asked = {"cpu": cpu(workload.cpu_millis), "memory": mebibytes(workload.memory_mib)}
    return (workload.replicas, asked) == (replicas, requests)


@pytest.mark.parametrize("stack", STACKS)
def test_dynamos_frontends_ask_what_is_counted(stack):
    pods = counted(stack, "dynamo")
    graphs = [r for r in graph(stack, "dynamo").resources if r.type.endswith("DynamoGraphDeployment")]
    assert graphs
    for one in graphs:
        parts = {part["type"]: part for part in one.inputs["spec"]["components"]}
        template = parts["frontend"]["podTemplate"]
        [container] = template["spec"]["containers"]
        name = one.inputs["metadata"]["labels"]["headwater/model"]
        assert same(pods[f"{name} frontend"], parts["frontend"]["replicas"], container["resources"]["requests"])
        assert pods[f"{name} frontend"].in_place
        assert template["metadata"]["annotations"]["nvidia.com/deployment-rolling-update-max-surge"] == "0"


@pytest.mark.parametrize("stack", STACKS)
def test_llmds_pickers_and_proxies_ask_what_is_counted(stack):
    pods, found = counted(stack, "llm-d"), graph(stack, "llm-d")
    routers = [r for r in found.resources if r.type.endswith("Release") and "router" in r.inputs["chart"]]
    assert routers
    for one in routers:
        epp = one.inputs["values"]["router"]["epp"]
        assert same(pods[f"{one.inputs['name']} picker"], epp["replicas"], epp["resources"]["requests"])
    [proxy] = [r for r in found.resources if r.type.endswith(":EnvoyProxy")]
    deployment = proxy.inputs["spec"]["provider"]["kubernetes"]["envoyDeployment"]
    own = pod_facts("ours")["gateway-proxy"]
    assert deployment["replicas"] == own.replicas == pods["gateway-proxy"].replicas
    assert deployment["container"]["resources"]["requests"] == {
        "cpu": cpu(own.cpu_millis),
        "memory": mebibytes(own.memory_mib),
    }


def test_the_planner_and_dynamos_picker_ask_what_is_counted():
    change = {
        "headwater:dynamo": {"gateway": "picker", "planner": {"target": "throughput"}},
        "headwater:serving": {"models": [qwen(replicas={"min": 1, "max": 2})]},
    }
    found = varied("dev", "dynamo", change)
    [one] = [r for r in found.resources if r.type.endswith("DynamoGraphDeployment")]
    parts = {part["type"]: part for part in one.inputs["spec"]["components"]}
    for kind, name in (("planner", "dynamo-planner"), ("epp", "dynamo-picker")):
        own = pod_facts("ours")[name]
        asked = parts[kind]["podTemplate"]["spec"]["containers"][0]["resources"]["requests"]
        assert asked == {"cpu": cpu(own.cpu_millis), "memory": mebibytes(own.memory_mib)}
        assert parts[kind]["replicas"] == own.replicas


@pytest.mark.parametrize("stack", STACKS)
def test_the_platforms_charts_ask_what_is_counted(stack):
    pods, found = counted(stack, "llm-d"), graph(stack, "llm-d")
    assert same(pods["karpenter"], rendered(found, "karpenter", "replicas"),
                rendered(found, "karpenter", "controller", "resources", "requests"))  # fmt: skip
    assert same(pods["lws"], rendered(found, "lws", "replicaCount"),
                rendered(found, "lws", "resources", "requests"))  # fmt: skip
    spec = rendered(found, "kube-prometheus-stack", "prometheus", "prometheusSpec")
    assert same(pods["prometheus"], spec.get("replicas", 1), spec["resources"]["requests"])
    assert pods["keda-operator"].replicas == rendered(found, "keda", "operator", "replicaCount")


@pytest.mark.parametrize("stack", STACKS)
def test_the_node_group_is_the_plans(stack):
    [nodes] = [r for r in graph(stack, "llm-d").resources if r.type == "aws:eks/nodeGroup:NodeGroup"]
    own = group(shipped(stack))
    scaling = {"minSize": own.nodes, "desiredSize": own.nodes, "maxSize": own.nodes_max}
    assert nodes.inputs["scalingConfig"] == scaling
    assert nodes.inputs["instanceTypes"] == list(own.instances)


def test_every_chart_that_is_installed_is_counted():
    """A new chart must say what its pods ask, or that it has none."""
    without_pods = {"karpenter-crd", "gateway-crds-helm", "ai-gateway-crds-helm"}
    on_gpu_nodes = {"aws-efa-k8s-device-plugin"}
    by_chart = {"gateway-helm": "envoy", "ai-gateway-helm": "envoy", "grove-charts": "grove"}
    known = {fact.of for section in ("ours", "upstream") for fact in pod_facts(section).values()}  # type: ignore[arg-type]
    for stack in STACKS:
        for serving in SERVING:
            for resource in graph(stack, serving).resources:
                if not resource.type.endswith("Release") or "llm-d-router" in resource.inputs["chart"]:
                    continue
                chart = resource.inputs["chart"].rsplit("/", 1)[-1].partition("-1.")[0].removesuffix(".tgz")
                assert chart in without_pods | on_gpu_nodes or by_chart.get(chart, chart) in known, chart


UPSTREAM = {
    "gpu-operator": ("gpu-operator", "operator.resources"),
    "nfd-master": ("gpu-operator", "node-feature-discovery.master.resources"),
    "nfd-gc": ("gpu-operator", "node-feature-discovery.gc.resources"),
    "keda-operator": ("keda", "resources.operator"),
    "keda-metrics": ("keda", "resources.metricServer"),
    "keda-webhooks": ("keda", "resources.webhooks"),
    "prometheus-operator": ("kube-prometheus-stack", "prometheusOperator.resources"),
    "kube-state-metrics": ("kube-prometheus-stack", "kube-state-metrics.resources"),
    "grafana": ("kube-prometheus-stack", "grafana.resources"),
    "external-secrets": ("external-secrets", "resources"),
    "external-secrets-webhook": ("external-secrets", "webhook.resources"),
    "external-secrets-certs": ("external-secrets", "certController.resources"),
    "latency-trainer": ("llm-d-router-gateway", "router.latencyPredictor.trainingServer.resources"),
    "dynamo-operator": ("dynamo-platform", "dynamo-operator.controllerManager.manager.resources"),
    "grove-operator": ("grove-charts", "resources"),
}


@pytest.mark.parametrize("name", UPSTREAM)
def test_upstreams_requests_are_those_of_its_chart(shared, name):
    chart, path = UPSTREAM[name]
    place = helm.load(shared / "charts").defaults(chart)
    for key in path.split("."):
        place = place[key] or {}
    asked, fact = place.get("requests", {}), pod_facts("upstream")[name]
    assert millis(str(asked.get("cpu", 0))) == fact.cpu_millis
    assert mebi(str(asked.get("memory", "0Mi"))) == fact.memory_mib


def millis(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else round(float(text) * 1000)


def mebi(text: str) -> int:
    return int(text[:-2]) * {"Mi": 1, "Gi": 1024}[text[-2:]]


def test_daemons_of_one_node_are_taken_off_first():
    settings = plan(qwen()).settings
    taken, whole = daemons(settings), system_types()["m7i.2xlarge"].allocatable
    assert taken.cpu_millis > 0
    assert room_of(settings, ["m7i.2xlarge"], margin=False).cpu_millis == whole.cpu_millis - taken.cpu_millis
    kept = math.floor(whole.cpu_millis * (1 - default("system", "margin"))) - taken.cpu_millis
    assert room_of(settings, ["m7i.2xlarge"]).cpu_millis == kept


def test_what_a_feature_brings_is_counted():
    def of(**sections: Any) -> set[str]:
        follows = {} if "observability" in sections else {"replicas": {"min": 1, "max": 2}}
        found = plan(qwen(**follows), kimi(), **sections)
        return {w.name for pods in system_pods(found.settings, found.models).values() for w in pods}

    usual = of()
    secret = "arn:aws:secretsmanager:us-east-2:123456789012:secret:hub-AbC123"
    assert of(huggingFace={"secretArn": secret}) - usual >= {"external-secrets", "external-secrets-webhook"}
    assert of(gateway={"exposure": "internal"}) - usual == {"aws-load-balancer-controller"}
    assert usual - of(observability={"enabled": False}) >= {"prometheus", "grafana", "alertmanager"}
    assert of(weights={"mirror": "s3://bucket/weights", "fill": True}) - usual == {
        "qwen weights-copy",
        "kimi weights-copy",
    }
    assert "efs-csi-controller" in of(weights={"cache": "efs"})
    assert "prometheus-adapter" in of(llmd={"autoscaling": {"by": "hpa"}})
    assert "qwen dynamo-planner" in of(dynamo={"planner": {"target": "throughput"}})
    assert "kai-scheduler" in of(dynamo={"scheduling": "grove"})
    groups = plan(glm(), stack="dynamo", dynamo={"scheduling": "lws"})
    assert "volcano-scheduler" in {w.name for w in system_pods(groups.settings, groups.models)["dynamo"]}

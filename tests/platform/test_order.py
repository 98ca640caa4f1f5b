"""What must exist before what, and so what goes before what on destroy."""

from __future__ import annotations

import pytest

from tests.platform.world import GROUP, PART, World, config
from tests.stacks import graph

CHAIN = (
    ("ec2/vpc:Vpc", ""),
    ("aws:eks/cluster:Cluster", ""),
    ("eks/addon:Addon", "eks-pod-identity-agent"),
    ("eks/nodeGroup:NodeGroup", ""),
    ("eks/addon:Addon", "aws-ebs-csi-driver"),
    ("PodIdentityAssociation", "karpenter-controller"),
    (":Release", "karpenter-crds"),
    (":Release", "karpenter-chart"),
    (":EC2NodeClass", "h100-node"),
    (":NodePool", "h100-node"),
    (":Release", "monitoring-chart"),
    (":Release", "gpu-operator"),
    (":Namespace", "models-namespace"),
    (":ExternalSecret", ""),
)
"""From the bottom up; a destroy goes the other way."""


@pytest.fixture(scope="module")
def world() -> World:
    secret = {"secretArn": "arn:aws:secretsmanager:us-east-2:123456789012:secret:hub"}
    return World(config(GROUP, huggingFace=secret, gateway={"exposure": "internal"}, weights={"mirror": "s3://models"}))


@pytest.mark.parametrize("step", range(len(CHAIN) - 1))
def test_each_link_of_the_destroy_chain_stands_on_the_one_below(world, step):
    lower, upper = world.one(*CHAIN[step]), world.one(*CHAIN[step + 1])
    assert world.stands_on(upper, lower), f"{upper.name} would not be gone before {lower.name}"
    assert not world.stands_on(lower, upper)


def test_what_karpenter_needs_to_take_nodes_away_outlives_every_pool(world):
    needed = [
        *world.all("iam/rolePolicyAttachment:RolePolicyAttachment", lambda r: "karpenter" in r.name),
        *world.all("iam/policy:Policy", lambda r: "karpenter" in r.name),
        *world.all("eventRule:EventRule"),
        *world.all("eventTarget:EventTarget"),
        world.one("queue:Queue"),
        world.one("QueuePolicy"),
        world.one("AccessEntry", "node-access"),
        world.one("PodIdentityAssociation", "karpenter"),
        *world.all("eks/addon:Addon"),
        *world.all("Route", lambda r: r.name.endswith("-route")),
        *world.all("VpcEndpoint"),
    ]
    assert len(needed) > 30
    for upper in (*world.all(":EC2NodeClass"), *world.all(":NodePool")):
        missing = [r.name for r in needed if not world.stands_on(upper, r)]
        assert missing == []


def test_nothing_that_owns_cloud_resources_is_dropped_with_the_cluster(world):
    assert [r.name for r in world.resources if r.deleted_with] == []
    kept = [r.name for r in world.resources if r.retain_on_delete]
    assert kept == []


def test_every_kubernetes_object_waits_for_access_and_control_plane(world):
    entry, cluster = world.one("AccessPolicyAssociation"), world.one("aws:eks/cluster:Cluster")
    objects = [r for r in world.resources if r.package == "kubernetes" and r.custom and not r.is_provider]
    assert len(objects) > 15
    for upper in objects:
        assert world.stands_on(upper, entry), upper.name
        assert world.stands_on(upper, cluster), upper.name


def test_every_release_finds_its_namespace_made_here_and_leaves_none_behind(world):
    made = {r.inputs["metadata"]["name"] for r in world.all(":Namespace")} | {"kube-system"}
    for release in world.all(":Release"):
        assert release.inputs["createNamespace"] is False
        assert release.inputs["namespace"] in made
        homes = [r for r in world.all(":Namespace") if r.inputs["metadata"]["name"] == release.inputs["namespace"]]
        assert all(world.stands_on(release, home) for home in homes)


def test_protect_is_on_what_holds_state_and_on_nothing_else():
    world = World(config(GROUP, cluster={"protect": True, "deletionProtection": True}, weights={"cache": "efs"}))
    protected = {r.name for r in world.resources if r.protect and r.custom and not r.is_provider}
    assert protected == {
        "platform-cluster-key",
        "platform-cluster-eks-eksCluster",
        "platform-cluster-eks-eksRole-role",
        "platform-cluster-eks-eksRole-4b490823",
        "platform-cache-efs",
    }
    assert world.one("aws:eks/cluster:Cluster").inputs["deletionProtection"] is True


def test_kept_data_survives_a_destroy_and_nothing_else_does():
    world = World(config(PART, cluster={"keepData": True}, weights={"cache": "efs"}))
    assert {r.name for r in world.resources if r.retain_on_delete} == {
        "platform-cluster-key",
        "platform-cluster-logs",
        "platform-network-flow-logs-group",
        "platform-cache-efs",
    }


@pytest.mark.graph
@pytest.mark.parametrize("serving", ["llm-d", "dynamo"])
@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_every_workload_stands_on_every_pool_and_operator(stack, serving):
    found = graph(stack, serving)
    by_urn = {r.urn: r for r in found.resources}

    def below(urn):
        seen, open_ = set(), [urn]
        while open_:
            here = by_urn.get(open_.pop())
            for other in (*here.dependencies, here.provider) if here else ():
                if other and other not in seen:
                    seen.add(other)
                    open_.append(other)
        return seen

    pools = [r.urn for r in found.resources if r.type.endswith(":NodePool")]
    operators = [r.urn for r in found.resources if r.name.startswith("platform-operators-") and ":Release" in r.type]
    kinds = ("Deployment", "LeaderWorkerSet", "DisaggregatedSet", "DynamoGraphDeployment", "Gateway", "Service")
    workloads = [r for r in found.resources if r.type.rpartition(":")[2] in kinds and "platform" not in r.name]
    assert workloads
    for workload in workloads:
        assert set(pools) <= below(workload.urn), workload.name
        assert set(operators) <= below(workload.urn), workload.name


@pytest.mark.graph
@pytest.mark.parametrize("serving", ["llm-d", "dynamo"])
@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_no_pod_that_asks_for_gpus_can_run_on_a_system_node(stack, serving):
    """System nodes have no GPU, and every pod with GPUs names its pool's label, which system nodes lack."""
    found = graph(stack, serving)
    groups = [r for r in found.resources if r.type.endswith("nodeGroup:NodeGroup")]
    assert len(groups) == 1
    assert groups[0].inputs["labels"] == {"node-role": "system"}
    assert "NVIDIA" not in groups[0].inputs["amiType"]

    def templates(value):
        if isinstance(value, dict):
            if "containers" in value:
                yield value
            for inner in value.values():
                yield from templates(inner)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                yield from templates(inner)

    asked = 0
    for resource in found.resources:
        if resource.package != "kubernetes" or resource.type.endswith(":Release"):
            continue
        for pod in templates(resource.inputs):
            text = str([c.get("resources", {}) for c in pod["containers"]])
            if "nvidia.com/gpu" in text:
                asked += 1
                assert "headwater/pool" in pod.get("nodeSelector", {}), resource.name
    assert asked

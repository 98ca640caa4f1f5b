"""Each known way to fail on EKS with GPUs, by its number in the list we keep: present, or refused. Numbers 26 to 50."""

from __future__ import annotations

import ipaddress
import json
import re
from typing import Any

import pytest

from components.platform.control_zones import refused_zones
from components.platform.spot import first_or_refuse
from headwater.catalog.regions import refused_zone_ids
from headwater.catalog.releases import charts
from headwater.preview.graph import Graph, Resource
from headwater.settings import Refusal, settings_from_config
from tests.platform.world import GROUP, PART, World, config, with_capacity
from tests.stacks import graph

TOKEN = "hf_MARKERMARKERMARKERMARKERMARKERMARKER"


@pytest.fixture(scope="module")
def part() -> World:
    return World(PART)


@pytest.fixture(scope="module")
def known() -> World:
    """The group's platform after up: ids and ARNs are there, so policies can be read."""
    return World(config(GROUP, weights={"mirror": "s3://models/weights"}, gateway={"exposure": "internal"}), known=True)


def policy(world: World, name: str) -> dict[str, Any]:
    return json.loads(world.one("iam/policy:Policy", name).inputs["policy"])


def actions(document: dict[str, Any]) -> set[str]:
    return {a for s in document["Statement"] for a in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])}


def kinds(found: Graph, kind: str) -> list[Resource]:
    return [r for r in found.resources if r.type.endswith(f":{kind}")]


def test_trap_26_karpenters_definitions_have_a_chart_of_their_own_at_the_same_version(part):
    crds, controller = part.one(":Release", "karpenter-crds"), part.one(":Release", "karpenter-chart")
    assert crds.inputs["version"] == controller.inputs["version"]
    assert controller.inputs["skipCrds"] is True
    assert part.stands_on(controller, crds)
    assert part.values("karpenter-crd")["additionalAnnotations"] == {"helm.sh/resource-policy": "keep"}


def test_trap_27_leader_worker_sets_are_newer_than_the_chart_that_deletes_them():
    assert tuple(int(n) for n in charts()["lws"].version.split(".")[:2]) >= (0, 8)


def test_trap_28_objects_are_applied_on_the_server(part):
    assert part.one("pulumi:providers:kubernetes", "platform-kubernetes").inputs["enableServerSideApply"] in (
        True,
        "true",
    )


def test_trap_29_monitors_come_after_their_kind_and_every_monitor_is_read(part):
    stack = part.one(":Release", "monitoring-chart")
    spec = part.values("kube-prometheus-stack")["prometheus"]["prometheusSpec"]
    open_ = [key for key in spec if key.endswith("SelectorNilUsesHelmValues")]
    assert len(open_) == 5
    assert not any(spec[key] for key in open_)
    for user in (*part.all(":ServiceMonitor"), *part.all(":PrometheusRule"), part.one(":Release", "gpu-operator")):
        assert part.stands_on(user, stack)


@pytest.mark.graph
@pytest.mark.parametrize("serving", ["llm-d", "dynamo"])
def test_trap_30_scaling_queries_return_one_series_and_say_how_to_read_it(serving):
    for stack in ("dev", "staging", "prod"):
        for scaled in kinds(graph(stack, serving), "ScaledObject"):
            for trigger in scaled.inputs["spec"]["triggers"]:
                query = str(trigger["metadata"]["query"])
                assert re.match(r"\(?(sum|avg|max|min|count|scalar|histogram_quantile|ceil|clamp\w*|vector)\b", query)
                if "avg(" in query or "histogram_quantile" in query:
                    assert trigger["metricType"] == "Value"
                if "usage_perc" in query:
                    assert float(trigger["metadata"]["threshold"]) <= 1


def test_trap_31_the_load_balancer_controller_is_told_its_place_and_breaks_no_service(known):
    values = known.values("aws-load-balancer-controller")
    assert values["region"] == "us-east-2"
    assert values["vpcId"].startswith("vpc-")
    assert values["enableServiceMutatorWebhook"] is False


def test_trap_31_no_load_balancer_controller_where_nothing_is_exposed(part):
    assert not [r for r in part.all(":Release") if "load-balancer" in r.inputs["name"]]


def test_trap_32_there_is_one_default_class_and_it_waits_for_the_pod(part):
    storage = part.one(":StorageClass").inputs
    assert storage["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert storage["volumeBindingMode"] == "WaitForFirstConsumer"
    assert storage["parameters"] == {"encrypted": "true", "type": "gp3"}


def test_trap_33_gpu_subnets_hold_many_nodes_and_few_addresses_are_kept_warm(part):
    gpu = part.all("ec2/subnet:Subnet", lambda r: "-gpu-" in r.name)
    assert gpu
    assert all(ipaddress.ip_network(r.inputs["cidrBlock"]).prefixlen <= 20 for r in gpu)
    cni = json.loads(part.one("Addon", "vpc-cni").inputs["configurationValues"])
    assert cni["env"] == {"MINIMUM_IP_TARGET": "20", "WARM_IP_TARGET": "5"}


def test_trap_34_weights_never_pass_a_nat_gateway(known):
    endpoint = known.one("VpcEndpoint", "-s3")
    private = known.all("routeTable:RouteTable", lambda r: "private" in r.name)
    assert endpoint.inputs["vpcEndpointType"] == "Gateway"
    assert len(endpoint.inputs["routeTableIds"]) == len(private) > 0
    assert {t.urn for t in private} <= set(endpoint.dependencies)


def test_trap_35_the_endpoint_is_private_and_only_named_principals_administer():
    cluster = World(GROUP).one("aws:eks/cluster:Cluster").inputs
    assert cluster["vpcConfig"]["endpointPublicAccess"] is False
    assert cluster["vpcConfig"]["endpointPrivateAccess"] is True
    assert cluster["accessConfig"] == {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False}
    with pytest.raises(Refusal, match="whole internet"):
        settings_from_config(config(PART, cluster={"endpoint": {"public": ["0.0.0.0/0"]}}), "test")


def test_trap_35_a_cluster_with_nobody_named_keeps_its_creator_or_nobody_could_enter(part):
    access = part.one("aws:eks/cluster:Cluster").inputs["accessConfig"]
    assert access["bootstrapClusterCreatorAdminPermissions"] is True


def test_trap_36_extended_support_is_never_billed(part):
    assert part.one("aws:eks/cluster:Cluster").inputs["upgradePolicy"] == {"supportType": "STANDARD"}


def test_trap_37_the_log_group_is_ours_ends_and_is_there_before_eks_makes_one(part):
    group = part.one("LogGroup", "cluster-logs")
    assert group.inputs["name"] == "/aws/eks/headwater-test/cluster"
    assert group.inputs["retentionInDays"] == 90
    assert part.stands_on(part.one("eks:index:Cluster"), group)


def test_trap_38_every_addon_and_chart_has_an_exact_version(part):
    assert len(part.all("eks/addon:Addon")) == 7
    for addon in part.all("eks/addon:Addon"):
        assert re.fullmatch(r"v\d+\.\d+\.\d+-eksbuild\.\d+", addon.inputs["addonVersion"])
    for chart in part.all(":Release"):
        assert re.fullmatch(r"v?\d+\.\d+\.\d+", chart.inputs["version"])


def test_trap_39_node_volumes_use_the_key_that_every_principal_may_use(part):
    for pool in part.plan.pools:
        ebs = part.spec("EC2NodeClass", pool.name)["blockDeviceMappings"][0]["ebs"]
        assert ebs["encrypted"] is True
        assert "kmsKeyID" not in ebs


def test_trap_40_spot_without_the_accounts_role_is_refused_in_words():
    assert first_or_refuse(["AWSServiceRoleForEC2Spot"]) == "AWSServiceRoleForEC2Spot"
    with pytest.raises(ValueError, match="aws iam create-service-linked-role --aws-service-name spot"):
        first_or_refuse([])
    spot = World(with_capacity(PART, h100={"buy": ["spot", "onDemand"]}))
    capacity = spot.spec("NodePool", "h100-part")["template"]["spec"]["requirements"][1]
    assert capacity["values"] == ["spot", "on-demand"]


def test_trap_41_five_events_reach_the_queue_and_both_services_may_send(known):
    rules = [json.loads(r.inputs["eventPattern"]) for r in known.all("eventRule:EventRule")]
    assert {pattern["detail-type"][0] for pattern in rules} == {
        "AWS Health Event",
        "EC2 Spot Instance Interruption Warning",
        "EC2 Instance Rebalance Recommendation",
        "EC2 Instance State-change Notification",
        "EC2 Capacity Reservation Instance Interruption Warning",
    }
    assert len(known.all("eventTarget:EventTarget")) == 5
    allow, deny = json.loads(known.one("QueuePolicy").inputs["policy"])["Statement"]
    assert allow["Principal"] == {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]}
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert known.one("queue:Queue").inputs["messageRetentionSeconds"] == 300


def test_trap_42_karpenters_rights_are_those_of_its_version(known):
    lifecycle, discovery = policy(known, "node-lifecycle"), policy(known, "resource-discovery")
    used = next(s for s in lifecycle["Statement"] if s["Sid"] == "AllowScopedEC2InstanceAccessActions")["Resource"]
    assert any(r.endswith(":placement-group/*") for r in used)
    assert any(r.endswith(":capacity-reservation/*") for r in used)
    wanted = {"ec2:DescribeInstanceStatus", "ec2:DescribePlacementGroups", "ec2:DescribeCapacityReservations"}
    assert wanted <= actions(discovery)
    passed = next(s for s in policy(known, "iam-integration")["Statement"] if s["Sid"] == "AllowPassingInstanceRole")
    assert passed["Resource"] == ["arn:aws:iam::123456789012:role/KarpenterNodeRole-headwater-test"]


def test_trap_43_role_names_fit_however_long_the_clusters_name():
    longest = "c" * 40
    role = World(config(PART, cluster={"name": longest})).one("iam/role:Role", "karpenter-node")
    assert len(role.inputs["name"]) <= 64
    with pytest.raises(Refusal, match=r"cluster\.name"):
        settings_from_config(config(PART, cluster={"name": "c" * 41}), "test")


def test_trap_44_pools_go_before_karpenter_and_have_the_time_they_need(part):
    pool, controller = part.one(":NodePool"), part.one(":Release", "karpenter-chart")
    assert part.stands_on(pool, controller)
    assert pool.timeouts["delete"] == "45m"
    assert part.one(":EC2NodeClass").timeouts["delete"] == "30m"


def test_trap_45_quotas_are_checked_before_anything_is_bought_where_asked_for():
    world = World(config(GROUP, cluster={"preflight": True}))
    asked = world.one("headwater:platform:Preflight")
    assert asked.outputs["quotas"] == "<unknown>"
    assert World(PART).all("headwater:platform:Preflight") == []


@pytest.mark.graph
@pytest.mark.parametrize("serving", ["llm-d", "dynamo"])
@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_trap_46_no_service_is_called_so_that_kubernetes_injects_engine_variables(stack, serving):
    services = [r.inputs["metadata"]["name"] for r in kinds(graph(stack, serving), "Service")]
    assert not [name for name in services if name.startswith("vllm")]
    models = [{**PART["headwater:serving"]["models"][0], "name": "vllm-qwen"}]
    with pytest.raises(Refusal, match="VLLM_"):
        settings_from_config(config(PART, serving={"stack": "llm-d", "models": models}), "test")


@pytest.mark.graph
@pytest.mark.parametrize("serving", ["llm-d", "dynamo"])
def test_trap_47_only_keda_owns_the_external_metrics(serving):
    for stack in ("dev", "staging", "prod"):
        for release in kinds(graph(stack, serving), "Release"):
            values = release.inputs.get("values", {})
            assert not (
                release.inputs["chart"].endswith("prometheus-adapter") and values.get("rules", {}).get("external")
            )


@pytest.mark.parametrize("where", ["token", "secretArn"])
def test_trap_48_the_hub_token_is_in_one_secret_and_nowhere_else(where):
    arn = "arn:aws:secretsmanager:us-east-2:123456789012:secret:hub"
    world = World(config(PART, huggingFace={where: TOKEN if where == "token" else arn}))
    everything = json.dumps([r.to_json() for r in world.resources]) + json.dumps(dict(world.graph.outputs))
    assert TOKEN not in everything
    if where == "token":
        secret = world.one(":Secret").inputs
        assert secret["stringData"] == "<secret>" or secret["stringData"] == {"HF_TOKEN": "<secret>"}
    else:
        assert world.all(":Secret") == []
        external = world.spec("ExternalSecret", "hugging-face")
        assert external["data"] == [{"secretKey": "HF_TOKEN", "remoteRef": {"key": arn}}]


def test_trap_49_nobody_counts_on_node_repair_in_small_pools(part):
    gates = part.values("karpenter")["settings"]["featureGates"]
    assert not gates.get("nodeRepair")
    rules = part.spec("PrometheusRule", "headwater-nodes")["groups"][0]["rules"]
    assert "GpuNodeWithoutGpus" in {rule["alert"] for rule in rules}


def test_trap_50_zones_eks_refuses_for_the_control_plane_are_found_by_id():
    names, ids = ("us-east-1a", "us-east-1b", "us-east-1c"), ("use1-az6", "use1-az3", "use1-az1")
    refused = refused_zone_ids("us-east-1")
    assert refused_zones(names, ids, ["us-east-1a", "us-east-1c"], refused) == []
    assert refused_zones(names, ids, ["us-east-1a", "us-east-1b"], refused) == ["us-east-1b"]
    world = World({**PART, "aws:region": "us-east-1"})
    assert world.one("eks:index:Cluster").inputs["subnetIds"] == "<unknown>"

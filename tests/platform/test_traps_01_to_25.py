"""Each known way to fail on EKS with GPUs, by its number in the list we keep: present, or refused. Numbers 1 to 25."""

from __future__ import annotations

import json
from datetime import date

import pytest

from headwater.catalog.instances import load_instances
from headwater.plan import build_plan
from headwater.settings import Refusal, settings_from_config
from tests.platform.world import GROUP, PART, World, config, with_capacity
from tests.stacks import graph

RESERVED = {"instances": ["p5.48xlarge"], "zones": ["us-east-2a"], "buy": ["reserved", "onDemand"]}
ODCR = {"id": "cr-0123456789abcdef0", "zone": "us-east-2a", "instances": 4}
BLOCK = {**ODCR, "kind": "block", "ends": "2027-06-30T11:30:00Z"}


@pytest.fixture(scope="module")
def part() -> World:
    return World(PART)


@pytest.fixture(scope="module")
def group() -> World:
    return World(GROUP)


def pods(stack: str, serving: str = "llm-d") -> list[dict]:
    """Pod specs of every model server of a shipped stack."""
    found = []
    for resource in graph(stack, serving).resources:
        spec = resource.inputs.get("spec", {}) if resource.package == "kubernetes" else {}
        templates = [spec.get("template", {}), *spec.get("leaderWorkerTemplate", {}).values()] if spec else []
        for template in templates:
            pod = template.get("spec", {}) if isinstance(template, dict) else {}
            if any("nvidia.com/gpu" in c.get("resources", {}).get("limits", {}) for c in pod.get("containers", [])):
                found.append(pod)
    return found


def test_trap_01_the_node_role_has_an_ec2_linux_access_entry(part):
    entry = part.one("AccessEntry", "node-access")
    role = part.one("iam/role:Role", "karpenter-node")
    assert entry.inputs["type"] == "EC2_LINUX"
    assert role.urn in entry.dependencies


def test_trap_02_identity_and_its_agent_come_before_the_pods_that_need_them(part):
    agent = part.one("Addon", "eks-pod-identity-agent")
    controller = part.one(":Release", "karpenter-chart")
    association = part.one("PodIdentityAssociation", "karpenter-controller")
    assert part.stands_on(controller, association)
    assert part.stands_on(association, agent)


def test_trap_03_dns_comes_after_the_nodes_and_no_node_waits_for_it(part):
    dns, nodes = part.one("Addon", "coredns"), part.one("eks/nodeGroup:NodeGroup")
    assert part.stands_on(dns, nodes)
    assert not part.stands_on(nodes, dns)


def test_trap_04_system_nodes_are_two_or_more_over_two_zones_or_more(part):
    nodes = part.one("eks/nodeGroup:NodeGroup")
    assert nodes.inputs["scalingConfig"]["minSize"] >= 2
    assert len(nodes.inputs["subnetIds"]) >= 2
    with pytest.raises(Refusal, match=r"systemNodes\.min = 1"):
        settings_from_config(config(PART, systemNodes={"min": 1}), "test")


def test_trap_05_system_nodes_carry_no_taint_that_charts_do_not_tolerate(part):
    assert "taints" not in part.one("eks/nodeGroup:NodeGroup").inputs


def test_trap_06_no_second_security_group_carries_the_clusters_tag(part):
    assert part.one("eks:index:Cluster").inputs["skipDefaultSecurityGroups"] is True
    tags = [r.inputs.get("tags", {}) for r in part.all("SecurityGroup")]
    assert not [t for t in tags if any(key.startswith("kubernetes.io/cluster/") for key in t)]


def test_trap_07_gpu_nodes_use_the_clusters_own_group_which_lets_efa_out_to_itself():
    known = World(GROUP, known=True)
    terms = known.spec("EC2NodeClass", "h100-node")["securityGroupSelectorTerms"]
    assert len(terms) == 1
    assert set(terms[0]) == {"id"}


def test_trap_08_every_daemonset_tolerates_the_gpu_taint(group):
    anywhere = [{"operator": "Exists"}]
    operator = group.values("gpu-operator")
    assert operator["daemonsets"]["tolerations"] == anywhere
    assert operator["node-feature-discovery"]["worker"]["tolerations"] == anywhere
    assert group.values("aws-efa-k8s-device-plugin")["tolerations"] == anywhere
    assert group.values("kube-prometheus-stack")["prometheus-node-exporter"]["tolerations"] == anywhere
    ebs = json.loads(group.one("Addon", "aws-ebs-csi-driver").inputs["configurationValues"])
    assert ebs["node"]["tolerateAllTaints"] is True


def test_trap_09_driver_and_toolkit_are_the_images_own(part):
    operator = part.values("gpu-operator")
    assert operator["driver"] == operator["toolkit"] == {"enabled": False}


def test_trap_10_no_validator_workload_takes_a_gpu(part):
    validator = part.values("gpu-operator")["validator"]
    assert validator == {"cuda": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}}


def test_trap_11_no_second_device_plugin_is_installed(part):
    charts = {r.inputs["chart"] for r in part.all(":Release")}
    assert not [c for c in charts if "nvidia-device-plugin" in c or "dcgm-exporter" in c]


def test_trap_12_local_disks_are_one_array_and_the_root_volume_holds_images(group):
    for pool in group.plan.pools:
        spec = group.spec("EC2NodeClass", pool.name)
        assert spec["instanceStorePolicy"] == "RAID0"
        assert spec["blockDeviceMappings"][0]["ebs"]["volumeSize"] == "200Gi"
        assert spec["blockDeviceMappings"][0]["ebs"]["encrypted"] is True


def test_trap_13_the_node_image_is_pinned(group):
    aliases = {t["alias"] for p in group.plan.pools for t in group.spec("EC2NodeClass", p.name)["amiSelectorTerms"]}
    assert len(aliases) == 1
    assert "latest" not in aliases.pop()


def test_trap_14_nodes_never_expire_and_a_drain_ends(group):
    for pool in group.plan.pools:
        template = group.spec("NodePool", pool.name)["template"]["spec"]
        assert template["expireAfter"] == "Never"
        assert template["terminationGracePeriod"] == "30m"


def test_trap_15_only_empty_nodes_go_and_not_at_once(group):
    for pool in group.plan.pools:
        disruption = group.spec("NodePool", pool.name)["disruption"]
        assert disruption["consolidationPolicy"] == "WhenEmpty"
        assert disruption["consolidateAfter"] == "15m"
        assert {"nodes": "0", "reasons": ["Underutilized"]} in disruption["budgets"]


def test_trap_16_the_limit_holds_whole_instances(group):
    for pool in group.plan.pools:
        limits = group.spec("NodePool", pool.name)["limits"]
        assert set(limits) == {"nvidia.com/gpu"}
        assert int(limits["nvidia.com/gpu"]) == pool.gpu_limit
        assert int(limits["nvidia.com/gpu"]) % pool.gpus_per_node == 0


@pytest.mark.graph
@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_trap_17_no_pod_asks_for_more_than_karpenter_counts_on_its_node(stack):
    plan = build_plan(settings_of(stack))
    for model in plan.models:
        for role in model.roles:
            free = load_instances()[role.instance].allocatable
            assert role.pod.cpu_millis <= free.cpu_millis - 1000
            assert role.pod.memory_mib <= free.memory_mib - 4096


def settings_of(stack: str):
    from headwater.settings import load_stack
    from tests.conftest import ROOT

    return load_stack(ROOT / "stacks" / f"Pulumi.{stack}.yaml")


def test_trap_18_pools_name_exact_types_and_never_mix_numbers_of_efa_interfaces(group):
    for pool in group.plan.pools:
        requirements = {r["key"]: r for r in group.spec("NodePool", pool.name)["template"]["spec"]["requirements"]}
        types = requirements["node.kubernetes.io/instance-type"]["values"]
        assert types == list(pool.instances)
        assert not any("instance-family" in key or "instance-category" in key for key in requirements)
        if pool.efa:
            assert {load_instances()[t].efa for t in types} == {pool.efa}


@pytest.mark.graph
@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_trap_19_pods_select_nodes_by_labels_their_pool_promises(stack):
    found = pods(stack)
    assert found
    assert {key for pod in found for key in pod["nodeSelector"]} == {"headwater/pool"}


def test_trap_19_the_promised_label_is_on_every_pool(group):
    for pool in group.plan.pools:
        assert group.spec("NodePool", pool.name)["template"]["metadata"]["labels"] == {"headwater/pool": pool.name}


def test_trap_20_a_node_has_the_efa_interfaces_its_pods_ask_for(group):
    plan = group.plan
    for role in (r for m in plan.models for r in m.roles):
        pool = plan.pool(role.pool)
        assert role.pod.efa <= pool.efa
        listed = group.spec("EC2NodeClass", pool.name).get("networkInterfaces", [])
        assert sum(i["interfaceType"] == "efa-only" for i in listed) == pool.efa


def test_trap_21_a_pool_of_groups_names_one_zone(group):
    requirements = group.spec("NodePool", "h100-node")["template"]["spec"]["requirements"]
    assert [r["values"] for r in requirements if r["key"] == "topology.kubernetes.io/zone"] == [["us-east-2a"]]


def test_trap_22_subnets_are_selected_by_id_one_for_each_zone(group):
    for pool in group.plan.pools:
        terms = group.spec("EC2NodeClass", pool.name)["subnetSelectorTerms"]
        assert len(terms) == len(pool.zones)
        assert all(set(term) == {"id"} for term in terms)


def test_trap_23_a_reservation_is_selected_by_id_and_its_capacity_type_allowed():
    world = World(with_capacity(GROUP, h100={**RESERVED, "reservations": [ODCR]}))
    spec = world.spec("EC2NodeClass", "h100-node")
    assert spec["capacityReservationSelectorTerms"] == [{"id": ODCR["id"]}]
    requirements = world.spec("NodePool", "h100-node")["template"]["spec"]["requirements"]
    assert [r["values"] for r in requirements if r["key"] == "karpenter.sh/capacity-type"] == [
        ["reserved", "on-demand"]
    ]


def test_trap_23_a_reservation_that_could_not_be_used_is_refused():
    for wrong in ({"buy": ["reserved"]}, {"buy": ["onDemand"], "reservations": [ODCR]}):
        with pytest.raises(Refusal, match="reserv"):
            settings_from_config(with_capacity(GROUP, h100=wrong), "test")


def test_trap_23_capacity_types_are_always_listed(group):
    for pool in group.plan.pools:
        requirements = group.spec("NodePool", pool.name)["template"]["spec"]["requirements"]
        assert [r["values"] for r in requirements if r["key"] == "karpenter.sh/capacity-type"] == [["on-demand"]]


def test_trap_24_a_capacity_block_drains_in_less_than_ten_minutes():
    world = World(with_capacity(GROUP, h100={**RESERVED, "reservations": [BLOCK]}))
    assert world.spec("NodePool", "h100-node")["template"]["spec"]["terminationGracePeriod"] == "8m"


def test_trap_24_a_block_that_ends_too_soon_is_refused():
    soon = with_capacity(GROUP, h100={**RESERVED, "reservations": [{**BLOCK, "ends": "2026-11-30T11:30:00Z"}]})
    with pytest.raises(Refusal, match="Capacity Block ends 2026-11-30"):
        build_plan(settings_from_config(soon, "test"), today=date(2026, 11, 30))


def test_trap_25_a_full_reservation_never_starts_a_drift_it_cannot_finish(group):
    reserved = World(with_capacity(GROUP, h100={**RESERVED, "reservations": [ODCR]}))
    budgets = reserved.spec("NodePool", "h100-node")["disruption"]["budgets"]
    assert {"nodes": "0", "reasons": ["Drifted"]} in budgets
    on_demand = group.spec("NodePool", "h100-node")["disruption"]["budgets"]
    assert {"nodes": "1", "reasons": ["Drifted"]} in on_demand

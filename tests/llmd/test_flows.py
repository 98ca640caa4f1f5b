"""Everything is denied, then exactly what serving needs is allowed."""

from __future__ import annotations

import pytest

from tests.factories import disaggregated_model, make_plan, multi_node_model
from tests.llmd.cases import ALL, llmd, one_server
from tests.llmd.world import rendered, world

METADATA = "169.254.169.254/32"


def policy(made, name):
    return made.one("NetworkPolicy", name).spec


def sources(spec, port):
    """Peers that may reach a port."""
    return [
        peer
        for rule in spec["ingress"]
        if "ports" not in rule or port in [p["port"] for p in rule["ports"]]
        for peer in rule.get("from", ["anyone"])
    ]


@pytest.mark.parametrize("case", sorted(ALL))
def test_the_namespace_denies_both_ways_by_default(case):
    deny = policy(rendered(case, "h100"), "default-deny")
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@pytest.mark.parametrize("case", sorted(ALL))
def test_every_model_pod_and_picker_has_its_flows(case):
    plan = ALL[case]("h100")
    made = world(plan)
    for model in plan.models:
        servers = policy(made, f"{model.name}-servers")["podSelector"]["matchLabels"]
        own = [p for p in made.pods() if p["metadata"]["labels"]["headwater/model"] == model.name]
        assert own
        assert all(servers.items() <= p["metadata"]["labels"].items() for p in own)
        assert policy(made, f"{model.name}-picker")["podSelector"]["matchLabels"] == {
            "llm-d-router-gateway": f"{model.name}-epp"
        }


@pytest.mark.parametrize("case", sorted(ALL))
def test_no_pod_reaches_the_nodes_metadata_service(case):
    for made in rendered(case, "h100").all("NetworkPolicy"):
        for rule in made.spec.get("egress", []):
            for peer in rule.get("to", []):
                block = peer.get("ipBlock")
                if block and block["cidr"] == "0.0.0.0/0":
                    assert METADATA in block["except"]


def test_only_the_gateway_the_picker_and_prometheus_reach_a_server():
    made = world(make_plan(models=(one_server(),)))
    peers = sources(policy(made, "qwen-servers"), 8000)
    assert peers == [
        {"podSelector": {"matchLabels": {"llm-d-router-gateway": "qwen-epp"}}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "envoy-gateway-system"}}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}},
    ]


def test_a_server_on_one_node_talks_to_no_other_pod():
    spec = policy(world(make_plan(models=(one_server(),))), "qwen-servers")
    assert not [p for rule in spec["egress"] for p in rule["to"] if "podSelector" in p and "namespaceSelector" not in p]
    assert not [rule for rule in spec["ingress"] if "ports" not in rule]


@pytest.mark.parametrize("model", [multi_node_model(), disaggregated_model()])
def test_servers_that_work_together_reach_each_other_on_any_port_and_nobody_else(model):
    spec = policy(world(make_plan(models=(model, one_server(name="other")))), f"{model.name}-servers")
    own = {"podSelector": {"matchLabels": {"headwater/model": model.name}}}
    assert [rule for rule in spec["ingress"] if "ports" not in rule] == [{"from": [own]}]
    assert {"to": [own]} in spec["egress"]


def test_kv_events_are_open_to_the_picker_only():
    made = rendered("precise", "h100")
    spec = policy(made, "qwen-servers")
    for port in (5556, 5559):
        assert sources(spec, port) == [{"podSelector": {"matchLabels": {"llm-d-router-gateway": "qwen-epp"}}}]
    assert sources(policy(rendered("prefix", "h100"), "qwen-servers"), 5556) == []


def test_the_picker_is_asked_by_the_gateway_only():
    made = world(make_plan(models=(one_server(),)))
    assert sources(policy(made, "qwen-picker"), 9002) == [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "envoy-gateway-system"}}}
    ]


def test_a_standalone_proxy_is_open_on_its_port_and_its_picker_on_none():
    spec = policy(rendered("standalone", "h100"), "qwen-picker")
    assert sources(spec, 8081) == ["anyone"]
    assert sources(spec, 9002) == []


def test_metrics_are_open_to_prometheus_and_only_where_there_is_one():
    made = world(make_plan(models=(one_server(),)))
    assert sources(policy(made, "qwen-picker"), 9090) == [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    ]
    without = world(
        make_plan(models=(one_server(),), config={"headwater:observability": {"enabled": False}}), prometheus_url=None
    )
    assert "monitoring" not in str(policy(without, "qwen-servers"))


def test_pod_identity_is_reached_where_weights_come_from_a_mirror():
    agent = {"ipBlock": {"cidr": "169.254.170.23/32"}}
    mirrored = policy(rendered("mirrored", "h100"), "qwen-servers")
    assert [r["ports"] for r in mirrored["egress"] if r["to"] == [agent]] == [[{"port": 80, "protocol": "TCP"}]]
    assert "169.254.170.23" not in str(policy(rendered("prefix", "h100"), "qwen-servers"))


def test_isolation_can_be_turned_off_in_the_stack_file():
    assert not world(make_plan(models=(one_server(),), config=llmd(isolate=False))).all("NetworkPolicy")


def test_proxies_in_the_models_namespace_have_flows_of_their_own():
    spec = policy(rendered("agentgateway", "h100"), "inference-gateway")
    assert spec["podSelector"] == {"matchLabels": {"gateway.networking.k8s.io/gateway-name": "inference-gateway"}}
    assert [p["port"] for r in spec["egress"] if "llm-d-router-gateway" in str(r) for p in r["ports"]] == [9002]

"""What differs between two graphs, and what a replacement reaches."""

from __future__ import annotations

import dataclasses
from typing import Any

from headwater.preview.changes import Change, changes
from headwater.preview.graph import Graph, Resource

VPC, SUBNET, TABLE = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/routeTable:RouteTable"
CONFIG, DEPLOYMENT, CLASS = (
    "kubernetes:core/v1:ConfigMap",
    "kubernetes:apps/v1:Deployment",
    "kubernetes:storage.k8s.io/v1:StorageClass",
)
KUBE = "pulumi:providers:kubernetes"


def urn(type_: str, name: str) -> str:
    return f"urn:pulumi:s::p::{type_}::{name}"


def res(type_: str, name: str, needs: dict[str, Resource] | None = None, **rest: Any) -> Resource:
    """A custom resource; ``needs`` are properties that come from other resources and are not known yet."""
    given = rest.pop("inputs", {})
    inputs = {**given, **{key: "<unknown>" for key in needs or {} if key not in given}}
    depends = {key: (other.urn,) for key, other in (needs or {}).items()}
    return Resource(urn(type_, name), type_, name, custom=True, inputs=inputs, property_dependencies=depends, **rest)


def diff(before: list[Resource], after: list[Resource]) -> dict[str, Change]:
    found = changes(Graph("p", "s", tuple(before)), Graph("p", "s", tuple(after)))
    return {change.name: change for change in found}


def test_equal_graphs_have_no_change() -> None:
    both = [res(VPC, "v", inputs={"cidrBlock": "10.0.0.0/16"})]
    assert diff(both, both) == {}


def test_added_and_removed() -> None:
    found = diff([res(VPC, "old")], [res(VPC, "new")])
    assert {name: c.kind for name, c in found.items()} == {"old": "removed", "new": "added"}


def test_an_alias_keeps_a_renamed_resource_the_same() -> None:
    old, new = res(VPC, "old"), res(VPC, "new", aliases=(urn(VPC, "old"),))
    assert diff([old], [new]) == {}


def test_a_property_that_can_change_in_place_is_an_update() -> None:
    (change,) = diff(
        [res(VPC, "v", inputs={"tags": {"a": "1"}})], [res(VPC, "v", inputs={"tags": {"a": "2"}})]
    ).values()
    assert change.kind == "changed"
    assert [(p.path, p.before, p.after, p.replaces) for p in change.properties] == [("tags.a", "1", "2", False)]


def test_a_force_new_property_replaces() -> None:
    (change,) = diff(
        [res(VPC, "v", inputs={"cidrBlock": "10.0.0.0/16"})], [res(VPC, "v", inputs={"cidrBlock": "10.1.0.0/16"})]
    ).values()
    assert (change.kind, change.cause) == ("replaced", "")


def network(cidr: str) -> list[Resource]:
    vpc = res(VPC, "vpc", inputs={"cidrBlock": cidr})
    subnet = res(SUBNET, "subnet", {"vpcId": vpc})
    table = res(TABLE, "table", {"vpcId": vpc, "tags": vpc})
    link = res(
        "aws:ec2/routeTableAssociation:RouteTableAssociation", "link", {"subnetId": subnet, "routeTableId": table}
    )
    gateway = res("aws:ec2/internetGateway:InternetGateway", "gateway", {"vpcId": vpc})
    return [vpc, subnet, table, link, gateway, res("aws:sqs/queue:Queue", "queue")]


def test_a_replacement_reaches_what_hangs_on_its_id() -> None:
    found = diff(network("10.0.0.0/16"), network("10.1.0.0/16"))
    assert {name: c.kind for name, c in found.items()} == {
        "vpc": "replaced",
        "subnet": "replaced",
        "table": "replaced",
        "link": "replaced",
        "gateway": "changed",
    }
    assert {c.cause for name, c in found.items() if name in ("subnet", "table", "link")} == {urn(VPC, "vpc")}


def test_where_two_replacements_meet_the_upper_one_is_the_cause() -> None:
    def graph(cidr: str) -> list[Resource]:
        vpc = res(VPC, "vpc", inputs={"cidrBlock": cidr})
        return [vpc, res(SUBNET, "subnet", {"vpcId": vpc}, inputs={"cidrBlock": cidr})]

    found = diff(graph("10.0.0.0/16"), graph("10.1.0.0/16"))
    assert found["vpc"].cause == ""
    assert found["subnet"].cause == urn(VPC, "vpc")


def test_a_value_known_beforehand_does_not_carry_a_replacement() -> None:
    def graph(cidr: str) -> list[Resource]:
        vpc = res(VPC, "vpc", inputs={"cidrBlock": cidr})
        return [vpc, res(SUBNET, "subnet", {"vpcId": vpc}, inputs={"vpcId": "vpc-1"})]

    assert "subnet" not in diff(graph("10.0.0.0/16"), graph("10.1.0.0/16"))


def test_only_the_part_that_forces_replacement_counts() -> None:
    def graph(name: str) -> list[Resource]:
        queue = res("aws:sqs/queue:Queue", "queue", inputs={"name": name})
        template = {"id": "lt-1", "version": "<unknown>"}
        return [
            queue,
            res("aws:eks/nodeGroup:NodeGroup", "group", {"launchTemplate": queue}, inputs={"launchTemplate": template}),
        ]

    assert diff(graph("a"), graph("b"))["group"].kind == "changed"


def test_a_new_identity_of_the_cluster_replaces_every_object_in_it() -> None:
    def graph(identity: str) -> list[Resource]:
        provider = res(KUBE, "kube", inputs={"clusterIdentifier": identity})
        return [provider, res(DEPLOYMENT, "d", provider=provider.urn)]

    found = diff(graph("a"), graph("b"))
    assert found["kube"].kind == "replaced"
    assert (found["d"].kind, found["d"].cause) == ("replaced", urn(KUBE, "kube"))


def test_another_provider_resource_replaces() -> None:
    (change,) = diff([res(VPC, "v", provider=urn(KUBE, "a"))], [res(VPC, "v", provider=urn(KUBE, "b"))]).values()
    assert [(p.path, p.before, p.after, p.replaces) for p in change.properties] == [("provider", "a", "b", True)]


def test_a_config_map_is_replaced_unless_its_provider_may_change_it() -> None:
    def graph(value: str, mutable: str) -> list[Resource]:
        provider = res(KUBE, "kube", inputs={"enableConfigMapMutable": mutable})
        return [provider, res(CONFIG, "c", provider=provider.urn, inputs={"data": {"a": value}})]

    assert diff(graph("1", "false"), graph("2", "false"))["c"].kind == "replaced"
    assert diff(graph("1", "true"), graph("2", "true"))["c"].kind == "changed"


def test_what_the_api_server_keeps_is_refused_not_replaced() -> None:
    (change,) = diff(
        [res(CLASS, "c", inputs={"reclaimPolicy": "Delete"})], [res(CLASS, "c", inputs={"reclaimPolicy": "Retain"})]
    ).values()
    assert (change.kind, [p.refused for p in change.properties]) == ("changed", [True])


def test_ignored_properties_do_not_differ() -> None:
    def graph(value: int) -> list[Resource]:
        return [res(DEPLOYMENT, "d", inputs={"spec": {"replicas": value}}, ignore_changes=("spec.replicas",))]

    assert diff(graph(1), graph(2)) == {}


def test_replace_on_changes_is_honoured() -> None:
    def graph(value: str) -> list[Resource]:
        return [res("aws:sqs/queue:Queue", "q", inputs={"tags": {"a": value}}, replace_on_changes=("tags",))]

    assert diff(graph("1"), graph("2"))["q"].kind == "replaced"


def test_options_that_matter_to_a_reviewer_are_shown() -> None:
    old = res(VPC, "v", protect=True, timeouts={"delete": "10m"})
    new = dataclasses.replace(old, protect=False, timeouts={"delete": "45m"}, deleted_with=urn(VPC, "w"))
    (change,) = diff([old], [new]).values()
    assert {(p.path, p.before, p.after) for p in change.properties} == {
        ("protect", "true", "false"),
        ("timeouts", "delete 10m", "delete 45m"),
        ("deleted_with", "none", "w"),
    }


def test_protection_against_a_replacement_is_known() -> None:
    def graph(cidr: str, *, protect: bool) -> list[Resource]:
        return [res(VPC, "v", inputs={"cidrBlock": cidr}, protect=protect)]

    assert diff(graph("a", protect=True), graph("b", protect=True))["v"].protected
    assert not diff(graph("a", protect=True), graph("b", protect=False))["v"].protected
    assert diff(graph("a", protect=True), [])["v"].protected


def test_lists_of_named_things_are_matched_by_name() -> None:
    def graph(*names: str) -> list[Resource]:
        env = [{"name": name, "value": name.lower()} for name in names]
        return [res(DEPLOYMENT, "d", inputs={"spec": {"env": env}})]

    (change,) = diff(graph("A", "B"), graph("NEW", "A", "B")).values()
    assert [p.path for p in change.properties] == ["spec.env.NEW"]
    (moved,) = diff(graph("A", "B"), graph("B", "A")).values()
    assert [(p.path, p.before, p.after) for p in moved.properties] == [("spec.env", "A, B", "B, A")]


def test_a_number_is_not_a_truth_value() -> None:
    assert diff([res(VPC, "v", inputs={"a": 1})], [res(VPC, "v", inputs={"a": True})])

"""Who may do what: trust, policies, access entries, the kubeconfig."""

from __future__ import annotations

import json

import pytest

from components.platform.iam import pod_trust, slug
from components.platform.karpenter_iam import karpenter_policies
from components.platform.kubeconfig import kubeconfig
from components.platform.load_balancer_iam import TAG, load_balancer_policies
from components.platform.models import mirror_policy
from components.platform.secrets import read_secret_policy
from headwater.catalog.regions import partition_of
from headwater.plan.quotas import needs
from headwater.settings import Refusal, settings_from_config
from tests.platform.world import GROUP, PART, World, config
from tests.validators import iam

PLACE = ("aws", "us-east-2", "123456789012")
KARPENTER = karpenter_policies(*PLACE, cluster="c", node_role="KarpenterNodeRole-c", queue="c")


def test_karpenter_has_six_policies_that_parliament_accepts_and_iam_can_hold():
    assert len(KARPENTER) == 6
    for name, document in KARPENTER.items():
        text = json.dumps(document)
        assert iam.validate(text, iam.IDENTITY) == [], name
        assert len(text.replace(" ", "")) <= 6144, name


def test_karpenter_changes_only_what_carries_this_clusters_tag():
    reads = {"AllowScopedEC2InstanceAccessActions"}
    for statement in KARPENTER["node-lifecycle"]["Statement"]:
        if statement["Sid"] not in reads:
            assert '"owned"' in json.dumps(statement["Condition"]), statement["Sid"]
            assert "kubernetes.io/cluster/c" in json.dumps(statement["Condition"]), statement["Sid"]


def test_no_policy_of_ours_ends_in_full_access():
    files = config(PART, weights={"cache": "fsx"}, capacity={"h100": {"zones": ["us-east-2a"]}})
    for world in (World(GROUP, known=True), World(files, known=True)):
        attached = [r.inputs["policyArn"] for r in world.all("rolePolicyAttachment:RolePolicyAttachment")]
        assert attached
        assert not [arn for arn in attached if arn.endswith(("FullAccess", "AdministratorAccess"))]


def test_a_pods_role_is_taken_by_this_clusters_pods_only():
    [statement] = pod_trust(*PLACE, "c")["Statement"]
    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert statement["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": "123456789012"}
    assert statement["Condition"]["ArnEquals"] == {"aws:SourceArn": "arn:aws:eks:us-east-2:123456789012:cluster/c"}


def test_the_load_balancer_controller_changes_only_its_own():
    for name, document in load_balancer_policies(*PLACE, "c").items():
        assert iam.validate(json.dumps(document), iam.IDENTITY) == [], name
    changes = {s["Sid"]: s for s in load_balancer_policies(*PLACE, "c")["change"]["Statement"]}
    for sid in ("ChangeOwn", "DeleteOwnGroups", "TagOwn", "TagOwnGroups"):
        assert changes[sid]["Condition"]["StringEquals"] == {f"aws:ResourceTag/{TAG}": "c"}


@pytest.mark.parametrize(
    ("mirror", "objects", "prefixes"),
    [
        ("s3://models", "arn:aws:s3:::models/*", None),
        ("s3://models/a/b/", "arn:aws:s3:::models/a/b/*", ["a/b", "a/b/*"]),
    ],
)
def test_model_pods_read_the_mirror_and_write_nothing(mirror, objects, prefixes):
    listing, reading = mirror_policy("aws", mirror)["Statement"]
    assert reading["Resource"] == objects
    assert listing["Resource"] == "arn:aws:s3:::models"
    assert listing.get("Condition", {}).get("StringLike", {}).get("s3:prefix") == prefixes
    assert listing["Action"] + reading["Action"] == ["s3:ListBucket", "s3:GetObject"]


def test_a_secret_named_without_its_random_suffix_is_still_only_that_secret():
    short = "arn:aws:secretsmanager:us-east-2:123456789012:secret:hub/token"
    assert read_secret_policy(short)["Statement"][0]["Resource"] == f"{short}-??????"
    assert read_secret_policy(f"{short}-AbC123")["Statement"][0]["Resource"] == f"{short}-AbC123"


def test_administrators_are_those_named_and_the_deploying_role():
    roles = {"admins": ["arn:aws:iam::123456789012:role/a"], "deployRole": "arn:aws:iam::123456789012:role/b"}
    world = World(config(PART, cluster=roles))
    entries = world.all("AccessEntry", lambda r: r.inputs["type"] == "STANDARD")
    assert [e.inputs["principalArn"] for e in entries] == [roles["admins"][0], roles["deployRole"]]
    assert json.loads(world.one("providers:aws").inputs["assumeRoles"]) == [{"roleArn": roles["deployRole"]}]


def test_an_account_that_is_named_is_the_only_one_touched():
    provider = World(config(PART, cluster={"account": "123456789012"})).one("providers:aws")
    assert json.loads(provider.inputs["allowedAccountIds"]) == ["123456789012"]
    assert "allowedAccountIds" not in World(PART).one("providers:aws").inputs


def test_the_kubeconfig_holds_no_credential_and_takes_the_deploying_role():
    plain = json.loads(kubeconfig("c", "https://api", "Q0E=", "us-east-2", None))
    [user] = plain["users"]
    assert set(user["user"]) == {"exec"}
    assert user["user"]["exec"]["args"][-4:] == ["--cluster-name", "c", "--output", "json"]
    role = json.loads(kubeconfig("c", "https://api", "Q0E=", "us-east-2", "arn:r"))
    assert role["users"][0]["user"]["exec"]["args"][-2:] == ["--role-arn", "arn:r"]
    assert "token" not in json.dumps(plain).replace("get-token", "")


def test_the_provider_is_identified_by_a_constant():
    assert (
        World(PART).one("providers:kubernetes", "platform-kubernetes").inputs["clusterIdentifier"] == "headwater-test"
    )


def test_partitions_follow_the_region():
    assert [partition_of(r) for r in ("us-east-2", "us-gov-west-1", "cn-north-1")] == ["aws", "aws-us-gov", "aws-cn"]


def test_logical_names_are_words():
    assert slug("AmazonEKSWorkerNodePolicy") == "amazon-eks-worker-node-policy"
    assert slug("123456789012-role/ops/Admin") == "123456789012-role-ops-admin"


def test_quotas_follow_from_the_plan():
    plan = World(GROUP).plan
    wanted = {need.quota.code: need.amount for need in needs(plan)}
    nodes = {pool.name: pool.nodes_max for pool in plan.pools}
    assert wanted["L-417A185B"] == nodes["h100-node"] * 192 + nodes["h100-part"] * 16
    assert wanted["L-0263D0A3"] == 1
    assert wanted["L-DF5E4CA3"] == nodes["h100-node"] * 34 + nodes["h100-part"] * 2 + plan.system.nodes_max * 2
    assert wanted["L-1216C47A"] == plan.system.nodes_max * 8


@pytest.mark.parametrize(
    ("sections", "says"),
    [
        ({"cluster": {"existing": "shared"}}, "existing cluster lives in an existing network"),
        ({"cluster": {"account": 123456789012}}, "12 digits in quotes"),
        ({"network": {"vpc": "vpc-0123456789abcdef0"}}, "needs both `vpc` and `subnets"),
        ({"tags": {"karpenter.sh/nodepool": "x"}}, "belongs to AWS, Kubernetes, Karpenter"),
        ({"gateway": {"exposure": "public"}}, "needs `certificate`"),
    ],
)
def test_what_cannot_be_is_refused_in_words(sections, says):
    with pytest.raises(Refusal, match=says):
        settings_from_config(config(PART, **sections), "test")


@pytest.mark.parametrize(
    ("sections", "says"),
    [
        ({"network": {"endpoints": "isolated"}}, "reach no public registry"),
        ({"network": {"endpoints": "isolated"}, "mirror": {"images": "r/m"}}, "do not reach the model hub"),
        ({"weights": {"cache": "fsx"}}, "FSx for Lustre is in one zone"),
        ({"network": {"cidr": "10.0.0.0/18", "zones": ["us-east-2a", "us-east-2d"]}}, "has room for zones a to c"),
    ],
)
def test_what_only_the_whole_shows_is_refused_in_words(sections, says):
    with pytest.raises(Refusal, match=says):
        _ = World(config(PART, **sections)).plan


def test_every_resource_karpenter_may_touch_names_its_kind():
    resources = {r for document in KARPENTER.values() for s in document["Statement"] for r in s["Resource"]} - {"*"}
    kinds = {r.split(":", 5)[5].split("/")[0] for r in resources}
    assert not any("*" in kind for kind in kinds)
    unbound = {s["Sid"] for d in KARPENTER.values() for s in d["Statement"] if s["Resource"] == ["*"]}
    assert unbound == {
        "AllowRegionalReadActions",
        "AllowPricingReadActions",
        "AllowUnscopedInstanceProfileListAction",
        "AllowZonalShiftStatusReadOnly",
    }

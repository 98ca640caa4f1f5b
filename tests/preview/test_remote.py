"""The stand-in for ``eks.Cluster`` registers what the real component registers, and nothing else."""

from __future__ import annotations

import pytest

from headwater.preview.errors import PreviewError
from headwater.preview.graph import Graph
from tests.preview.conftest import Evaluate, one

PROGRAM = """
import pulumi, pulumi_aws as aws, pulumi_eks as eks
provider = aws.Provider("aws", region="us-east-2")
own = pulumi.ResourceOptions(provider=provider)
vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", opts=own)
subnet = aws.ec2.Subnet("subnet", vpc_id=vpc.id, opts=own)
cluster = eks.Cluster("main", name="main", version="1.36", subnet_ids=[subnet.id], skip_default_node_group=True,
    skip_default_security_groups=True, use_default_vpc_cni=True, kube_proxy_addon_options={"enabled": False},
    coredns_addon_options={"enabled": False}, authentication_mode=eks.AuthenticationMode.API, deletion_protection=True,
    tags={"env": "x"}, endpoint_private_access=True, endpoint_public_access=False,
    opts=pulumi.ResourceOptions(providers=[provider], protect=True))
pulumi.export("name", cluster.eks_cluster.name)
pulumi.export("endpoint", cluster.eks_cluster.endpoint)
pulumi.export("sg", cluster.cluster_security_group_id)
pulumi.export("sg2", cluster.eks_cluster.vpc_config.cluster_security_group_id)
pulumi.export("kubeconfig", cluster.kubeconfig_json)
pulumi.export("token", cluster.get_kubeconfig(role_arn="arn:x"))
"""


@pytest.fixture
def graph(preview: Evaluate) -> Graph:
    return preview(PROGRAM)


def test_the_children_are_those_of_the_real_component(graph: Graph) -> None:
    cluster = one(graph, "main")
    assert sorted((r.type, r.name) for r in graph.descendants(cluster.urn)) == [
        ("aws:eks/cluster:Cluster", "main-eksCluster"),
        ("aws:iam/role:Role", "main-eksRole-role"),
        ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "main-eksRole-4b490823"),
        ("eks:index:ServiceRole", "main-eksRole"),
        ("pulumi:providers:kubernetes", "main-eks-k8s"),
    ]


def test_arguments_reach_the_cluster_itself(graph: Graph) -> None:
    inputs = one(graph, "main-eksCluster").inputs
    assert inputs["name"] == "main"
    assert inputs["version"] == "1.36"
    assert inputs["deletionProtection"] is True
    assert inputs["accessConfig"] == {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True}
    assert inputs["vpcConfig"] == {
        "subnetIds": ["<unknown>"],
        "endpointPrivateAccess": True,
        "endpointPublicAccess": False,
    }
    assert inputs["tags"] == {"Name": "main-eksCluster", "env": "x"}


def test_children_use_the_components_provider_and_protection(graph: Graph) -> None:
    child = one(graph, "main-eksCluster")
    assert child.provider == one(graph, "aws").urn
    assert child.protect
    assert one(graph, "main-eksRole-role").provider == one(graph, "aws").urn


def test_the_cluster_waits_for_its_subnets_and_its_role(graph: Graph) -> None:
    assert set(one(graph, "main-eksCluster").dependencies) == {
        one(graph, name).urn for name in ("subnet", "main-eksRole-role", "main-eksRole-4b490823")
    }


def test_outputs_the_cloud_computes_are_unknown(graph: Graph) -> None:
    unknown = dict.fromkeys(("endpoint", "sg", "sg2", "kubeconfig", "token"), "<unknown>")
    assert graph.outputs == {"name": "main", **unknown}


def test_arguments_that_make_unknown_children_are_refused(preview: Evaluate) -> None:
    with pytest.raises(PreviewError, match="skipDefaultNodeGroup=True"):
        preview(PROGRAM.replace("skip_default_node_group=True", "skip_default_node_group=False"))


def test_a_remote_component_not_known_from_inside_is_said_to_be_incomplete(preview: Evaluate) -> None:
    graph = preview(PROGRAM + "eks.Addon('cni', cluster=cluster, addon_name='vpc-cni')\n")
    assert [m.text for m in graph.messages] == [
        "What the remote component eks:index:Addon creates is not known offline and not listed."
    ]


def test_a_component_whose_provider_waits_is_listed_later(preview: Evaluate) -> None:
    graph = preview(
        PROGRAM
        + "import pulumi_kubernetes as k8s\nkube = k8s.Provider('kube', kubeconfig=cluster.kubeconfig_json)\n"
        + "k8s.yaml.v2.ConfigFile('crds', file='https://example.com/crds.yaml',"
        + " opts=pulumi.ResourceOptions(provider=kube))\n"
    )
    assert [m.text for m in graph.messages] == [
        "What kubernetes:yaml/v2:ConfigFile creates is listed once the cluster exists."
    ]

"""The judge of whole graphs is seen sending each resource to its judge, and finding what objects name in vain."""

from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.validators import graph as judge
from tests.validators import references
from tests.validators.unknown import SECRET, UNKNOWN

Object = dict[str, Any]


@dataclass(frozen=True)
class Resource:
    type: str
    name: str = "x"
    inputs: Object = field(default_factory=dict)
    external: bool = False

    @property
    def urn(self) -> str:
        return f"urn:pulumi:dev::headwater::{self.type}::{self.name}"


@dataclass(frozen=True)
class Graph:
    resources: tuple[Resource, ...]


def namespace(name: str) -> Resource:
    return Resource("kubernetes:core/v1:Namespace", name, {"metadata": {"name": name}})


def found_in(shared: Path, *resources: Resource) -> list[str]:
    return judge.validate_graph(Graph(resources), shared)


def release(chart: str, values: Any, **inputs: Any) -> Resource:
    base = {"chart": chart, "name": "r", "version": "1.2.3", "namespace": "kube-system", "values": values}
    return Resource("kubernetes:helm.sh/v3:Release", "r", base | inputs)


def test_each_package_has_its_judge(shared: Path) -> None:
    assert found_in(shared, Resource("pulumi:pulumi:Stack"), Resource("headwater:platform:Network")) == []
    assert "no judge knows the package random" in found_in(shared, Resource("random:index/randomId:RandomId"))[0]
    assert "host bits" in found_in(shared, Resource("aws:ec2/vpc:Vpc", inputs={"cidrBlock": "10.0.0.1/8"}))[0]
    assert "is none of API" in found_in(shared, Resource("eks:index:Cluster", inputs={"authenticationMode": "X"}))[0]
    assert "is not mapped" in found_in(shared, Resource("aws:rds/instance:Instance"))[0]


def test_what_is_only_read_is_not_judged(shared: Path) -> None:
    assert found_in(shared, Resource("aws:rds/instance:Instance", external=True)) == []


def test_policies_are_read_where_they_stand(shared: Path) -> None:
    wide = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
    assert any(
        "is a wildcard" in f for f in found_in(shared, Resource("aws:iam/policy:Policy", inputs={"policy": wide}))
    )
    attachment = {"role": "r", "policyArn": "arn:aws:iam::aws:policy/AmazonS3FullAccess"}
    found = found_in(shared, Resource("aws:iam/rolePolicyAttachment:RolePolicyAttachment", inputs=attachment))
    assert len(found) == 1
    assert "AmazonS3FullAccess grants far more" in found[0]


def test_types_become_objects(shared: Path) -> None:
    wrong = {"metadata": {"name": "c", "namespace": "kube-system"}, "datas": {}}
    assert any("datas" in f for f in found_in(shared, Resource("kubernetes:core/v1:ConfigMap", inputs=wrong)))
    pool = {"metadata": {"name": "p"}, "spec": {}}
    assert any(
        "spec.template: missing" in f
        for f in found_in(shared, Resource("kubernetes:karpenter.sh/v1:NodePool", inputs=pool))
    )
    group = Resource(
        "kubernetes:yaml/v2:ConfigGroup", inputs={"objs": [{"apiVersion": "v1", "kind": "ConfigMap", **wrong}]}
    )
    assert any("datas" in f for f in found_in(shared, group))
    nobody = Resource("kubernetes:example.com/v1:Thing", inputs={"metadata": {"name": "t"}})
    assert any("has Thing in example.com/v1" in f for f in found_in(shared, nobody))


def test_pods_inside_custom_resources_are_judged_as_pods(shared: Path) -> None:
    group = {
        "metadata": {"name": "g", "namespace": "kube-system"},
        "spec": {
            "leaderWorkerTemplate": {
                "size": 2,
                "workerTemplate": {"spec": {"containers": [{"name": "c", "image": "vllm:latest"}]}},
            }
        },
    }
    found = found_in(shared, Resource("kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet", inputs=group))
    assert [
        f for f in found if "spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].image" in f and "moves" in f
    ]


def test_releases_are_pinned_placed_and_their_values_known(shared: Path) -> None:
    chart = "oci://public.ecr.aws/karpenter/karpenter"
    assert found_in(shared, release(chart, {"settings": {"clusterName": UNKNOWN}})) == []
    assert "ignored in silence" in found_in(shared, release(chart, {"settings": {"clustername": "c"}}))[0]
    assert "is a range" in found_in(shared, release(chart, {}, version="^1.14"))[0]
    assert "Helm's limit" in found_in(shared, release(chart, {}, name="r" * 54))[0]
    assert "version: missing" in found_in(shared, release(chart, {}, version=""))[0]
    assert "hidden as a whole" in found_in(shared, release(chart, SECRET))[0]
    assert "is no OCI address" in found_in(shared, release("keda", {}))[0]
    assert found_in(shared, release("keda", {}, repositoryOpts={"repo": "https://kedacore.github.io/charts"})) == []
    assert "no default values are known" in found_in(shared, release("oci://example.com/nginx", {"a": 1}))[0]


def deployment(**spec: Any) -> Object:
    pod = {"containers": [{"name": "c", "image": "r/i:1", **spec.pop("container", {})}], **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "serving"},
        "spec": {
            "selector": {"matchLabels": {"app": "d"}},
            "template": {"metadata": {"labels": {"app": "d"}}, "spec": pod},
        },
    }


def made(kind: str, name: str, namespace: str | None = "serving", **body: Any) -> Object:
    return {"kind": kind, "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}), **body}


SERVING = made("Namespace", "serving", None)


def named(*objects: Object, releases: tuple[Object, ...] = ()) -> list[str]:
    return references.findings([SERVING, *deepcopy(objects)], list(releases))


NAMES = [
    (deployment(volumes=[{"name": "v", "configMap": {"name": "c"}}]), made("ConfigMap", "c")),
    (deployment(volumes=[{"name": "v", "secret": {"secretName": "s"}}]), made("Secret", "s")),
    (
        deployment(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "p"}}]),
        made("PersistentVolumeClaim", "p"),
    ),
    (deployment(serviceAccountName="a"), made("ServiceAccount", "a")),
    (deployment(priorityClassName="high"), made("PriorityClass", "high", None)),
    (
        deployment(container={"env": [{"name": "T", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]}),
        made("Secret", "hf"),
    ),
    (deployment(container={"envFrom": [{"configMapRef": {"name": "env"}}]}), made("ConfigMap", "env")),
    (
        made(
            "NodePool",
            "p",
            None,
            spec={"template": {"spec": {"nodeClassRef": {"kind": "EC2NodeClass", "name": "n"}}}},
        ),
        made("EC2NodeClass", "n", None),
    ),
    (made("HTTPRoute", "r", spec={"parentRefs": [{"name": "g"}]}), made("Gateway", "g")),
    (made("Gateway", "g", spec={"gatewayClassName": "c"}), made("GatewayClass", "c", None)),
    (
        made(
            "GatewayClass",
            "c",
            None,
            spec={"parametersRef": {"kind": "EnvoyProxy", "namespace": "serving", "name": "e"}},
        ),
        made("EnvoyProxy", "e"),
    ),
    (made("ClientTrafficPolicy", "p", spec={"targetRefs": [{"kind": "Gateway", "name": "g"}]}), made("Gateway", "g")),
    (made("ExternalSecret", "s", spec={"secretStoreRef": {"name": "aws"}}), made("SecretStore", "aws")),
    (made("PersistentVolumeClaim", "p", spec={"storageClassName": "gp3"}), made("StorageClass", "gp3", None)),
    (
        made("HTTPRoute", "r", spec={"rules": [{"backendRefs": [{"kind": "InferencePool", "name": "p"}]}]}),
        made("InferencePool", "p", spec={"endpointPickerRef": {"name": UNKNOWN}}),
    ),
    (
        made("InferenceObjective", "o", spec={"poolRef": {"name": "p"}}),
        made("InferencePool", "p", spec={"endpointPickerRef": {"name": UNKNOWN}}),
    ),
    (made("ScaledObject", "s", spec={"scaleTargetRef": {"name": "d"}}), deployment()),
    (made("RoleBinding", "b", roleRef={"kind": "Role", "name": "r"}), made("Role", "r")),
    (made("Service", "s", spec={"selector": {"app": "d"}}), deployment()),
    (made("PodDisruptionBudget", "b", spec={"selector": {"matchLabels": {"app": "d"}}}), deployment()),
]


@pytest.mark.parametrize(("obj", "other"), NAMES, ids=[f"{o['kind']}-{t['kind']}" for o, t in NAMES])
def test_what_an_object_names_must_be_made(obj: Object, other: Object) -> None:
    assert named(obj, other) == []
    assert len(named(obj)) == 1


def test_optional_and_given_names_need_not_be_made() -> None:
    optional = {"name": "v", "configMap": {"name": "c", "optional": True}}
    assert named(deployment(volumes=[optional], priorityClassName="system-node-critical")) == []


def test_a_name_in_another_namespace_does_not_count() -> None:
    elsewhere = made("ConfigMap", "c", "other")
    found = named(
        deployment(volumes=[{"name": "v", "configMap": {"name": "c"}}]), elsewhere, made("Namespace", "other", None)
    )
    assert len(found) == 1


def test_a_chart_makes_what_it_is_known_to_make() -> None:
    route = made("HTTPRoute", "r", spec={"rules": [{"backendRefs": [{"kind": "InferencePool", "name": "glm"}]}]})
    chart = {"chart": "oci://ghcr.io/llm-d/charts/llm-d-router-gateway", "name": "glm", "namespace": "serving"}
    assert named(route, releases=(chart,)) == []
    assert len(named(route, releases=({**chart, "name": "other"},))) == 1


def test_labels_that_controllers_add_are_not_looked_for() -> None:
    service = made("Service", "s", spec={"selector": {"app": "d", "leaderworkerset.sigs.k8s.io/worker-index": "0"}})
    assert named(service, deployment()) == []


PORT = {"ports": [{"name": "http", "containerPort": 8000}]}


def pool_of(port: int) -> Object:
    selector = {"matchLabels": {"app": "d"}}
    return made(
        "InferencePool",
        "o",
        spec={"selector": selector, "targetPorts": [{"number": port}], "endpointPickerRef": {"name": UNKNOWN}},
    )


def service_to(port: str) -> Object:
    return made("Service", "o", spec={"selector": {"app": "d"}, "ports": [{"port": 80, "targetPort": port}]})


def monitor_of(port: str) -> Object:
    spec = {"selector": {"matchLabels": {"app": "d"}}, "podMetricsEndpoints": [{"port": port}]}
    return made("PodMonitor", "o", spec=spec)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (service_to("http"), service_to("htp")),
        (monitor_of("http"), monitor_of("metrics")),
        (pool_of(8000), pool_of(8001)),
    ],
    ids=["Service", "PodMonitor", "InferencePool"],
)
def test_ports_must_be_on_the_pods_selected(right: Object, wrong: Object) -> None:
    assert named(right, deployment(container=PORT)) == []
    found = named(wrong, deployment(container=PORT))
    assert len(found) == 1
    assert "none of the pods it selects has it" in found[0]


def test_a_route_names_a_listener_of_its_gateway() -> None:
    gateway = made("Gateway", "g", spec={"listeners": [{"name": "https"}]})
    for section, expected in (("https", 0), ("http", 1)):
        route = made("HTTPRoute", "r", spec={"parentRefs": [{"name": "g", "sectionName": section}]})
        assert len(named(route, gateway)) == expected


def test_an_external_secret_makes_a_secret() -> None:
    user = deployment(volumes=[{"name": "v", "secret": {"secretName": "hf"}}])
    assert named(user, made("ExternalSecret", "hf", spec={})) == []
    assert named(user, made("ExternalSecret", "x", spec={"target": {"name": "hf"}})) == []
    assert len(named(user, made("ExternalSecret", "hf", spec={"target": {"name": "other"}}))) == 1


def test_two_objects_cannot_share_a_name() -> None:
    assert "rendered twice" in named(deployment(), deployment())[0]


def test_namespaces_must_be_made() -> None:
    assert references.findings([made("ConfigMap", "c")], []) == ["ConfigMap c: no namespace 'serving' is made"]
    assert references.findings([made("ConfigMap", "c", "kube-system")], []) == []
    by_release = {"chart": "keda", "name": "keda", "namespace": "keda", "createNamespace": True}
    assert references.findings([], [by_release]) == []
    assert len(references.findings([], [{**by_release, "createNamespace": False}])) == 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"controller": {"resources": {"limit": {"cpu": "1"}}}}, "limit"),
        ({"controller": {"resources": {"limits": {"memory": "1024Mi"}}}}, "is stored as '1Gi'"),
        ({"controller": {"resources": {"limits": {"gpu": "1"}}}}, "no resource of Kubernetes"),
        ({"tolerations": [{"key": "a", "operators": "Exists"}]}, "operators"),
        ({"affinity": {"nodeAffinities": {}}}, "nodeAffinities"),
        ({"controller": {"env": [{"nam": "A"}]}}, "nam"),
        ({"podSecurityContext": {"runAsNonroot": True}}, "runAsNonroot"),
        ({"nodeSelector": {"a": "b c"}}, "no label value"),
    ],
)
def test_kubernetes_shapes_in_helm_values_are_judged(shared: Path, values: Object, said: str) -> None:
    chart = "oci://public.ecr.aws/karpenter/karpenter"
    found = found_in(shared, release(chart, values))
    assert any(said in finding and "values: " in finding for finding in found), found


def test_right_shapes_in_helm_values_pass(shared: Path) -> None:
    values = {
        "controller": {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "env": [{"name": "A", "value": "b"}]},
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
    }
    assert found_in(shared, release("oci://public.ecr.aws/karpenter/karpenter", values)) == []


def test_kinds_without_a_crd_are_judged_by_the_shapes_in_them(shared: Path) -> None:
    proxy = {
        "metadata": {"name": "e", "namespace": "kube-system"},
        "spec": {"provider": {"kubernetes": {"envoyDeployment": {"container": {"resources": {"limit": {}}}}}}},
    }
    found = found_in(shared, Resource("kubernetes:gateway.envoyproxy.io/v1alpha1:EnvoyProxy", "e", proxy))
    assert any("envoyDeployment.container.resources" in finding for finding in found)


def test_hidden_secrets_and_unknown_parts_do_not_stop_the_judges(shared: Path) -> None:
    secret = {"metadata": {"name": "s", "namespace": "serving"}, "stringData": SECRET}
    hidden = Resource("kubernetes:core/v1:Secret", "s", secret)
    whole = Resource(
        "kubernetes:apps/v1:Deployment", "d", {"metadata": {"name": "d", "namespace": UNKNOWN}, "spec": UNKNOWN}
    )
    assert found_in(shared, namespace("serving"), hidden, whole) == []

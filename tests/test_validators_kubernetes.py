"""The judge of core Kubernetes objects is seen refusing what the API server would refuse, drop or rewrite."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.validators import kubernetes, pods, quantities
from tests.validators.unknown import UNKNOWN

Object = dict[str, Any]


def deployment() -> Object:
    labels = {"app.kubernetes.io/name": "model"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "model", "namespace": "serving", "labels": dict(labels)},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": dict(labels)},
            "template": {
                "metadata": {"labels": dict(labels)},
                "spec": {
                    "containers": [
                        {
                            "name": "vllm",
                            "image": "registry.example/vllm:v1.2.3",
                            "args": ["--port=$(PORT)"],
                            "env": [{"name": "PORT", "value": "8000"}],
                            "ports": [{"containerPort": 8000, "name": "http"}],
                            "readinessProbe": {"httpGet": {"path": "/health", "port": "http"}},
                            "resources": {
                                "requests": {"cpu": "4", "memory": "64Gi", "nvidia.com/gpu": "8"},
                                "limits": {"memory": "64Gi", "nvidia.com/gpu": "8"},
                            },
                            "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
                        }
                    ],
                    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
                    "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}],
                },
            },
        },
    }


def service() -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "model", "namespace": "serving"},
        "spec": {"selector": {"app": "x"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    }


def network_policy() -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "model", "namespace": "serving"},
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/16"}}], "ports": [{"port": 443, "protocol": "TCP"}]}],
        },
    }


def config_map() -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "serving"},
        "data": {"config.yaml": "a: 1"},
    }


def simple(api_version: str, kind: str, body: Object, *, namespaced: bool = True) -> Callable[[], Object]:
    def make() -> Object:
        meta = {"name": "x"} | ({"namespace": "serving"} if namespaced else {})
        return {"apiVersion": api_version, "kind": kind, "metadata": meta, **body}

    make.__name__ = kind
    return make


JOB = simple(
    "batch/v1",
    "Job",
    {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "r/i:1"}]}}}},
)
BUDGET = simple(
    "policy/v1", "PodDisruptionBudget", {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
)
SCALER = simple(
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    {
        "spec": {
            "minReplicas": 1,
            "maxReplicas": 3,
            "scaleTargetRef": {"kind": "Deployment", "name": "model", "apiVersion": "apps/v1"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}],
        }
    },
)
CLAIM = simple(
    "v1",
    "PersistentVolumeClaim",
    {"spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}}},
)
STORAGE = simple(
    "storage.k8s.io/v1",
    "StorageClass",
    {"provisioner": "ebs.csi.aws.com", "reclaimPolicy": "Delete", "volumeBindingMode": "WaitForFirstConsumer"},
    namespaced=False,
)
ROLE = simple(
    "rbac.authorization.k8s.io/v1", "Role", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
)
BINDING = simple(
    "rbac.authorization.k8s.io/v1",
    "RoleBinding",
    {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "serving"}],
    },
)
PRIORITY = simple("scheduling.k8s.io/v1", "PriorityClass", {"value": 1000}, namespaced=False)
NAMESPACE = simple("v1", "Namespace", {}, namespaced=False)
SECRET = simple("v1", "Secret", {"type": "Opaque", "stringData": {"token": "t"}})
RIGHT = [deployment, service, network_policy, config_map, JOB, BUDGET, SCALER, CLAIM, STORAGE, ROLE, BINDING, PRIORITY]
RIGHT += [NAMESPACE, SECRET]


@pytest.mark.parametrize("make", RIGHT, ids=lambda m: m.__name__)
def test_a_right_object_passes(make: Callable[[], Object]) -> None:
    assert kubernetes.validate(make()) == []


C = "spec/template/spec/containers/0"
T = "spec/template/spec"
BAD: list[tuple[Callable[[], Object], str, Any, str]] = [
    (deployment, "spec/replica", 2, "replica"),
    (deployment, "spec/replicas", "2", "is not of type"),
    (deployment, "spec/replicas", -1, "below 0"),
    (deployment, "apiVersion", "extensions/v1beta1", "has no Deployment"),
    (deployment, "metadata/namespace", None, "null"),
    (deployment, "metadata/name", "Model_1", "no DNS subdomain"),
    (deployment, "metadata/labels/a b", "c", "no name of at most 63"),
    (deployment, "metadata/labels/ok", "x" * 64, "no label value"),
    (deployment, "spec/selector/matchLabels", {"other": "x"}, "is not on the template's labels"),
    (deployment, "spec/selector/matchLabels", {}, "selects everything"),
    (deployment, "spec/strategy", {"type": "Rolling"}, "is none of Recreate"),
    (deployment, "spec/strategy", {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}, "not with Recreate"),
    (deployment, "spec/strategy", {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}, "never rolls"),
    (deployment, "spec/progressDeadlineSeconds", 0, "must be above"),
    (deployment, f"{T}/restartPolicy", "Never", "only Always"),
    (deployment, f"{T}/dnsPolicy", "Cluster", "is none of ClusterFirst"),
    (deployment, f"{T}/terminationGracePeriodSeconds", -1, "below 0"),
    (deployment, f"{T}/nodeSelector", {"a": "b c"}, "no label value"),
    (deployment, f"{T}/tolerations", [{"operator": "Equal", "value": "x"}], "absent needs Exists"),
    (deployment, f"{T}/tolerations", [{"key": "a", "operator": "Exists", "value": "x"}], "must be absent with Exists"),
    (deployment, f"{T}/tolerations", [{"key": "a", "operator": "Is"}], "is none of Equal"),
    (deployment, f"{T}/tolerations", [{"key": "a", "operator": "Exists", "effect": "No"}], "is none of NoExecute"),
    (
        deployment,
        f"{T}/tolerations",
        [{"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3}],
        "only with NoExecute",
    ),
    (
        deployment,
        f"{T}/topologySpreadConstraints",
        [{"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
        "below 1",
    ),
    (
        deployment,
        f"{T}/affinity",
        {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "preference": {}}]}},
        "outside 1-100",
    ),
    (
        deployment,
        f"{T}/affinity",
        {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In"}]}]
                }
            }
        },
        "In with []",
    ),
    (
        deployment,
        f"{T}/affinity",
        {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "k", "operator": "Gt"}]}}
                ]
            }
        },
        "is none of DoesNotExist",
    ),
    (deployment, f"{T}/volumes", [], "no volume named 'shm'"),
    (deployment, f"{T}/volumes/0/hostPath", {"path": "/x"}, "exactly one source"),
    (deployment, f"{T}/volumes/0/emptyDir/sizeLimit", "1024Mi", "is stored as '1Gi'"),
    (deployment, f"{T}/volumes/0", {"name": "shm"}, "exactly one source"),
    (deployment, f"{T}/containers", [], "none"),
    (deployment, f"{C}/name", "vLLM", "no DNS label"),
    (deployment, f"{C}/image", "vllm", "neither tag nor digest"),
    (deployment, f"{C}/image", "registry:5000/vllm", "neither tag nor digest"),
    (deployment, f"{C}/image", "vllm:latest", "moves"),
    (deployment, f"{C}/image", "vllm@sha256:abc", "no digest"),
    (deployment, f"{C}/image", "vllm: 1", "no image"),
    (deployment, f"{C}/imagePullPolicy", "Sometimes", "is none of Always"),
    (deployment, f"{C}/ports/0/containerPort", 70000, "outside 1-65535"),
    (deployment, f"{C}/ports/0/name", "much-too-long-name", "at most 15"),
    (deployment, f"{C}/ports", [{"containerPort": 8000, "name": "http"}, {"containerPort": 8000}], "a second port"),
    (deployment, f"{C}/ports/0/name", "metrics", "no port named 'http'"),
    (deployment, f"{C}/readinessProbe/exec", {"command": ["true"]}, "exactly one of"),
    (deployment, f"{C}/readinessProbe/periodSeconds", 0, "below 1"),
    (deployment, f"{C}/livenessProbe", {"tcpSocket": {"port": 8000}, "successThreshold": 2}, "must be 1"),
    (deployment, f"{C}/env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], "a second variable"),
    (deployment, f"{C}/env", [{"name": "A=B", "value": "1"}], "no variable's name"),
    (deployment, f"{C}/env/0/value", 8000, "is not of type"),
    (deployment, f"{C}/env/0/valueFrom", {"fieldRef": {"fieldPath": "status.podIP"}}, "both value and valueFrom"),
    (deployment, f"{C}/args", ["--port=$(PROT)"], "$(PROT) names no variable"),
    (deployment, f"{C}/resources/requests/cpu", "5000m", "is stored as '5'"),
    (deployment, f"{C}/resources/requests/memory", "65Gi", "above its limit"),
    (deployment, f"{C}/resources/requests/memory", "64 GB", "no quantity"),
    (deployment, f"{C}/resources/requests/nvidia.com~1gpu", "4", "must equal its limit"),
    (deployment, f"{C}/resources/requests/vpc.amazonaws.com~1efa", "4", "needs the same limit"),
    (deployment, f"{C}/resources/limits/nvidia.com~1gpu", "500m", "not whole"),
    (deployment, f"{C}/volumeMounts/0/mountPath", "dev/shm", "no absolute path"),
    (deployment, f"{C}/securityContext", {"privileged": True, "allowPrivilegeEscalation": False}, "privileged, yet"),
    (deployment, f"{C}/securityContext", {"seccompProfile": {"type": "Default"}}, "is none of Localhost"),
    (service, "spec/type", "External", "is none of ClusterIP"),
    (service, "spec/ports", [], "none"),
    (service, "spec/ports", [{"port": 80}, {"port": 81}], "each needs a name"),
    (service, "spec/ports", [{"name": "a", "port": 80}, {"name": "b", "port": 80}], "a second"),
    (service, "spec/ports/0/port", 0, "outside 1-65535"),
    (service, "spec/ports/0/protocol", "HTTP", "is none of SCTP"),
    (service, "metadata/name", "1model", "starts with a letter"),
    (service, "metadata/name", "a.b", "no DNS label"),
    (network_policy, "spec/policyTypes", ["Ingress"], "has no effect"),
    (network_policy, "spec/policyTypes", ["ingress"], "is none of Egress"),
    (network_policy, "spec/egress/0/to/0/ipBlock/cidr", "10.0.0.1/16", "host bits set"),
    (network_policy, "spec/egress/0/to/0/ipBlock/except", ["11.0.0.0/24"], "is not inside"),
    (network_policy, "spec/egress/0/to/0/podSelector", {}, "goes with nothing else"),
    (network_policy, "spec/egress/0/to", [{}], "empty"),
    (network_policy, "spec/egress/0/ports/0/endPort", 80, "not above"),
    (config_map, "data/a b", "x", "no key"),
    (config_map, "data/x", 1, "is not of type"),
    (config_map, "data/x", "y" * (1024 * 1024 + 1), "at most 1048576"),
    (JOB, "spec/template/spec/restartPolicy", "Always", "needs Never or OnFailure"),
    (BUDGET, "spec/minAvailable", 1, "exactly one of"),
    (SCALER, "spec/minReplicas", 4, "above maxReplicas"),
    (SCALER, "spec/metrics/0/type", "Pods", "without `pods`"),
    (CLAIM, "spec/accessModes", ["ReadWriteAll"], "is none of"),
    (CLAIM, "spec/resources/requests/storage", "1024Gi", "is stored as '1Ti'"),
    (STORAGE, "reclaimPolicy", "Keep", "is none of"),
    (STORAGE, "parameters", {"iops": 3000}, "is not of type"),
    (STORAGE, "metadata/namespace", "x", "cluster-scoped"),
    (STORAGE, "parameters", {"volumeType": "gp3"}, "knows no 'volumeType'"),
    (STORAGE, "parameters", {"type": "gp4"}, "is none of"),
    (STORAGE, "parameters", {"encrypted": "yes"}, "is none of"),
    (deployment, f"{C}/resources/limits/memmory", "1Gi", "no resource of Kubernetes"),
    (deployment, f"{C}/resources/limits/nvidia.com~1gpus", "1", "advertised by no device plugin"),
    (ROLE, "rules/0/verbs", ["*"], "a wildcard"),
    (ROLE, "rules/0/apiGroups", [], "none"),
    (BINDING, "roleRef/name", "cluster-admin", "cluster-admin"),
    (BINDING, "subjects/0/namespace", "", "missing"),
    (PRIORITY, "value", 2_000_000_000, "above 1000000000"),
    (PRIORITY, "metadata/name", "system-x", "reserved"),
    (NAMESPACE, "metadata/labels", {"pod-security.kubernetes.io/enforce": "strict"}, "is none of"),
    (SECRET, "data", {"token": "no base64!"}, "no base64"),
]


def put(obj: Any, path: str, value: Any) -> None:
    *parents, last = [step.replace("~1", "/") for step in path.split("/")]
    for step in parents:
        obj = obj[int(step)] if isinstance(obj, list) else obj[step]
    obj[int(last) if isinstance(obj, list) else last] = value


@pytest.mark.parametrize(("make", "path", "value", "said"), BAD, ids=[f"{m.__name__}:{p}:{s}" for m, p, _, s in BAD])
def test_a_wrong_object_is_refused(make: Callable[[], Object], path: str, value: Any, said: str) -> None:
    obj = make()
    put(obj, path, value)
    assert any(said in finding for finding in kubernetes.validate(obj)), kubernetes.validate(obj)


def test_every_finding_is_told_not_the_first() -> None:
    obj = deployment()
    obj["spec"]["replicas"] = "2"
    obj["spec"]["paused"] = "no"
    assert len(kubernetes.validate(obj)) == 2


def test_placeholders_stand_for_any_value() -> None:
    obj = deployment()
    obj["spec"]["replicas"] = UNKNOWN
    obj["spec"]["template"]["spec"]["containers"][0]["image"] = UNKNOWN
    obj["metadata"]["namespace"] = UNKNOWN
    assert kubernetes.validate(obj) == []


def test_a_dollar_pair_escapes_an_expansion() -> None:
    obj = deployment()
    obj["spec"]["template"]["spec"]["containers"][0]["args"] = ["$$(LATER)"]
    assert kubernetes.validate(obj) == []


def test_an_operator_may_complete_a_partial_pod() -> None:
    template = {"spec": {"containers": [{"name": "main", "volumeMounts": [{"name": "cache", "mountPath": "/cache"}]}]}}
    assert kubernetes.pod_template_errors(template, "t", partial=True) == []
    assert len(kubernetes.pod_template_errors(template, "t")) == 2


def test_a_pod_template_inside_another_object_is_held_to_the_schema() -> None:
    template = {"spec": {"containers": [{"name": "main", "image": "r/i:1", "arg": ["x"]}]}}
    assert any("arg" in finding for finding in kubernetes.pod_template_errors(template, "spec.leaderTemplate"))


def test_pinned_images_pass() -> None:
    for image in ("r/a:v1.2.3", "r:5000/a:1", "r/a@sha256:" + "0" * 64, "r/a:1@sha256:" + "0" * 64):
        assert pods.image_error(image) is None


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("1024Mi", "1Gi"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("1000Mi", "1000Mi"),
        ("2048Ki", "2Mi"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("0.0001", "100u"),
        ("1e3", "1e3"),
        ("1000e0", "1e3"),
        ("0Gi", "0"),
        ("0.5Ki", "512"),
        ("1500m", "1500m"),
        (4, "4"),
    ],
)
def test_quantities_have_the_form_the_api_server_stores(written: str | int, stored: str) -> None:
    assert quantities.canonical(written) == stored
    assert quantities.parse(stored) == quantities.parse(written)
    assert quantities.canonical(stored) == stored


@pytest.mark.parametrize("text", ["", "1GB", "Gi", "1 Gi", "one", "1gi", "--1"])
def test_no_quantities(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        quantities.parse(text)

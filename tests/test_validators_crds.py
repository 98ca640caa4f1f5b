"""The judge of custom resources is seen refusing: every kind of mistake the API server would refuse or drop."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.validators import cel_rules, structural
from tests.validators.crds import CrdSet
from tests.validators.go_regex import compile_go
from tests.validators.unknown import UNKNOWN

Object = dict[str, Any]


@pytest.fixture(scope="module")
def crds(shared: Path) -> CrdSet:
    return CrdSet(shared / "crds")


def node_pool() -> Object:
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "h200"},
        "spec": {
            "limits": {"nvidia.com/gpu": 16},
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m", "budgets": [{"nodes": "1"}]},
            "template": {
                "metadata": {"labels": {"headwater/role": "decode"}},
                "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "h200"},
                    "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
                    "requirements": [
                        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5en.48xlarge"]}
                    ],
                },
            },
        },
    }


def node_class() -> Object:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "h200"},
        "spec": {
            "role": "node",
            "amiSelectorTerms": [{"id": "ami-0123456789abcdef0"}],
            "amiFamily": "AL2023",
            "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "c"}}],
            "securityGroupSelectorTerms": [{"id": "sg-0123456789abcdef0"}],
            "networkInterfaces": [
                {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
                {"networkCardIndex": 1, "deviceIndex": 1, "interfaceType": "efa-only"},
            ],
        },
    }


def http_route() -> Object:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "models", "namespace": "serving"},
        "spec": {
            "parentRefs": [{"name": "gateway"}],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                    "backendRefs": [{"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "pool"}],
                    "timeouts": {"request": "600s"},
                }
            ],
        },
    }


def test_right_objects_pass(crds: CrdSet) -> None:
    for obj in (node_pool(), node_class(), http_route()):
        assert crds.validate(obj) == []


def put(path: str, value: Any) -> Callable[[Object], None]:
    def change(obj: Object) -> None:
        *parents, last = path.split("/")
        for step in parents:
            obj = obj[int(step)] if isinstance(obj, list) else obj[step]
        obj[int(last) if isinstance(obj, list) else last] = value

    return change


BAD = [
    (node_pool, "spec/template/spec/taint", [], "unknown field"),
    (node_pool, "spec/template/spec/taints/0/effect", "Never", "is none of"),
    (node_pool, "spec/template/spec/taints/0/key", "a//b", "does not match"),
    (node_pool, "spec/template/spec/nodeClassRef", {"group": "g", "kind": "k"}, "nodeClassRef.name: missing"),
    (node_pool, "spec/weight", 101, "above 100"),
    (node_pool, "spec/weight", 0, "below 1"),
    (node_pool, "spec/weight", "1", "is no integer"),
    (node_pool, "spec/weight", True, "is no integer"),
    (node_pool, "spec/weight", None, "null"),
    (node_pool, "spec/limits/cpu", "1Gib", "does not match"),
    (node_pool, "spec/limits/cpu", [1], "neither an integer nor a text"),
    (node_pool, "spec/disruption/consolidateAfter", "10", "does not match"),
    (node_pool, "spec/disruption/consolidationPolicy", "Always", "is none of"),
    (node_pool, "spec/disruption/budgets", [{"nodes": "1"}] * 51, "at most 50"),
    (
        node_pool,
        "spec/disruption/budgets/0",
        {"nodes": "1", "schedule": "@daily"},
        "'schedule' must be set with 'duration'",
    ),
    (node_pool, "spec/template/spec/requirements/0/values", [], "must have a value defined"),
    (node_pool, "spec/template/spec/requirements/0/key", "karpenter.sh/nodepool-name", "is restricted"),
    (node_pool, "spec/template/spec/requirements/0/key", "karpenter.k8s.aws/instance-gpus", "is restricted"),
    (node_pool, "spec/template/metadata/labels", {"karpenter.sh/nodepool": "x"}, "is restricted"),
    (node_pool, "metadata/name", "H200", "no DNS subdomain"),
    (node_pool, "metadata/namespace", "default", "cluster-scoped"),
    (node_pool, "metadata/labels", {"a": "b c"}, "no label value"),
    (node_pool, "metadata/labels", {"a b": "c"}, "no name of at most 63"),
    (node_pool, "metadata/annotations", {"a": 1}, "must be text"),
    (node_pool, "apiVersion", "karpenter.sh/v1beta1", "served as v1"),
    (node_pool, "apiVersion", "karpenter.sh.example/v1", "no CRD"),
    (
        node_class,
        "spec/amiSelectorTerms",
        [{"alias": "al2023@latest", "id": "ami-0123"}],
        "'alias' is mutually exclusive",
    ),
    (node_class, "spec/amiSelectorTerms", [{"alias": "bottlerocket@1.50.0"}], "when using a Bottlerocket alias"),
    (node_class, "spec/instanceProfile", "p", "must specify exactly one of"),
    (node_class, "spec/networkInterfaces/0/interfaceType", "efa-only", "primary"),
    (
        node_class,
        "spec/networkInterfaces/1",
        {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "efa-only"},
        "must not have duplicate",
    ),
    (node_class, "spec/tags", {"karpenter.sh/nodepool": "x"}, "restricted"),
    (http_route, "spec/rules/0/matches/0/path/value", "//", "must not contain '//'"),
    (http_route, "spec/rules/0/timeouts/backendRequest", "900s", "backendRequest timeout cannot be longer"),
    (http_route, "spec/rules/0/timeouts/request", "10 min", "does not match"),
    (http_route, "spec/rules/0/backendRefs/0", {"name": "svc"}, "Must have port for Service reference"),
    (http_route, "spec/hostnames", ["1.2.3.4.example.com-"], "does not match"),
]


@pytest.mark.parametrize(("make", "path", "value", "said"), BAD, ids=[f"{m.__name__}-{p}-{s}" for m, p, _, s in BAD])
def test_a_wrong_object_is_refused(crds: CrdSet, make: Callable[[], Object], path: str, value: Any, said: str) -> None:
    obj = make()
    put(path, value)(obj)
    found = crds.validate(obj)
    assert any(said in finding for finding in found), found


def test_namespaced_objects_need_their_namespace(crds: CrdSet) -> None:
    route = http_route()
    del route["metadata"]["namespace"]
    assert any("metadata.namespace: missing" in finding for finding in crds.validate(route))


def test_defaults_come_before_rules_and_types(crds: CrdSet) -> None:
    filled = crds.defaulted(http_route())
    assert filled["spec"]["parentRefs"][0]["kind"] == "Gateway"
    assert filled["spec"]["rules"][0]["backendRefs"][0]["weight"] == 1
    assert crds.defaulted(node_pool())["spec"]["template"]["spec"]["expireAfter"] == "720h"
    assert "group" not in http_route()["spec"]["parentRefs"][0], "the object itself stays as it was"


def test_two_listeners_cannot_share_a_name(crds: CrdSet) -> None:
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    gateway = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "g", "namespace": "serving"},
        "spec": {"gatewayClassName": "c", "listeners": [listener, {**listener, "name": "other", "port": 8080}]},
    }
    assert crds.validate(gateway) == []
    gateway["spec"]["listeners"][1] = {**listener, "port": 8080}  # type: ignore[index]
    assert any("a second item" in finding for finding in crds.validate(gateway))


def test_an_update_may_not_change_what_a_transition_rule_freezes(crds: CrdSet) -> None:
    old, new = node_pool(), node_pool()
    new["spec"]["template"]["spec"]["nodeClassRef"]["kind"] = "OtherNodeClass"
    assert crds.validate(new) == []
    assert any("nodeClassRef" in finding for finding in crds.validate(new, old=old))
    assert crds.validate(deepcopy(old), old=old) == []
    static = node_pool()
    static["spec"]["replicas"] = 1
    static["spec"]["limits"] = {"nodes": 2}
    assert crds.validate(static) == []
    assert crds.validate(static, old=old), "a pool cannot turn static"


def test_optional_old_self_is_none_on_creation(crds: CrdSet) -> None:
    schema = {
        "type": "object",
        "properties": {"restart": {"type": "string"}},
        "x-kubernetes-validations": [
            {"rule": "oldSelf.hasValue() || !has(self.restart)", "optionalOldSelf": True, "message": "only on update"}
        ],
    }
    assert cel_rules.errors(schema, {"restart": "x"}) == [": only on update"]
    assert cel_rules.errors(schema, {"restart": "x"}, {}) == []


def test_placeholders_pass_everywhere_and_excuse_only_the_rules_over_them(crds: CrdSet) -> None:
    obj = node_class()
    obj["spec"]["role"] = UNKNOWN
    obj["spec"]["securityGroupSelectorTerms"] = [{"id": UNKNOWN}]
    assert crds.validate(obj) == []
    obj["spec"]["networkInterfaces"][0]["interfaceType"] = "efa-only"
    assert crds.validate(obj)


def test_every_rule_and_pattern_of_every_crd_compiles(crds: CrdSet) -> None:
    rules, patterns = set(), set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("x-kubernetes-validations"), list):
                rules.update(rule["rule"].strip() for rule in value["x-kubernetes-validations"])
            if isinstance(value.get("pattern"), str):
                patterns.add(value["pattern"])
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    for group, kind in crds.kinds():
        walk(crds.crd(group, kind).versions)
    assert len(rules) > 150
    assert len(patterns) > 40
    for rule in rules:
        cel_rules.program(rule)
    for pattern in patterns:
        compile_go(pattern)


def test_every_function_the_rules_call_exists(crds: CrdSet) -> None:
    native = {"has", "size", "all", "exists", "exists_one", "filter", "map", "contains", "startsWith", "endsWith"}
    native |= {"matches", "int", "duration", "hasValue", "value"}
    called: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for rule in value.get("x-kubernetes-validations", []) if "type" in value else []:
                called.update(cel_rules.program(rule["rule"].strip()).functions())
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    for group, kind in crds.kinds():
        walk(crds.crd(group, kind).versions)
    words = {name for name in called if name.isidentifier() and not name.startswith("_")} - {"optional"}
    assert words - native - set(cel_rules.FUNCTIONS) == set()


@pytest.mark.parametrize(
    ("rule", "value", "holds"),
    [
        ("isIP(self)", "10.0.0.1", True),
        ("isIP(self)", "10.0.0.256", False),
        ("ip(self).family() == 6", "::1", True),
        ("cidr(self).containsIP('10.1.2.3')", "10.0.0.0/8", True),
        ("cidr(self).containsIP('11.1.2.3')", "10.0.0.0/8", False),
        ("cidr(self).containsCIDR(cidr('10.1.0.0/16'))", "10.0.0.0/8", True),
        ("cidr(self).prefixLength() == 20", "10.0.0.0/20", True),
        ("isURL(self) && url(self).getHostname() == 'h' && url(self).getPort() == '8080'", "http://h:8080/x", True),
        ("isURL(self)", "no url", False),
        ("quantity(self).isGreaterThan(quantity('1Gi'))", "1025Mi", True),
        ("quantity(self).isGreaterThan(quantity('1Gi'))", "1000M", False),
        ("quantity(self).compareTo(quantity('1000m')) == 0", "1", True),
        ("isQuantity(self)", "1 GB", False),
        ("self.find('[0-9]+') == '12'", "ab12cd34", True),
        ("self.findAll('[0-9]+') == ['12', '34']", "ab12cd34", True),
        ("self.split(',').join('-') == 'a-b'", "a,b", True),
        ("self.lowerAscii() == 'ab' && self.upperAscii() == 'AB'", "aB", True),
        ("'%s is %d'.format([self, 3]) == 'x is 3'", "x", True),
        ("self.substring(1, 3) == 'bc' && self.indexOf('c') == 2", "abcd", True),
        ("self.isSorted() && self.sum() == 6 && self.max() == 3", [1, 2, 3], True),
        ("sets.contains(self, [1])", [2, 3], False),
        ("semver(self).isLessThan(semver('1.10.0'))", "1.9.0", True),
        ("semver(self).isLessThan(semver('1.0.0'))", "1.0.0-rc.1", True),
        ("self.__namespace__ == 'n'", {"namespace": "n"}, True),
        ("duration(self) > duration('1m')", "90s", True),
        ("self.nosuch() == 1", "x", False),
    ],
)
def test_functions_that_kubernetes_adds(rule: str, value: Any, holds: bool) -> None:
    schema = {"x-kubernetes-validations": [{"rule": rule}], "properties": {"namespace": {"type": "string"}}}
    assert (cel_rules.errors(schema, value) == []) is holds


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "string", "minLength": 2}, "a", "shorter"),
        ({"type": "string", "maxLength": 2}, "abc", "longer"),
        ({"type": "string", "pattern": "^a$"}, "a\n", "does not match"),
        ({"type": "string", "format": "ipv4"}, "1.2.3", "no ipv4"),
        ({"type": "string", "format": "date-time"}, "2026-11-30", "no date-time"),
        ({"type": "string", "format": "duration"}, "5 minutes", "no duration"),
        ({"type": "integer", "format": "int32"}, 2**31, "does not fit int32"),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, 0, "below"),
        ({"type": "array", "minItems": 1}, [], "at least 1"),
        ({"type": "array", "x-kubernetes-list-type": "set"}, ["a", "a"], "a second item"),
        ({"type": "object", "minProperties": 1}, {}, "at least 1"),
        ({"type": "object", "maxProperties": 1, "additionalProperties": True}, {"a": 1, "b": 2}, "at most 1"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": 1}, "no string"),
        ({"type": "object", "x-kubernetes-embedded-resource": True}, {"kind": "Pod"}, "apiVersion: missing"),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, "not exactly one"),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, "none of anyOf"),
        ({"not": {"required": ["a"]}}, {"a": 1}, "forbids"),
        ({"allOf": [{"maximum": 3}]}, 4, "above 3"),
    ],
)
def test_the_structural_walk_refuses(schema: structural.Schema, value: Any, said: str) -> None:
    assert any(said in finding for finding in structural.errors(schema, value, "x"))


def test_open_objects_take_any_key() -> None:
    schema = {"type": "object", "properties": {}, "x-kubernetes-preserve-unknown-fields": True}
    assert structural.errors(schema, {"anything": [1, {"b": 2}]}, "x") == []

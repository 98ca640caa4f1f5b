"""One Gateway: private unless spelled out, guarded where it is not, one address for every model."""

from __future__ import annotations

import pytest

from headwater.catalog.releases import charts
from tests.factories import disaggregated_model, make_plan, multi_node_model
from tests.llmd.cases import ALL, llmd, one_server
from tests.llmd.world import NAMESPACE, rendered, world

PREFIX = "service.beta.kubernetes.io/aws-load-balancer"


def gateway_config(**settings):
    return {"headwater:gateway": settings}


def envoy_service(made):
    return made.one("EnvoyProxy").spec["provider"]["kubernetes"]["envoyService"]


def test_nothing_is_exposed_unless_the_stack_file_says_so():
    made = world(make_plan(models=(one_server(),)))
    assert envoy_service(made)["type"] == "ClusterIP"
    assert "annotations" not in made.one("Gateway").spec["infrastructure"]
    assert made.endpoint == "http://inference-gateway.envoy-gateway-system.svc.cluster.local/v1"


@pytest.mark.parametrize("case", sorted(set(ALL) - {"public"}))
def test_no_load_balancer_faces_the_internet_by_itself(case):
    made = rendered(case, "h100")
    assert "internet-facing" not in str([r.inputs for r in made.resources])


def test_internal_exposure_is_an_internal_load_balancer_to_pods():
    made = world(make_plan(models=(one_server(),), config=gateway_config(exposure="internal", host="llm.internal")))
    service = envoy_service(made)
    assert service["type"] == "LoadBalancer"
    assert service["loadBalancerClass"] == "service.k8s.aws/nlb"
    assert service["annotations"][f"{PREFIX}-scheme"] == "internal"
    assert service["annotations"][f"{PREFIX}-nlb-target-type"] == "ip"
    assert service["annotations"]["external-dns.alpha.kubernetes.io/hostname"] == "llm.internal"
    assert made.endpoint == "http://llm.internal/v1"


@pytest.mark.parametrize("gateway", ["envoy", "agentgateway"])
def test_a_public_gateway_speaks_tls_to_the_allowed_networks_only(gateway):
    public = {
        "exposure": "public", "host": "llm.example.com", "allow": ["203.0.113.0/24"],
        "certificate": "arn:aws:acm:us-east-2:123456789012:certificate/abc",
    }  # fmt: skip
    made = world(make_plan(models=(one_server(),), config={**gateway_config(**public), **llmd(gateway=gateway)}))
    if gateway == "envoy":
        service = envoy_service(made)
        annotations, ranges = service["annotations"], service["loadBalancerSourceRanges"]
    else:
        service = made.one("AgentgatewayParameters").spec["service"]
        annotations, ranges = service["metadata"]["annotations"], service["spec"]["loadBalancerSourceRanges"]
    assert annotations[f"{PREFIX}-scheme"] == "internet-facing"
    assert annotations[f"{PREFIX}-ssl-cert"] == public["certificate"]
    assert annotations[f"{PREFIX}-ssl-ports"] == "443"
    assert ranges == ["203.0.113.0/24"]
    assert [x["port"] for x in made.one("Gateway").spec["listeners"]] == [443]
    assert made.endpoint == "https://llm.example.com/v1"


def test_only_routes_of_the_models_namespace_attach():
    made = world(make_plan(models=(one_server(),))).one("Gateway")
    assert made.inputs["metadata"]["namespace"] == NAMESPACE
    assert [x["allowedRoutes"]["namespaces"]["from"] for x in made.spec["listeners"]] == ["Same"]


def test_envoy_knows_inference_pools_through_its_extension():
    values = world(make_plan(models=(one_server(),))).release("envoy-gateway")
    manager = values["config"]["envoyGateway"]["extensionManager"]
    assert manager["backendResources"] == [
        {"group": "inference.networking.k8s.io", "kind": "InferencePool", "version": "v1"}
    ]
    assert manager["hooks"]["xdsTranslator"]["post"] == ["Translation", "Cluster", "Route"]
    assert set(manager["hooks"]["xdsTranslator"]["translation"]) == {"listener", "route", "cluster", "secret"}
    host = manager["service"]["fqdn"]["hostname"]
    assert host == f"ai-gateway-controller.{charts()['ai-gateway-helm'].namespace}.svc.cluster.local"
    assert "extensionManager" not in values["config"]


def test_envoys_definitions_come_from_their_own_chart_and_the_standard_bundle_stays():
    made = world(make_plan(models=(one_server(),)))
    releases = {r.inputs["name"]: r.inputs for r in made.all("Release")}
    assert releases["envoy-gateway"]["skipCrds"] is True
    assert releases["envoy-gateway"]["values"]["crds"]["gatewayAPI"]["safeUpgradePolicy"]["enabled"] is False
    assert releases["envoy-gateway-crds"]["values"] == {"crds": {"envoyGateway": {"enabled": True}}}


def test_long_prompts_fit_through_envoy():
    assert (
        world(make_plan(models=(one_server(),))).one("ClientTrafficPolicy").spec["connection"]["bufferLimit"] == "50Mi"
    )


@pytest.mark.parametrize("objectives", [{}, {"batch": -10}])
def test_clients_choose_neither_endpoint_nor_a_priority_they_were_not_given(objectives):
    config = llmd(flowControl={"enabled": bool(objectives), "objectives": objectives})
    made = world(make_plan(models=(one_server(),), config=config))
    removed = made.one("ClientTrafficPolicy").spec["headers"]["earlyRequestHeaders"]["remove"]
    assert "x-gateway-destination-endpoint" in removed
    assert ("x-llm-d-inference-objective" in removed) == (not objectives)


def test_headers_of_the_routing_protocol_are_never_removed_after_the_picker_set_them():
    for route in rendered("several-models", "h200").all("HTTPRoute"):
        assert "RequestHeaderModifier" not in str(route.spec)


def test_long_answers_are_not_cut():
    for case in ("public", "several-models", "agentgateway"):
        made = rendered(case, "h200")
        for route in (*made.all("HTTPRoute"), *made.all("AIGatewayRoute")):
            assert {r["timeouts"]["request"] for r in route.spec["rules"]} == {"0s"}


def test_a_model_alone_has_the_whole_address():
    made = world(make_plan(models=(one_server(),)))
    (rule,) = made.one("HTTPRoute", "qwen").spec["rules"]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/"}}]
    assert not made.all("AIGatewayRoute")


def test_several_models_are_told_apart_by_path_header_and_body():
    made = world(make_plan(models=(one_server(), multi_node_model(), disaggregated_model())))
    for name in ("qwen", "glm", "kimi"):
        by_path, by_header = made.one("HTTPRoute", name).spec["rules"]
        assert by_path["matches"][0]["path"]["value"] == f"/{name}"
        assert by_path["filters"][0]["urlRewrite"]["path"]["replacePrefixMatch"] == "/"
        assert by_header["matches"][0]["headers"] == [{"type": "Exact", "name": "x-gateway-model-name", "value": name}]
        assert {r["backendRefs"][0]["name"] for r in (by_path, by_header)} == {name}
    body = made.one("AIGatewayRoute").spec["rules"]
    assert [(r["matches"][0]["headers"][0]["value"], r["backendRefs"][0]["name"]) for r in body] == [
        (n, n) for n in ("qwen", "glm", "kimi")
    ]


def test_more_models_than_one_route_takes_get_several():
    models = tuple(one_server(name=f"m{n}") for n in range(17))
    routes = world(make_plan(models=models)).all("AIGatewayRoute")
    assert [len(r.spec["rules"]) for r in routes] == [15, 2]


def test_agentgateway_reads_the_model_from_the_body_before_routing():
    made = rendered("agentgateway", "h100")
    assert made.release("agentgateway")["inferenceExtension"] == {"enabled": True}
    traffic = made.one("AgentgatewayPolicy").spec["traffic"]
    assert traffic["phase"] == "PreRouting"
    assert traffic["transformation"]["request"]["set"] == [
        {"name": "x-gateway-model-name", "value": "json(request.body).model"}
    ]
    assert made.one("AgentgatewayParameters").spec["service"]["spec"]["type"] == "ClusterIP"
    assert made.one("Gateway").spec["gatewayClassName"] == "agentgateway"
    assert not made.all("EnvoyProxy")


def test_standalone_has_no_gateway_and_every_model_its_own_service():
    made = rendered("standalone", "h100")
    for kind in ("Gateway", "GatewayClass", "HTTPRoute", "EnvoyProxy", "AIGatewayRoute"):
        assert not made.all(kind)
    service = made.one("Service", "qwen-access").spec
    assert service["selector"] == {"llm-d-router-gateway": "qwen-epp"}
    assert service["ports"][0]["targetPort"] == 8081
    assert made.endpoint == "http://<model>-epp.models.svc.cluster.local/v1"


def test_standalone_with_one_model_names_its_service():
    made = world(make_plan(models=(one_server(),), config=llmd(mode="standalone")))
    assert made.endpoint == "http://qwen-epp.models.svc.cluster.local/v1"
    assert not made.all("Service")


def test_priorities_are_objects_of_the_routers_own_group():
    made = rendered("flow-control", "h100")
    found = {o.inputs["metadata"]["name"]: o for o in made.all("InferenceObjective")}
    assert {n: o.spec["priority"] for n, o in found.items()} == {"qwen-interactive": 100, "qwen-batch": -10}
    for objective in found.values():
        assert objective.inputs["apiVersion"] == "llm-d.ai/v1alpha2"
        assert objective.spec["poolRef"] == {
            "group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "qwen",
        }  # fmt: skip


def test_istio_gets_its_extension_its_label_and_its_provider():
    made = rendered("istio", "h100")
    assert made.release("istiod")["env"] == {"ENABLE_GATEWAY_API_INFERENCE_EXTENSION": "true"}
    assert made.release("qwen")["provider"] == {"name": "istio"}
    gateway = made.one("Gateway")
    assert gateway.spec["gatewayClassName"] == "istio"
    assert gateway.inputs["metadata"]["labels"] == {"istio.io/enable-inference-extproc": "true"}
    assert "type: ClusterIP" in made.one("ConfigMap", "inference-gateway").inputs["data"]["service"]
    assert made.endpoint == "http://inference-gateway-istio.models.svc.cluster.local/v1"

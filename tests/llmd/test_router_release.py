"""The router's chart: which one, with which values, and what must never be set."""

from __future__ import annotations

import re

import pytest
import yaml

from headwater.catalog.releases import charts, images
from headwater.plan import Parallel
from tests.factories import disaggregated_model, make_model, make_plan, make_role, multi_node_model
from tests.llmd.cases import ALL, CASES, llmd, offloaded, one_server, wide
from tests.llmd.world import NAMESPACE, rendered, world


def values(plan, name="qwen", **refs):
    return world(plan, **refs).release(name)["router"]


def picker(plan, name="qwen"):
    return yaml.safe_load(values(plan, name)["epp"]["pluginsCustomConfig"]["epp.yaml"])


def test_one_router_for_each_model_and_one_gateway_for_all():
    made = world(make_plan(models=(one_server(), multi_node_model(), disaggregated_model())))
    routers = {r.inputs["name"] for r in made.all("Release") if "llm-d-router" in r.inputs["chart"]}
    assert routers == {"qwen", "glm", "kimi"}
    assert [g.inputs["metadata"]["name"] for g in made.all("Gateway")] == ["inference-gateway"]
    assert len(made.all("HTTPRoute")) == 3


@pytest.mark.parametrize("mode", ["gateway", "standalone"])
def test_the_chart_is_the_released_one_of_the_mode(mode):
    made = world(make_plan(models=(one_server(),), config=llmd(mode=mode)))
    release = next(r for r in made.all("Release") if r.inputs["name"] == "qwen").inputs
    assert release["chart"] == f"oci://ghcr.io/llm-d/charts/llm-d-router-{mode}"
    assert release["version"] == charts()[f"llm-d-router-{mode}"].version
    assert release["namespace"] == NAMESPACE


def test_chart_versions_are_exact_and_obsolete_charts_are_absent():
    exact = re.compile(r"^v\d+\.\d+\.\d+$")
    assert all(exact.match(c.version) for n, c in charts().items() if n.startswith("llm-d-router"))
    names = [c.chart for c in charts().values()]
    for obsolete in ("modelservice", "llm-d-infra", "inferencepool", "body-based-routing", "variant"):
        assert not [n for n in names if obsolete in n]
    assert not [n for n in names if n.endswith("-dev")]


@pytest.mark.parametrize("case", sorted(ALL))
def test_images_are_pinned_and_never_moving(case):
    text = str([r.inputs for r in rendered(case, "h200").resources])
    assert not re.search(r"[:']main\b|:latest\b|nightly|llm-d-cuda|llm-d-aws|'tag': 'v\d'", text)
    assert "pullPolicy': 'Always" not in text


def test_the_picker_runs_the_routers_own_version():
    image = values(make_plan(models=(one_server(),)))["epp"]["image"]
    assert (image["registry"], image["repository"]) == ("ghcr.io/llm-d", "llm-d-router-endpoint-picker")
    assert image["tag"] == charts()["llm-d-router-gateway"].version == images()["llm-d-sidecar"].tag


def test_a_changed_configuration_rolls_the_picker():
    hashes = {
        values(make_plan(models=(one_server(),), config=config))["epp"]["podAnnotations"]["headwater/config-hash"]
        for config in ({}, llmd(prefillThroughput={"qwen": 9000}), llmd(path="precise"))
    }
    assert len(hashes) == 3


def test_the_configuration_is_text_and_the_default_file_is_not_used():
    epp = values(make_plan(models=(one_server(),)))["epp"]
    assert epp["pluginsConfigFile"] == "epp.yaml"
    assert isinstance(epp["pluginsCustomConfig"]["epp.yaml"], str)


def test_values_that_only_edit_the_default_configuration_are_not_set():
    router = values(make_plan(models=(one_server(),)))
    assert not {"parsers", "metricsDataSource", "extProcPort"} & set(router["epp"])
    assert not {"metricsPort", "tokenizer"} & set(router)


def test_the_measured_prefill_speed_wins_over_the_estimate():
    plan = make_plan(models=(one_server(),))
    measured = make_plan(models=(one_server(),), config=llmd(prefillThroughput={"qwen": 15000}))
    speeds = [
        next(q["parameters"]["peakPrefillThroughput"] for q in picker(x)["plugins"] if "affinity" in q["type"])
        for x in (plan, measured)
    ]
    assert speeds == [12000, 15000]


def test_disaggregated_speed_is_the_prefill_servers():
    roles = (
        make_role("prefill", accelerator="h200", parallel=Parallel(tensor=8), efa=True),
        make_role("decode", accelerator="h200", parallel=Parallel(tensor=8), efa=True),
    )
    fast = roles[0].throughput.model_copy(update={"prefill_tokens_per_second": 40000.0})
    model = make_model(roles=(roles[0].model_copy(update={"throughput": fast}), roles[1]))
    found = [q["parameters"] for q in picker(make_plan(models=(model,)))["plugins"] if "affinity" in q["type"]]
    assert [f["peakPrefillThroughput"] for f in found] == [40000]


def test_the_pool_selects_only_pods_that_answer():
    labels = values(make_plan(models=(multi_node_model(),)), "glm")["modelServers"]["matchLabels"]
    made = world(make_plan(models=(multi_node_model(),)))
    matching = [p for p in made.pods() if labels.items() <= p["metadata"]["labels"].items()]
    assert len(made.pods()) == 2
    assert len(matching) == 1
    assert "ports" in matching[0]["spec"]["containers"][0]


def test_a_pool_has_one_port_for_each_data_parallel_rank():
    ports = values(make_plan(models=(wide(),)), "deepseek")["modelServers"]["targetPorts"]
    assert [p["number"] for p in ports] == list(range(8000, 8008))
    assert values(make_plan(models=(one_server(),)))["modelServers"]["targetPorts"] == [{"number": 8000}]


def test_pools_fail_open_except_where_any_pod_would_be_wrong():
    assert values(make_plan(models=(one_server(),)))["inferencePool"]["failureMode"] == "FailOpen"
    assert values(make_plan(models=(disaggregated_model(),)), "kimi")["inferencePool"]["failureMode"] == "FailClose"


def test_the_picker_asks_more_for_a_larger_fleet_and_fits_a_system_node():
    def millis(most):
        role = make_role(replicas=(1, most))
        cpu = values(make_plan(models=(make_model(roles=(role,)),)))["epp"]["resources"]["requests"]["cpu"]
        return int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000

    assert 1000 <= millis(1) < millis(20) < millis(60) < 7910


def test_the_picker_has_requests_and_a_memory_limit():
    resources = values(make_plan(models=(one_server(),)))["epp"]["resources"]
    assert set(resources["requests"]) == {"cpu", "memory"}
    assert resources["limits"] == {"memory": "16Gi"}


def test_one_replica_unless_the_path_keeps_no_state():
    assert values(make_plan(models=(one_server(),)))["epp"]["replicas"] == 1
    several = values(make_plan(models=(one_server(),), config=llmd(path="precise", picker={"replicas": 3})))
    assert several["epp"]["replicas"] == 3
    assert several["epp"]["flags"]["ha-enable-leader-election"] is False


def test_alpha_plugins_set_the_routers_flag_and_nothing_else_does():
    assert "allow-experimental-plugins" not in values(make_plan(models=(one_server(),)))["epp"]["flags"]
    config = llmd(alphaPlugins=True, picker={"scorers": {"session-affinity-scorer": 1}})
    assert (
        values(make_plan(models=(one_server(),), config=config))["epp"]["flags"]["allow-experimental-plugins"] is True
    )


def test_metrics_are_scraped_without_the_charts_shared_secret():
    prometheus = values(make_plan(models=(one_server(),)))["monitoring"]["prometheus"]
    assert prometheus == {"enabled": True, "auth": {"enabled": False}}
    without = values(make_plan(models=(one_server(),)), prometheus_url=None)["monitoring"]["prometheus"]
    assert without["enabled"] is False


def test_monitors_carry_the_labels_prometheus_looks_for():
    made = values(make_plan(models=(one_server(),)), monitor_labels={"release": "prometheus"})
    assert made["monitoring"]["prometheus"]["extraLabels"] == {"release": "prometheus"}


def test_gateway_mode_leaves_the_route_to_us_and_carries_no_proxy():
    made = world(make_plan(models=(one_server(),))).release("qwen")
    assert made["httpRoute"] == {"create": False}
    assert made["provider"] == {"name": "none"}
    assert not {"proxy", "extraServicePorts"} & set(made["router"])


def test_two_standalone_routers_share_no_object():
    plan = make_plan(models=(one_server(), multi_node_model()), config=llmd(mode="standalone"))
    names = set()
    for model in ("qwen", "glm"):
        proxy = values(plan, model)["proxy"]
        name = proxy["configMap"]["name"]
        assert proxy["volumes"][0]["configMap"]["name"] == name
        names.add(name)
    assert names == {"qwen-envoy", "glm-envoy"}


def test_standalone_envoy_is_pinned_fails_closed_and_listens_where_the_service_points():
    router = values(make_plan(models=(one_server(),), config=llmd(mode="standalone")))
    assert router["proxy"]["failOpen"] is False
    assert router["proxy"]["image"] == images()["envoy"].reference()
    assert router["extraServicePorts"] == [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8081}]
    assert not {9002, 9090} & {p["port"] for p in router["extraServicePorts"]}


def test_predictors_run_only_on_the_slo_path():
    for case, build in CASES.items():
        name = build("h200").models[0].name
        assert ("latencyPredictor" in values(build("h200"), name)) == (case == "slo")


def test_tier_capacity_follows_the_plans_bytes():
    model = offloaded()
    role = model.roles[0]
    expected = int(role.kv_tokens * 200.0 / role.memory.kv.expected) // 64
    cpu = next(q for q in picker(make_plan(models=(model,)))["plugins"] if q.get("name") == "cpu-prefix-cache-producer")
    assert cpu["parameters"]["lruCapacityPerServer"] == expected


def test_a_mirror_moves_every_image():
    made = rendered("mirrored", "h100")
    own = [r for r in made.resources if r.kind in ("Deployment", "Release")]
    text = str([r.inputs for r in own])
    for registry in ("ghcr.io/llm-d/llm-d-router", "docker.io/vllm", "public.ecr.aws/aws-cli"):
        assert registry not in text
    assert "registry.example.com/mirror/vllm/vllm-openai" in text

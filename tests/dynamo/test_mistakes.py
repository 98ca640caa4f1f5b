"""Each mistake naive manifests make, as a test over every shape."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from headwater.catalog.dynamo_surface import dynamo_surface
from headwater.catalog.engine_surface import surface
from headwater.catalog.releases import engines
from headwater.plan.model import EngineArg
from tests.dynamo.shapes import ALL, plan, world
from tests.factories import disaggregated_model, make_model, make_role, multi_node_model
from tests.llmd.cases import one_server

every = pytest.mark.parametrize("case", sorted(ALL))
GROUPED = ("prefill", "decode", "worker")


def graphs(case, accelerator="h200"):
    found = world(ALL[case](accelerator)).all("DynamoGraphDeployment")
    assert found
    return found


def components(case, *types, accelerator="h200"):
    for made in graphs(case, accelerator):
        for component in made.spec["components"]:
            if not types or component["type"] in types:
                yield component


def main(component):
    return next(c for c in component["podTemplate"]["spec"]["containers"] if c["name"] == "main")


def value(component, flag):
    words = main(component).get("args", [])
    return words[words.index(flag) + 1] if flag in words else None


def env(component):
    return {v["name"]: v.get("value") for v in main(component).get("env", [])}


@every
def test_graphs_are_of_the_current_api_and_name_their_framework(case):
    for made in graphs(case):
        assert made.inputs["apiVersion"] == "nvidia.com/v1beta1"
        assert made.spec["backendFramework"] == "vllm"
        assert not {"services", "restart", "env"} & set(made.spec)


@every
def test_every_component_has_a_main_container_with_an_exact_image(case):
    for component in components(case):
        tag = main(component)["image"].rpartition(":")[2]
        assert re.fullmatch(r"\d+\.\d+\.\d+(-efa)?", tag)


@every
def test_all_images_of_a_graph_are_of_one_release(case):
    for made in graphs(case):
        tags = {main(c)["image"].rpartition(":")[2].removesuffix("-efa") for c in made.spec["components"]}
        assert tags == {dynamo_surface().version}


@every
def test_workers_are_started_without_a_shell(case):
    for component in components(case, *GROUPED):
        assert main(component)["command"] == ["python3", "-m", "dynamo.vllm"]


@every
def test_every_worker_flag_is_known_to_the_worker_or_its_engine(case):
    known = dynamo_surface().worker_flags
    engine = surface(engines()["dynamo"].vllm)
    for component in components(case, *GROUPED):
        flags = [word.removeprefix("--") for word in main(component)["args"] if word.startswith("--")]
        assert len(flags) == len(set(flags))
        for flag in flags:
            assert flag in known | engine.engine_flags, flag


@every
def test_every_frontend_flag_is_known_and_none_is_deprecated(case):
    known = dynamo_surface()
    for component in components(case, "frontend"):
        flags = {word.removeprefix("--") for word in main(component)["args"] if word.startswith("--")}
        assert flags <= known.frontend_flags | known.frontend_switches
        assert not flags & known.deprecated_flags


@every
def test_arguments_hold_no_single_quote_and_no_joined_parallel_degree(case):
    for component in components(case, *GROUPED):
        words = main(component)["args"]
        assert not any("'" in word for word in words)
        assert not any(word.startswith("--") and "=" in word for word in words)


@every
def test_the_kv_router_has_its_three_opt_ins_together(case):
    made = ALL[case]("h200")
    kv = made.settings.dynamo.router.mode == "kv"
    for component in components(case, "worker", "prefill"):
        events = value(component, "--kv-events-config")
        assert (events is not None) == kv
        if events is not None:
            assert json.loads(events)["enable_kv_cache_events"] is True
            assert "--enable-prefix-caching" in main(component)["args"]
            assert env(component)["PYTHONHASHSEED"] == "0"
    for component in components(case, "decode"):
        assert value(component, "--kv-events-config") is None
    for component in components(case, "frontend"):
        assert value(component, "--router-mode") == made.settings.dynamo.router.mode


@every
def test_several_frontends_share_their_view_of_the_load(case):
    for component in components(case, "frontend"):
        if component["replicas"] > 1 and value(component, "--router-mode") == "kv":
            assert "--router-replica-sync" in main(component)["args"]


@every
def test_libfabric_and_its_image_come_exactly_with_efa(case):
    for component in components(case, *GROUPED):
        limits = main(component)["resources"]["limits"]
        efa = "vpc.amazonaws.com/efa" in limits
        assert main(component)["image"].endswith("-efa") == efa
        assert ("FI_EFA_USE_DEVICE_RDMA" in env(component)) == efa
        transfer = value(component, "--kv-transfer-config") or "{}"
        if "NixlConnector" in transfer:
            assert ("LIBFABRIC" in transfer) == efa
        assert "LD_LIBRARY_PATH" not in env(component)


@pytest.mark.parametrize("accelerator", ["h100", "h200"])
def test_prefill_and_decode_name_the_same_backend_and_opposite_roles(accelerator):
    made = {c["type"]: c for c in components("disaggregated", "prefill", "decode", accelerator=accelerator)}
    configs = {kind: json.loads(value(c, "--kv-transfer-config")) for kind, c in made.items()}
    assert configs["prefill"]["kv_role"] == "kv_producer"
    assert configs["decode"]["kv_role"] == "kv_consumer"
    backends = {str(c["kv_connector_extra_config"]["backends"]) for c in configs.values()}
    assert backends == {"['LIBFABRIC']"}
    assert {value(c, "--disaggregation-mode") for c in made.values()} == {"prefill", "decode"}


def test_efa_interfaces_are_the_nodes_not_the_gpus():
    for component in components("disaggregated", "prefill", "decode", accelerator="h100"):
        limits = main(component)["resources"]["limits"]
        assert (limits["nvidia.com/gpu"], limits["vpc.amazonaws.com/efa"]) == ("8", "32")


@every
def test_privileged_only_where_efa_needs_it(case):
    asked = ALL[case]("h200").settings.dynamo.privileged
    for component in components(case):
        efa = "vpc.amazonaws.com/efa" in main(component)["resources"]["limits"]
        context = main(component)["securityContext"]
        assert context.get("privileged", False) == (efa and asked)
        if efa and not asked:
            assert "IPC_LOCK" in context["capabilities"]["add"]


@every
def test_memory_holds_the_host_tier_and_shared_memory(case):
    for component in components(case, *GROUPED):
        memory = gib(main(component)["resources"]["limits"]["memory"])
        host = 0.0
        for found in re.findall(r'"cpu_bytes_to_use":(\d+)', value(component, "--kv-transfer-config") or ""):
            host += int(found) / 2**30
        assert memory > host + gib(component["sharedMemorySize"])


def gib(quantity):
    number, unit = re.fullmatch(r"([\d.]+)(Mi|Gi|Ti)", quantity).groups()
    return float(number) * {"Mi": 1 / 1024, "Gi": 1, "Ti": 1024}[unit]


def test_the_host_tier_is_visible_to_the_router():
    (component,) = components("offloaded", "worker")
    config = json.loads(value(component, "--kv-transfer-config"))
    assert config["kv_connector"] == "OffloadingConnector"
    assert config["kv_connector_extra_config"]["self_describing_kv_events"] is True
    assert config["kv_connector_extra_config"]["cpu_bytes_to_use"] == 200 * 2**30
    assert value(component, "--kv-offloading-size") is None


def test_a_combined_connector_knows_its_own_address():
    for component in components("offloaded-apart", "prefill", "decode"):
        config = json.loads(value(component, "--kv-transfer-config"))
        assert [c["kv_connector"] for c in config["kv_connector_extra_config"]["connectors"]] == [
            "NixlConnector",
            "OffloadingConnector",
        ]
        assert "VLLM_NIXL_SIDE_CHANNEL_HOST" in env(component)


@every
def test_nothing_of_the_old_block_manager_or_connector_flag_is_used(case):
    for component in components(case):
        text = json.dumps(component)
        assert "DYN_KVBM" not in text
        assert "DynamoConnector" not in text
        assert "--connector" not in text
        assert "--is-prefill-worker" not in text


@every
def test_dev_shm_is_the_operators(case):
    for component in components(case, *GROUPED):
        mounts = (
            [m["mountPath"] for c in component["podTemplate"]["spec"]["containers"] for m in c["volumeMounts"]]
            if case != "picker"
            else [m["mountPath"] for m in main(component)["volumeMounts"]]
        )
        assert "/dev/shm" not in mounts


@every
def test_every_mount_has_its_volume(case):
    for component in components(case):
        spec = component["podTemplate"]["spec"]
        mounted = {m["name"] for c in spec["containers"] for m in c.get("volumeMounts", [])}
        assert mounted <= {v["name"] for v in spec.get("volumes", [])}


@every
def test_scaling_adapters_are_empty_and_replicas_then_left_alone(case):
    made = world(ALL[case]("h200"))
    for graph in made.all("DynamoGraphDeployment"):
        adapted = [i for i, c in enumerate(graph.spec["components"]) if "scalingAdapter" in c]
        assert all(graph.spec["components"][i]["scalingAdapter"] == {} for i in adapted)
        ignored = made.options[graph.urn].ignore_changes or []
        assert ignored == [f"spec.components[{i}].replicas" for i in adapted]


@every
def test_what_cannot_change_in_place_replaces_the_graph_and_the_old_one_goes_first(case):
    made = world(ALL[case]("h200"))
    for graph in made.all("DynamoGraphDeployment"):
        options = made.options[graph.urn]
        assert options.delete_before_replace
        assert {"spec.backendFramework", "spec.components[*].type", "spec.components[*].multinode"} <= set(
            options.replace_on_changes
        )


def test_another_set_of_components_is_another_shape():
    shapes = {
        world(made).one("DynamoGraphDeployment").inputs["metadata"]["annotations"]["headwater/shape"]
        for made in (
            plan(one_server("h100")),
            plan(disaggregated_model("h100")),
            plan(multi_node_model("h100")),
            plan(one_server("h100"), scheduling="grove"),
        )
    }
    assert len(shapes) == 4


@every
def test_start_up_has_the_plans_budget(case):
    for component in components(case, *GROUPED):
        probe = main(component)["startupProbe"]
        assert probe["failureThreshold"] * probe["periodSeconds"] >= 1800


@every
def test_tool_and_reasoning_parsers_are_dynamos(case):
    known = dynamo_surface()
    for component in components(case, *GROUPED):
        words = main(component)["args"]
        assert not {"--tool-call-parser", "--reasoning-parser", "--enable-auto-tool-choice"} & set(words)
        if (tool := value(component, "--dyn-tool-call-parser")) is not None:
            assert tool in known.tool_parsers.names
        if (reasoning := value(component, "--dyn-reasoning-parser")) is not None:
            assert reasoning in known.reasoning_parsers.names


def test_a_replica_over_two_nodes_asks_for_two_nodes_and_never_for_the_flags_the_operator_adds():
    (component,) = components("two-nodes", "worker")
    assert component["multinode"] == {"nodeCount": 2}
    words = main(component)["args"]
    gpus = int(main(component)["resources"]["limits"]["nvidia.com/gpu"])
    degrees = int(value(component, "--tensor-parallel-size")) * int(value(component, "--pipeline-parallel-size"))
    assert degrees == 2 * gpus
    assert not {"--nnodes", "--node-rank", "--master-addr", "--headless", "--distributed-executor-backend"} & set(words)


def test_grove_and_kai_come_only_where_a_replica_spans_nodes_or_when_asked():
    for made, expected in (
        (plan(one_server("h100")), set()),
        (plan(disaggregated_model("h100")), set()),
        (plan(multi_node_model("h100")), {"grove", "kai-scheduler"}),
        (plan(one_server("h100"), scheduling="grove"), {"grove", "kai-scheduler"}),
    ):
        found = world(made)
        names = {r.inputs["name"] for r in found.all("Release")}
        assert names & {"grove", "kai-scheduler"} == expected
        values = found.release("dynamo-platform")
        assert values["global"]["grove"]["enabled"] == bool(expected)
        assert values["global"]["kai-scheduler"]["enabled"] == bool(expected)
        assert len(found.all("Queue")) == (2 if expected else 0)
        (graph,) = found.all("DynamoGraphDeployment")
        annotations = graph.inputs["metadata"]["annotations"]
        assert (annotations.get("nvidia.com/enable-grove") == "false") == (not expected)
        if expected:
            assert annotations["nvidia.com/kai-scheduler-queue"] in {
                q.inputs["metadata"]["name"] for q in found.all("Queue")
            }


def test_kai_leaves_stale_gangs_to_grove():
    values = world(plan(multi_node_model("h100"))).release("kai-scheduler")
    assert values["scheduler"]["args"]["default-staleness-grace-period"] == "-1s"


@every
def test_no_message_broker_no_etcd_and_no_namespaced_operator(case):
    values = world(ALL[case]("h100")).release("dynamo-platform")
    assert not {"nats", "etcd"} & set(values)
    assert not {"nats", "etcd"} & set(values["global"])
    assert "namespaceRestriction" not in values["dynamo-operator"]
    assert "webhook" not in values["dynamo-operator"]


def test_the_platform_chart_comes_as_an_archive_by_address():
    (release,) = [r for r in world(plan(one_server("h100"))).all("Release") if r.inputs["name"] == "dynamo-platform"]
    assert release.inputs["chart"].startswith("https://")
    assert release.inputs["chart"].endswith(".tgz")
    assert not release.inputs["chart"].startswith("oci:")


def test_the_router_file_is_named_by_its_content_and_mounted():
    made = world(ALL["router"]("h100"))
    (graph,) = made.all("DynamoGraphDeployment")
    front = graph.spec["components"][0]
    path = value(front, "--router-policy-config")
    folder, _, file = path.rpartition("/")
    mount = next(m for m in main(front)["volumeMounts"] if m["mountPath"] == folder)
    volume = next(v for v in front["podTemplate"]["spec"]["volumes"] if v["name"] == mount["name"])
    config = made.one("ConfigMap", volume["configMap"]["name"])
    content = yaml.safe_load(config.inputs["data"][file])
    other = world(plan(one_server("h100"), router={"queue": {"order": "fcfs"}}))
    assert config.inputs["immutable"] is True
    assert config.inputs["metadata"]["name"] not in [c.inputs["metadata"]["name"] for c in other.all("ConfigMap")]
    known = dynamo_surface().policy_keys
    assert set(content["worker_selection"]["instances"][0]["parameters"]) <= known["cost"]
    assert all(c["queue_policy"] in known["queue_policies"] for c in content["policy_classes"])
    assert all(c["quantum"] > 0 for c in content["policy_classes"])


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("gateway", ["frontend", "picker"])
def test_frontends_run_a_models_code_exactly_where_its_servers_may(gateway, allowed):
    model = one_server("h100").model_copy(update={"trust_remote_code": allowed})
    (graph,) = world(plan(model, gateway=gateway)).all("DynamoGraphDeployment")
    containers = [c for part in graph.spec["components"] for c in part["podTemplate"]["spec"]["containers"]]
    fronts = [c for c in containers if "dynamo.frontend" in c.get("command", ())]
    assert ["--trust-remote-code" in front["args"] for front in fronts] == [allowed]


def test_without_router_settings_there_is_no_router_file():
    found = world(plan(one_server("h100"))).all("ConfigMap")
    assert [config.inputs["metadata"]["name"] for config in found] == ["headwater-dynamo"]


def test_a_server_that_downloads_nothing_gets_its_weights_from_the_mirror():
    made = world(ALL["mirrored"]("h100"))
    for graph in made.all("DynamoGraphDeployment"):
        for component in graph.spec["components"]:
            if component["type"] in GROUPED:
                assert env(component)["HF_HUB_OFFLINE"] == "1"
                assert value(component, "--model").startswith("/models/")
                assert component["podTemplate"]["spec"]["initContainers"][0]["name"] == "weights"
            assert main(component)["image"].startswith("registry.example.com/mirror/")


def test_a_parser_of_vllm_becomes_dynamos_own():
    role = make_role()
    known = dynamo_surface()
    vllm, own = next(iter(known.tool_parsers.aliases.items()))
    args = (*role.engine_args, EngineArg(flag="--tool-call-parser", value=vllm, origin="model", why="sample"))
    made = world(plan(make_model("qwen", (role.model_copy(update={"engine_args": args}),))))
    worker = next(c for c in made.one("DynamoGraphDeployment").spec["components"] if c["type"] == "worker")
    assert value(worker, "--dyn-tool-call-parser") == own

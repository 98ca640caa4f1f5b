"""Model servers: which workload, which arguments, which place, and what a pod may do."""

from __future__ import annotations

import json

import pytest

from headwater.catalog.instances import load_instances
from headwater.catalog.releases import images
from headwater.plan import EngineArg, Parallel
from tests.factories import disaggregated_model, make_model, make_plan, make_role, multi_node_model
from tests.llmd.cases import ALL, CASES, llmd, one_server, wide
from tests.llmd.world import rendered, world


def engine(pod):
    return next(c for c in pod["spec"]["containers"] if c["name"] == "modelserver")


def sidecars(pod):
    return [c for c in pod["spec"].get("initContainers", []) if c.get("restartPolicy") == "Always"]


def env(container):
    return {e["name"]: e.get("value", e.get("valueFrom")) for e in container.get("env", [])}


def flag(container, name):
    found = [a.partition("=")[2] for a in container["args"] if a.partition("=")[0] == name]
    assert len(found) == 1, f"{name} stands {len(found)} times"
    return found[0]


def pods(*models, **config):
    return world(make_plan(models=models, config=config or None)).pods()


def roles(model):
    made = world(make_plan(models=(model,))).one("DisaggregatedSet", model.name)
    return {r["name"]: r["spec"]["leaderWorkerTemplate"]["workerTemplate"] for r in made.spec["roles"]}


# -- the workload follows the shape


def test_a_single_node_role_is_a_deployment():
    made = world(make_plan(models=(one_server(),)))
    assert made.one("Deployment", "qwen-serve").spec["replicas"] == 1
    assert not made.all("LeaderWorkerSet")
    assert not made.all("DisaggregatedSet")


def test_a_multi_node_role_is_a_leader_worker_set_of_as_many_pods_as_nodes():
    spec = world(make_plan(models=(multi_node_model(),))).one("LeaderWorkerSet", "glm-serve").spec
    assert spec["leaderWorkerTemplate"]["size"] == 2
    assert spec["replicas"] == 1
    assert spec["leaderWorkerTemplate"]["restartPolicy"] == "RecreateGroupOnPodRestart"


def test_prefill_and_decode_are_one_disaggregated_set():
    made = world(make_plan(models=(disaggregated_model(),)))
    spec = made.one("DisaggregatedSet", "kimi").spec
    assert {r["name"]: r["spec"]["replicas"] for r in spec["roles"]} == {"prefill": 2, "decode": 1}
    assert spec["slices"] == 1
    assert not made.all("Deployment")
    assert not made.all("LeaderWorkerSet")


@pytest.mark.parametrize("case", ["two-nodes", "disaggregated", "wide-ep"])
def test_groups_roll_one_at_a_time_without_spare_gpus(case):
    made = rendered(case, "h200")
    specs = [r.spec for r in made.all("LeaderWorkerSet")]
    specs += [role["spec"] for r in made.all("DisaggregatedSet") for role in r.spec["roles"]]
    assert specs
    for spec in specs:
        rollout = spec["rolloutStrategy"]
        assert rollout["type"] == "RollingUpdate"
        assert rollout["rollingUpdateConfiguration"]["maxSurge"] == 0
        assert rollout["rollingUpdateConfiguration"]["maxUnavailable"] == 1


def test_a_disaggregated_role_never_partitions_its_rollout():
    for role in world(make_plan(models=(disaggregated_model(),))).one("DisaggregatedSet").spec["roles"]:
        assert "partition" not in role["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]


def test_a_deployment_replaces_pods_where_their_gpus_are():
    strategy = world(make_plan(models=(one_server(),))).one("Deployment").spec["strategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def test_up_does_not_wait_for_nodes_and_weights():
    made = world(make_plan(models=(one_server(),))).one("Deployment")
    assert made.inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
    assert (
        made.spec["progressDeadlineSeconds"]
        > made.spec["template"]["spec"]["containers"][0]["startupProbe"]["failureThreshold"] * 10
    )


# -- arguments


def test_every_argument_of_the_plan_reaches_the_engine_unchanged():
    model = one_server()
    args = engine(pods(model)[0])["args"]
    wanted = [w for a in model.roles[0].engine_args for w in a.words]
    assert [a for a in args if a in wanted] == wanted


@pytest.mark.parametrize("case", sorted(ALL))
def test_no_argument_stands_twice_and_every_one_is_known_to_the_engine(case, shared):
    surface = json.loads((shared / "data" / "vllm_surface.json").read_text())["versions"]["0.26.0"]
    for pod in rendered(case, "h200").pods():
        words = engine(pod)["args"]
        flags = [w.partition("=")[0] for w in words if w.startswith("--")]
        assert len(flags) == len(set(flags))
        for name in flags:
            assert name in surface["flags"] or name.replace("--no-", "--") in surface["flags"], name
        for word in words:
            if word.startswith("--kv-transfer-config="):
                assert set(_connectors(json.loads(word.partition("=")[2]))) <= set(surface["kv_connectors"])


def _connectors(config):
    yield config["kv_connector"]
    for inner in config.get("kv_connector_extra_config", {}).get("connectors", []):
        yield from _connectors(inner)


def test_clients_ask_for_the_models_name():
    assert flag(engine(pods(one_server(name="chat"))[0]), "--served-model-name") == "chat"


def test_the_model_comes_first_and_the_access_log_keeps_quiet_about_probes():
    container = engine(pods(one_server())[0])
    assert container["command"] == ["vllm", "serve"]
    assert container["args"][0] == "Qwen/Qwen3-32B-FP8"
    assert flag(container, "--disable-access-log-for-endpoints") == "/health,/metrics,/v1/models"


def test_a_users_own_argument_wins_over_ours():
    role = make_role()
    own = EngineArg(flag="--served-model-name", value="other", origin="user", why="test")
    model = make_model(roles=(role.model_copy(update={"engine_args": (*role.engine_args, own)}),))
    assert flag(engine(pods(model)[0]), "--served-model-name") == "other"


def test_leader_and_workers_are_one_engine_and_only_the_leader_answers():
    leader, worker = pods(multi_node_model())
    for pod in (leader, worker):
        container = engine(pod)
        assert flag(container, "--nnodes") == "2"
        assert flag(container, "--node-rank") == "$(LWS_WORKER_INDEX)"
        assert flag(container, "--master-addr") == "$(LWS_LEADER_ADDRESS)"
        assert flag(container, "--distributed-executor-backend") == "mp"
    assert "--headless" in engine(worker)["args"]
    assert "--headless" not in engine(leader)["args"]
    assert "readinessProbe" not in engine(worker)
    assert "ports" not in engine(worker)


# -- precise


def test_events_are_published_per_pod_under_the_address_the_picker_knows():
    container = engine(pods(one_server(), **llmd(path="precise"))[0])
    config = json.loads(flag(container, "--kv-events-config"))
    assert config["topic"] == "kv@$(POD_IP):8000@qwen"
    assert config["publisher"] == "zmq"
    assert (config["endpoint"], config["replay_endpoint"]) == ("tcp://*:5556", "tcp://*:5559")
    assert env(container)["POD_IP"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert {p["name"]: p["containerPort"] for p in container["ports"]} == {
        "modelserver": 8000, "kv-events": 5556, "kv-replay": 5559,
    }  # fmt: skip


def test_the_engine_is_told_the_block_size_the_picker_counts_in():
    container = engine(pods(one_server(block_size=64), **llmd(path="precise"))[0])
    assert flag(container, "--block-size") == "64"


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_the_picker_counts_in_blocks_as_wide_as_the_engines_events(ranks):
    split = Parallel(tensor=8, decode_context=ranks)
    model = make_model("qwen", (make_role(parallel=split, block_size=64),))
    made = world(make_plan(models=(model,), config=llmd(path="precise")))
    assert f"blockSizeTokens: {64 * ranks}\n" in str([r.inputs for r in made.all("Release")]).replace("\\n", "\n")
    assert flag(engine(made.pods()[0]), "--block-size") == "64"


def test_the_render_service_finds_the_servers_and_nothing_else():
    made = rendered("precise", "h100")
    service = made.one("Service", "qwen-render").spec
    assert service["selector"].items() <= made.pods()[0]["metadata"]["labels"].items()
    assert service["ports"][0]["targetPort"] == 8000
    assert "/v1/completions/render" in flag(engine(made.pods()[0]), "--disable-access-log-for-endpoints")


@pytest.mark.parametrize("case", sorted(set(CASES) - {"precise"}))
def test_other_paths_publish_no_events(case):
    made = rendered(case, "h200")
    assert "--kv-events-config" not in str(made.pods())
    assert not [s for s in made.all("Service") if s.inputs["metadata"]["name"].endswith("-render")]


# -- prefill and decode


def test_decode_stands_behind_the_sidecar_and_prefill_does_not():
    found = roles(disaggregated_model())
    (proxy,) = sidecars(found["decode"])
    assert not sidecars(found["prefill"])
    assert "--model-server-port=8200" in proxy["args"]
    assert flag(engine(found["decode"]), "--port") == "8200"
    assert flag(engine(found["prefill"]), "--port") == "8000"
    assert proxy["image"] == images()["llm-d-sidecar"].reference()


def test_the_sidecar_speaks_plain_http_with_flags_of_its_version():
    (proxy,) = sidecars(roles(disaggregated_model())["decode"])
    assert "--secure-proxy=false" in proxy["args"]
    assert "--kv-connector=nixlv2" in proxy["args"]
    for removed in ("--connector", "--vllm-port", "--prefiller-use-tls", "--decoder-use-tls"):
        assert not [a for a in proxy["args"] if a.partition("=")[0] == removed]


def test_kv_blocks_travel_over_libfabric_where_there_is_efa():
    for pod in roles(disaggregated_model()).values():
        config = json.loads(flag(engine(pod), "--kv-transfer-config"))
        assert config["kv_connector"] == "NixlConnector"
        assert config["kv_connector_extra_config"] == {"backends": ["LIBFABRIC"]}
        assert config["kv_load_failure_policy"] == "fail"


def test_nixl_binds_to_the_pods_address_and_prefill_outlives_the_sidecars_idle_time():
    found = {name: env(engine(pod)) for name, pod in roles(disaggregated_model()).items()}
    for variables in found.values():
        assert variables["VLLM_NIXL_SIDE_CHANNEL_HOST"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert int(found["prefill"]["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"]) > 90
    assert "VLLM_HTTP_TIMEOUT_KEEP_ALIVE" not in found["decode"]


def test_both_roles_run_the_same_image():
    assert len({engine(pod)["image"] for pod in roles(disaggregated_model()).values()}) == 1


def test_every_pod_says_its_role_in_the_routers_words():
    labels = {n: p["metadata"]["labels"]["llm-d.ai/role"] for n, p in roles(disaggregated_model()).items()}
    assert labels == {"prefill": "prefill", "decode": "decode"}
    assert {p["metadata"]["labels"]["llm-d.ai/role"] for p in pods(one_server())} == {"prefill-decode"}


# -- wide expert parallelism


def test_each_pod_of_a_group_starts_its_own_ranks():
    for name, pod in roles(wide()).items():
        container = engine(pod)
        assert container["command"] == ["/bin/bash", "-ec"]
        assert container["args"][0].endswith("--data-parallel-start-rank=$((LWS_WORKER_INDEX * LOCAL_RANKS))")
        assert env(container)["LOCAL_RANKS"] == "8"
        assert flag(container, "--data-parallel-size-local") == "8"
        assert flag(container, "--data-parallel-size") == "16"
        assert flag(container, "--data-parallel-address") == "$(LWS_LEADER_ADDRESS)"
        first = 8200 if name == "decode" else 8000
        ranks = {p["name"]: p["containerPort"] for p in container["ports"]}
        assert [ranks[f"rank{n}"] for n in range(8)] == list(range(first, first + 8))
        assert ranks["supervisor"] == first + 8
        assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": first + 8}


def test_all_to_all_over_efa_never_uses_a_backend_that_needs_ibgda():
    for pod in roles(wide()).values():
        assert flag(engine(pod), "--all2all-backend") == "allgather_reducescatter"
        assert "NVSHMEM" not in str(pod)
        assert "deepep" not in str(pod)


def test_ranks_of_one_node_need_no_group():
    parallel = Parallel(tensor=1, data=8, expert=True)
    role = make_role(accelerator="h200", parallel=parallel)
    (pod,) = pods(make_model(roles=(role,), mixture_of_experts=True))
    assert flag(engine(pod), "--data-parallel-start-rank") == "0"
    assert engine(pod)["command"] == ["vllm", "serve"]


# -- place and hardware


@pytest.mark.parametrize("accelerator", ["h100", "h200"])
def test_efa_devices_follow_the_instance_type_on_both_sides(accelerator):
    model = disaggregated_model(accelerator)
    expected = str(load_instances()[model.roles[0].instance].efa)
    for pod in roles(model).values():
        resources = engine(pod)["resources"]
        assert resources["requests"]["vpc.amazonaws.com/efa"] == expected
        assert resources["limits"]["vpc.amazonaws.com/efa"] == expected


@pytest.mark.parametrize("case", sorted(ALL))
def test_efa_pods_run_the_image_that_carries_it_and_others_do_not(case):
    for pod in rendered(case, "h200").pods():
        container = engine(pod)
        efa = "vpc.amazonaws.com/efa" in container["resources"]["limits"]
        assert ("deep-learning-containers" in container["image"]) == efa


def test_groups_share_a_zone():
    for pod in pods(multi_node_model()):
        (term,) = pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "topology.kubernetes.io/zone"
        assert term["matchLabelKeys"] == ["leaderworkerset.sigs.k8s.io/group-index"]


def test_prefill_and_decode_share_a_zone_and_avoid_each_others_host():
    for name, pod in roles(disaggregated_model()).items():
        affinity = pod["spec"]["affinity"]
        (term,) = affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term == {
            "labelSelector": {"matchLabels": {"headwater/model": "kimi"}},
            "topologyKey": "topology.kubernetes.io/zone",
        }
        (other,) = affinity["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        labels = other["podAffinityTerm"]["labelSelector"]["matchLabels"]
        assert labels["headwater/role"] == ("decode" if name == "prefill" else "prefill")


def test_no_exclusive_topology_that_a_one_zone_pool_could_never_give():
    assert "exclusive-topology" not in str([r.inputs for r in rendered("two-nodes", "h100").resources])


@pytest.mark.parametrize("case", sorted(ALL))
def test_pods_run_on_their_pool_only_and_tolerate_its_taint(case):
    plan = ALL[case]("h100")
    pools = {role.pool for model in plan.models for role in model.roles}
    for pod in world(plan).pods():
        assert pod["spec"]["nodeSelector"]["headwater/pool"] in pools
        assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in pod["spec"]["tolerations"]
        assert pod["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "true"


def test_a_disruption_budget_guards_the_answering_pods_of_each_role():
    made = world(make_plan(models=(disaggregated_model(),)))
    for role in ("prefill", "decode"):
        budget = made.one("PodDisruptionBudget", f"kimi-{role}").spec
        assert budget["maxUnavailable"] == 1
        assert budget["selector"]["matchLabels"]["headwater/role"] == role

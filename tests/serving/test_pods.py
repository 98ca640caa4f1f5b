"""The part of a model server's pod that is the same for both serving stacks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.quantities import cpu, gibibytes, mebibytes
from components.serving import (
    affinity,
    container_security,
    engine_container,
    engine_image,
    engine_words,
    environment,
    pod_security,
    pod_spec,
    probes,
    resources,
    scratch,
    weights,
)
from components.serving.prepull import pool_images, prepull_spec
from components.serving.priority import priority_classes
from headwater.catalog.releases import engines, images
from headwater.plan import Parallel
from tests.factories import disaggregated_model, make_model, make_plan, make_role, multi_node_model
from tests.validators import quantities

MIRROR = {"headwater:weights": {"mirror": "s3://models-test/weights/", "cache": "nvme"}}


def config(**settings):
    return {"headwater:weights": settings}


# -- quantities


@given(st.integers(1, 10**9))
def test_cpu_keeps_its_value_and_is_canonical(millis):
    assert quantities.parse(cpu(millis)) * 1000 == millis
    assert not cpu(millis).endswith("000m")


@given(st.integers(1, 2**30))
def test_memory_keeps_its_value_in_the_largest_whole_unit(mib):
    text = mebibytes(mib)
    assert quantities.parse(text) == mib * 2**20
    assert int(text[:-2]) % 1024 or text.endswith("Ti")
    assert gibibytes(mib) == mebibytes(mib * 1024)


# -- resources


def test_devices_and_memory_are_guaranteed_and_cpu_is_not_throttled():
    role = make_role("prefill", accelerator="h200", parallel=Parallel(tensor=8), efa=True)
    found = resources(role)
    for name in ("nvidia.com/gpu", "vpc.amazonaws.com/efa", "memory"):
        assert found["requests"][name] == found["limits"][name]
    assert "cpu" not in found["limits"]


def test_a_pod_that_stays_inside_its_node_asks_for_no_efa():
    assert "vpc.amazonaws.com/efa" not in str(resources(make_role()))


def test_huge_pages_are_never_asked_for_since_karpenter_buys_none():
    role = make_role("prefill", accelerator="h200", parallel=Parallel(tensor=8), efa=True)
    assert "hugepages" not in str(resources(role))
    assert {"name": "FI_EFA_USE_HUGE_PAGE", "value": "0"} in environment(role, None)


def test_shared_memory_is_the_plans_and_inside_the_memory_limit():
    role = make_role()
    shm = next(v for v in scratch(role)[0] if v["name"] == "shm")
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": mebibytes(role.pod.shared_memory_mib)}
    assert role.pod.shared_memory_mib < role.pod.memory_mib
    assert {"name": "shm", "mountPath": "/dev/shm"} in scratch(role)[1]


# -- probes


@given(st.integers(1, 20_000))
def test_the_startup_budget_is_the_plans_and_not_ten_seconds_more(seconds):
    probe = probes(make_role(startup_seconds=seconds), 8000)["startupProbe"]
    budget = probe["periodSeconds"] * probe["failureThreshold"]
    assert seconds <= budget < seconds + probe["periodSeconds"]


def test_readiness_waits_for_the_model_and_liveness_for_the_process():
    found = probes(make_role(), 8000)
    assert found["readinessProbe"]["httpGet"] == {"path": "/v1/models", "port": 8000}
    assert found["livenessProbe"]["httpGet"] == {"path": "/health", "port": 8000}


# -- weights


def test_without_a_mirror_the_engine_loads_from_the_hub_onto_the_nodes_disks():
    model = make_model()
    found = weights(make_plan(), model)
    assert found.model == model.repository
    assert found.init == []
    assert found.volumes == [{"name": "weights", "emptyDir": {}}]
    assert {"name": "HF_HOME", "value": "/models/hub"} in found.env
    assert "OFFLINE" not in str(found.env)


def test_with_a_mirror_a_copy_comes_first_and_the_hub_is_never_asked():
    model = make_model()
    found = weights(make_plan(config=MIRROR), model)
    (copy,) = found.init
    variables = {e["name"]: e["value"] for e in copy["env"]}
    assert variables["SOURCE"] == f"s3://models-test/weights/{model.repository}"
    assert variables["TARGET"] == found.model == f"/models/{model.repository}"
    assert {"name": "HF_HUB_OFFLINE", "value": "1"} in found.env
    assert copy["image"] == images()["aws-cli"].reference()


def test_the_copy_runs_in_parallel_and_takes_no_text_from_the_stack_file_into_its_script():
    (copy,) = weights(make_plan(config=MIRROR), make_model()).init
    (script,) = copy["args"]
    assert "preferred_transfer_client crt" in script
    assert "models-test" not in script
    assert '"$SOURCE" "$TARGET"' in script


@pytest.mark.parametrize("cache", ["efs", "fsx"])
def test_a_shared_file_system_is_one_claim_of_all_pods(cache):
    found = weights(make_plan(config=config(cache=cache)), make_model())
    assert found.volumes == [{"name": "weights", "persistentVolumeClaim": {"claimName": "model-weights"}}]


@pytest.mark.parametrize("efa", [False, True])
def test_whoever_writes_weights_is_the_same_ordinary_user(efa):
    (copy,) = weights(make_plan(config=MIRROR), make_model()).init
    assert copy["securityContext"]["runAsUser"] == 2000
    assert copy["securityContext"]["runAsNonRoot"] is True


def test_a_root_engine_may_write_to_a_shared_file_system_only_where_it_must():
    role = make_role("prefill", accelerator="h200", parallel=Parallel(tensor=8), efa=True)
    assert container_security(role)["capabilities"]["add"] == ["IPC_LOCK"]
    assert container_security(role, writes_shared=True)["capabilities"]["add"] == ["IPC_LOCK", "DAC_OVERRIDE"]
    assert "add" not in container_security(make_role(), writes_shared=True)["capabilities"]


# -- image, arguments, environment


@pytest.mark.parametrize("stack", ["llm-d", "dynamo"])
def test_the_image_follows_the_stack_and_efa(stack):
    plan = make_plan(stack)
    near = make_role()
    far = make_role("decode", accelerator="h200", parallel=Parallel(tensor=8), efa=True)
    engine = engines()[stack]
    assert engine_image(plan, near) == images()[engine.image].reference()
    assert engine_image(plan, far) == images()[engine.efa_image].reference()
    assert engine_image(plan, near) != engine_image(plan, far)


def test_arguments_keep_the_plans_order_and_leave_out_what_is_asked():
    role = make_role()
    words = engine_words(role)
    assert words == [w for a in role.engine_args for w in a.words]
    assert "--max-model-len=32768" not in engine_words(role, without=("--max-model-len",))


def test_home_and_caches_are_writable_for_anybody():
    values = {e["name"]: e.get("value", "") for e in environment(make_role(), None)}
    for name in ("HOME", "VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE", "CUDA_CACHE_PATH"):
        assert values[name].startswith("/cache/")
    assert values["USER"]


def test_efa_variables_are_set_only_with_efa():
    assert "FI_PROVIDER" not in str(environment(make_role(), None))
    far = make_role("decode", accelerator="h200", parallel=Parallel(tensor=8), efa=True)
    assert {"name": "FI_PROVIDER", "value": "efa"} in environment(far, None)


def test_no_variable_is_set_twice():
    for model in (make_model(), multi_node_model(), disaggregated_model()):
        container = engine_container(make_plan(models=(model,), config=MIRROR), model, model.roles[0], token_secret="t")
        names = [e["name"] for e in container["env"]]
        assert len(names) == len(set(names))


# -- place


def test_a_server_alone_prefers_no_place():
    assert affinity(make_model(), make_role()) == {}


def test_groups_of_one_model_may_lie_in_different_zones_but_each_in_one():
    model = multi_node_model()
    (term,) = affinity(model, model.roles[0], group_index=True)["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["matchLabelKeys"] == ["leaderworkerset.sigs.k8s.io/group-index"]


def test_disaggregated_groups_all_meet_in_one_zone():
    model = disaggregated_model()
    (term,) = affinity(model, model.roles[0], group_index=True)["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert "matchLabelKeys" not in term


def test_ordinary_pods_are_not_root_and_efa_pods_are_because_pinning_memory_needs_it():
    assert pod_security(make_role())["runAsNonRoot"] is True
    far = make_role("decode", accelerator="h200", parallel=Parallel(tensor=8), efa=True)
    assert pod_security(far)["runAsUser"] == 0


# -- priority


def test_a_models_priority_becomes_its_pods():
    plan = make_plan(models=(make_model(priority=5),))
    model = plan.models[0]
    spec = pod_spec(plan, model, model.roles[0], containers=[], service_account="model-server")
    assert spec["priorityClassName"] == "headwater-5"
    assert priority_classes(plan.models) == {"headwater-5": 5}


def test_models_without_a_priority_need_no_class():
    plan = make_plan()
    model = plan.models[0]
    spec = pod_spec(plan, model, model.roles[0], containers=[], service_account="model-server")
    assert "priorityClassName" not in spec
    assert priority_classes(plan.models) == {}


@given(st.lists(st.integers(-(10**9), 10**9), max_size=5))
def test_classes_stay_within_what_kubernetes_lets_users_have(priorities):
    models = tuple(make_model(f"m{n}", priority=p) for n, p in enumerate(priorities))
    found = priority_classes(models)
    assert len(found) == len({p for p in priorities if p})
    assert all(-(10**6) <= value <= 10**6 for value in found.values())


# -- images ahead of time


def test_every_pool_gets_the_images_its_models_run_and_no_other():
    plan = make_plan(models=(make_model(), disaggregated_model("h200")))
    found = pool_images(plan)
    assert found == {
        "h100-part": [images()["vllm"].reference()],
        "h200-node": [images()["vllm-efa"].reference()],
    }


def test_pulling_ahead_takes_no_gpu_and_reaches_tainted_nodes():
    spec = prepull_spec("h100-part", ["a", "b"])["template"]["spec"]
    assert [c["image"] for c in spec["containers"]] == ["a", "b"]
    assert "nvidia.com/gpu" not in str([c["resources"] for c in spec["containers"]])
    assert spec["nodeSelector"] == {"headwater/pool": "h100-part"}
    assert spec["tolerations"][0]["key"] == "nvidia.com/gpu"
    assert spec["automountServiceAccountToken"] is False

"""KV cache beside GPU memory: bytes from the plan, one hash seed, a share for each rank."""

from __future__ import annotations

import json

import pytest

from headwater.plan import EngineArg, Parallel
from tests.factories import make_model, make_plan, make_role
from tests.llmd.cases import llmd, offloaded, one_server
from tests.llmd.test_servers import engine, env, flag
from tests.llmd.world import world

GIB = 2**30


def made(model=None, **tier):
    return world(make_plan(models=(model or offloaded(),), config=llmd(kvTier=tier) if tier else None))


def connector(world_):
    return json.loads(flag(engine(world_.pods()[0]), "--kv-transfer-config"))


def volumes(world_):
    return {v["name"]: v for v in world_.pods()[0]["spec"]["volumes"]}


def test_host_memory_is_the_plans_bytes():
    assert connector(made()) == {
        "kv_connector": "OffloadingConnector", "kv_role": "kv_both",
        "kv_connector_extra_config": {"cpu_bytes_to_use": 200 * GIB},
    }  # fmt: skip


def test_the_plans_own_arguments_are_kept_where_they_say_it_all():
    role = make_role(offload_gib=100.0)
    own = EngineArg(flag="--kv-offloading-size", value="100", origin="plan", why="test")
    model = make_model(roles=(role.model_copy(update={"engine_args": (*role.engine_args, own)}),))
    args = engine(made(model).pods()[0])["args"]
    assert "--kv-offloading-size=100" in args
    assert not [a for a in args if a.startswith("--kv-transfer-config")]
    replaced = engine(made(model, engine="lmcache").pods()[0])["args"]
    assert "--kv-offloading-size=100" not in replaced
    assert [a for a in replaced if a.startswith("--kv-transfer-config")]


def test_a_server_without_offload_has_no_connector():
    args = engine(made(one_server()).pods()[0])["args"]
    assert not [a for a in args if a.startswith("--kv-transfer-config")]


@pytest.mark.parametrize("tier", [{}, {"engine": "lmcache"}, {"engine": "mooncake"}, {"files": "nvme"}])
def test_every_server_hashes_alike(tier):
    assert env(engine(made(**tier).pods()[0]))["PYTHONHASHSEED"] == "42"


def test_files_are_a_tier_below_host_memory_on_the_nodes_own_disks():
    found = made(files="nvme", gibibytes=512)
    extra = connector(found)["kv_connector_extra_config"]
    assert extra["spec_name"] == "TieringOffloadingSpec"
    assert extra["cpu_bytes_to_use"] == 200 * GIB
    assert extra["secondary_tiers"][0]["root_dir"] == "/kv-files"
    assert volumes(found)["kv-files"]["emptyDir"] == {"sizeLimit": "512Gi"}
    mounts = {m["name"]: m["mountPath"] for m in engine(found.pods()[0])["volumeMounts"]}
    assert mounts["kv-files"] == "/kv-files"


def test_the_pod_asks_for_the_disk_its_files_take():
    plain = engine(made().pods()[0])["resources"]["requests"]["ephemeral-storage"]
    files = engine(made(files="nvme", gibibytes=512).pods()[0])["resources"]["requests"]["ephemeral-storage"]
    assert (plain, files) == ("200Gi", "712Gi")


def test_lmcache_gets_its_sizes_from_the_environment_each_rank_its_share():
    role = make_role(accelerator="h200", parallel=Parallel(tensor=4), offload_gib=200.0)
    found = made(make_model(roles=(role,)), engine="lmcache", files="nvme", gibibytes=1000)
    assert connector(found) == {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}
    variables = env(engine(found.pods()[0]))
    assert variables["LMCACHE_LOCAL_CPU"] == "True"
    assert float(variables["LMCACHE_MAX_LOCAL_CPU_SIZE"]) * 4 == 200
    assert float(variables["LMCACHE_MAX_LOCAL_DISK_SIZE"]) * 4 == 1000
    assert variables["LMCACHE_LOCAL_DISK"] == "file:///kv-files/"
    assert variables["PROMETHEUS_MULTIPROC_DIR"]


def test_mooncake_has_a_master_and_every_server_knows_it():
    found = made(engine="mooncake")
    assert connector(found) == {"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"}
    config = json.loads(found.one("ConfigMap", "qwen-mooncake").inputs["data"]["config.json"])
    assert config["master_server_address"] == "qwen-mooncake.models.svc.cluster.local:50051"
    assert config["global_segment_size"] == 200 * GIB
    assert config["protocol"] == "tcp"
    assert volumes(found)["mooncake"]["configMap"] == {"name": "qwen-mooncake"}
    assert env(engine(found.pods()[0]))["MOONCAKE_CONFIG_PATH"] == "/etc/mooncake/config.json"


def test_the_master_is_found_by_its_service_and_by_no_pool():
    found = made(engine="mooncake")
    labels = found.one("Deployment", "qwen-mooncake").spec["template"]["metadata"]["labels"]
    assert found.one("Service", "qwen-mooncake").spec["selector"] == labels
    pool = found.release("qwen")["router"]["modelServers"]["matchLabels"]
    assert not pool.items() <= labels.items()


def test_only_mooncake_has_a_master():
    for tier in ({}, {"engine": "lmcache"}, {"files": "nvme"}):
        assert [d.name for d in made(**tier).all("Deployment")] == ["serving-qwen-serve"]


def test_prefill_transfers_and_offloads_through_both_connectors():
    roles = (
        make_role("prefill", accelerator="h200", parallel=Parallel(tensor=8), efa=True, offload_gib=400.0),
        make_role("decode", accelerator="h200", parallel=Parallel(tensor=8), efa=True),
    )
    found = world(make_plan(models=(make_model("kimi", roles),)))
    prefill, decode = (json.loads(flag(engine(p), "--kv-transfer-config")) for p in found.pods())
    inner = prefill["kv_connector_extra_config"]["connectors"]
    assert prefill["kv_connector"] == "MultiConnector"
    assert [c["kv_connector"] for c in inner] == ["NixlConnector", "OffloadingConnector"]
    assert decode["kv_connector"] == "NixlConnector"

"""What naive installers of llm-d get wrong, and where a test of ours holds it.

The numbers are those of our upstream reference sheet; the remaining small rules are tested here.
"""

from __future__ import annotations

import importlib

import pytest

from components.llmd.epp import FlowPlan
from components.llmd.routing import routing_of
from components.platform.crds import PLATFORM_BUNDLES
from components.platform.gpu_specs import node_class_spec
from components.platform.operators import lws_values
from headwater.catalog.releases import bundles, charts, engines, images
from tests.factories import disaggregated_model, make_model, make_plan, make_role
from tests.llmd.cases import ALL, llmd, one_server
from tests.llmd.world import rendered, world

HERE = "tests.llmd."
CHECKLIST = {
    1: "test_router_release.test_chart_versions_are_exact_and_obsolete_charts_are_absent",
    2: "test_router_release.test_the_picker_runs_the_routers_own_version",
    3: "test_router_release.test_images_are_pinned_and_never_moving",
    4: "test_checklist.test_definitions_are_pinned_and_installed_by_the_platform",
    5: "test_checklist.test_the_pool_is_always_made_in_both_modes",
    6: "test_gateway.test_priorities_are_objects_of_the_routers_own_group",
    7: "test_router_release.test_pools_fail_open_except_where_any_pod_would_be_wrong",
    8: "test_picker_config.test_no_path_uses_what_is_deprecated_removed_or_alpha",
    9: "test_router_release.test_alpha_plugins_set_the_routers_flag_and_nothing_else_does",
    10: "test_rules.test_several_pickers_need_a_path_without_state",
    11: "test_picker_config.test_prefill_speed_is_the_models_own_and_never_the_routers_default",
    12: "test_router_release.test_the_picker_asks_more_for_a_larger_fleet_and_fits_a_system_node",
    13: "test_router_release.test_two_standalone_routers_share_no_object",
    14: "test_servers.test_the_sidecar_speaks_plain_http_with_flags_of_its_version",
    15: "test_servers.test_kv_blocks_travel_over_libfabric_where_there_is_efa",
    16: "test_router_release.test_images_are_pinned_and_never_moving",
    17: "test_servers.test_efa_devices_follow_the_instance_type_on_both_sides",
    18: "test_servers.test_all_to_all_over_efa_never_uses_a_backend_that_needs_ibgda",
    19: "test_checklist.test_leader_worker_sets_come_with_disaggregated_sets_where_one_is_used",
    20: "test_servers.test_groups_roll_one_at_a_time_without_spare_gpus",
    21: "test_scaling.test_the_workload_variant_autoscaler_is_gone",
    22: "test_scaling.test_no_trigger_multiplies_replicas",
    23: "test_gateway.test_nothing_is_exposed_unless_the_stack_file_says_so",
    24: "test_checklist.test_weights_lie_on_the_nodes_instance_store",
    25: "test_checklist.test_the_nodes_driver_is_new_enough_for_the_engines_cuda",
    26: "test_checklist.test_every_engine_has_a_user_name",
    27: "test_tiers.test_lmcache_gets_its_sizes_from_the_environment_each_rank_its_share",
    28: "test_router_release.test_standalone_envoy_is_pinned_fails_closed_and_listens_where_the_service_points",
    29: "test_gateway.test_envoys_definitions_come_from_their_own_chart_and_the_standard_bundle_stays",
    30: "test_checklist.test_shared_memory_fits_inside_the_memory_limit",
    31: "test_picker_config.test_every_path_writes_the_version_both_routers_read",
    32: "test_router_release.test_values_that_only_edit_the_default_configuration_are_not_set",
    33: "test_router_release.test_the_configuration_is_text_and_the_default_file_is_not_used",
    34: "test_router_release.test_a_changed_configuration_rolls_the_picker",
    35: "test_router_release.test_metrics_are_scraped_without_the_charts_shared_secret",
    36: "test_router_release.test_values_that_only_edit_the_default_configuration_are_not_set",
    37: "test_flows.test_every_model_pod_and_picker_has_its_flows",
    38: "test_checklist.test_the_pool_is_always_made_in_both_modes",
    39: "test_checklist.test_a_standalone_proxy_is_beside_its_picker",
    40: "test_router_release.test_gateway_mode_leaves_the_route_to_us_and_carries_no_proxy",
    41: "test_gateway.test_long_answers_are_not_cut",
    42: "test_servers.test_every_pod_says_its_role_in_the_routers_words",
    43: "test_picker_config.test_a_threshold_makes_short_prompts_skip_prefill_servers",
    44: "test_picker_config.test_prefill_and_decode_keep_the_names_the_router_expects",
    45: "test_picker_config.test_precise_routing_tokenizes_for_real",
    46: "test_rules.test_separate_servers_need_a_path_that_knows_them",
    47: "test_rules.test_an_exact_index_cannot_tell_ranks_apart",
    48: "test_picker_config.test_the_host_tier_is_counted_in_blocks_of_64_tokens",
    49: "test_router_release.test_a_pool_has_one_port_for_each_data_parallel_rank",
    50: "test_rules.test_decode_needs_at_least_prefills_tensor_ranks_without_latent_attention",
    51: "test_checklist.test_a_full_endpoint_is_the_engines_own_batch",
    52: "test_gateway.test_clients_choose_neither_endpoint_nor_a_priority_they_were_not_given",
    53: "test_watching.test_every_alert_is_one_series_of_known_metrics",
    54: "test_picker_config.test_slo_routing_learns_token_times_only_from_streams",
    55: "test_checklist.test_a_header_with_an_underscore_does_not_cost_the_request",
    56: "test_servers.test_groups_roll_one_at_a_time_without_spare_gpus",
    57: "test_lifetimes.test_replicas_of_a_scaled_workload_are_left_to_the_autoscaler",
    58: "test_checklist.test_no_placement_asks_for_labels_nodes_may_not_have",
}


@pytest.mark.parametrize("number", range(1, 59))
def test_every_item_has_a_test(number):
    module, _, name = CHECKLIST[number].partition(".")
    assert callable(getattr(importlib.import_module(HERE + module), name))


def test_definitions_are_pinned_and_installed_by_the_platform():
    assert set(PLATFORM_BUNDLES) == {"gateway-api", "inference-extension"}
    assert bundles()["inference-extension"].version == "v1.5.0"
    assert bundles()["llm-d-router"].version == charts()["llm-d-router-gateway"].version
    assert all(b.version in b.url for b in bundles().values())


@pytest.mark.parametrize("mode", ["gateway", "standalone"])
def test_the_pool_is_always_made_in_both_modes(mode):
    made = world(make_plan(models=(one_server(),), config=llmd(mode=mode)))
    assert made.release("qwen")["router"]["inferencePool"]["create"] is True


def test_leader_worker_sets_come_with_disaggregated_sets_where_one_is_used():
    assert not charts()["lws"].version.startswith("v")
    assert lws_values(make_plan(models=(disaggregated_model(),)))["enableDisaggregatedSet"] is True
    assert lws_values(make_plan())["enableDisaggregatedSet"] is False
    made = world(make_plan(models=(disaggregated_model(),))).one("DisaggregatedSet")
    assert made.inputs["apiVersion"] == "disaggregatedset.x-k8s.io/v1"


def test_weights_lie_on_the_nodes_instance_store():
    plan = make_plan()
    spec = node_class_spec(
        plan.pools[0], ami="x", profile={"role": "r"}, subnets=["s"], security_group="g", tags={}, placement_group=None
    )
    assert spec["instanceStorePolicy"] == "RAID0"
    assert plan.models[0].roles[0].pod.ephemeral_gib > plan.models[0].checkpoint_gib


def test_the_nodes_driver_is_new_enough_for_the_engines_cuda():
    """Nodes bring driver 580.159; CUDA 13.0 images need 580.65 or newer."""
    engine = engines()["llm-d"]
    assert "cu130" in images()[engine.efa_image].tag
    assert "580.65.06" in images()[engine.image].note


@pytest.mark.parametrize("case", sorted(ALL))
def test_every_engine_has_a_user_name(case):
    for pod in rendered(case, "h200").pods():
        assert {"name": "USER", "value": "headwater"} in pod["spec"]["containers"][0]["env"]


@pytest.mark.parametrize("case", sorted(ALL))
def test_shared_memory_fits_inside_the_memory_limit(case):
    for model in ALL[case]("h200").models:
        for role in model.roles:
            assert role.pod.shared_memory_mib < role.pod.memory_mib


def test_a_standalone_proxy_is_beside_its_picker():
    made = rendered("standalone", "h100")
    assert made.release("qwen")["router"]["proxy"]["mode"] == "sidecar"
    assert made.one("Service", "qwen-access").spec["selector"] == {"llm-d-router-gateway": "qwen-epp"}


def test_a_full_endpoint_is_the_engines_own_batch():
    found = []
    for batch in (16, 256):
        model = make_model(roles=(make_role(max_num_seqs=batch),))
        plan = make_plan(models=(model,), config=llmd(flowControl={"enabled": True, "gibibytes": 2}))
        flow = routing_of(plan, model, "prefix", "models").flow
        assert isinstance(flow, FlowPlan)
        assert flow.gibibytes < 16
        found.append(flow.max_concurrency - batch)
    assert found == [8, 8]


def test_a_header_with_an_underscore_does_not_cost_the_request():
    policy = world(make_plan(models=(one_server(),))).one("ClientTrafficPolicy").spec
    assert policy["headers"]["withUnderscoresAction"] == "DropHeader"


@pytest.mark.parametrize("case", sorted(ALL))
def test_no_placement_asks_for_labels_nodes_may_not_have(case):
    for made in rendered(case, "h200").all("DisaggregatedSet"):
        assert "placementPolicy" not in made.spec

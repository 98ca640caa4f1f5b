"""What model pods may do: next to nothing."""

from __future__ import annotations

import pytest

from tests.factories import disaggregated_model, make_plan
from tests.llmd.cases import ALL
from tests.llmd.test_servers import engine, env
from tests.llmd.world import rendered, world


def containers(pod):
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


@pytest.mark.parametrize("case", sorted(ALL))
def test_model_pods_have_no_service_account_token(case):
    made = rendered(case, "h200")
    for pod in made.pods():
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["serviceAccountName"] == "model-server"
    assert made.one("ServiceAccount", "model-server").inputs["automountServiceAccountToken"] is False


@pytest.mark.parametrize("case", sorted(ALL))
def test_pods_without_efa_meet_the_restricted_standard(case):
    for pod in rendered(case, "h100").pods():
        if "vpc.amazonaws.com/efa" in engine(pod)["resources"]["limits"]:
            continue
        security = pod["spec"]["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] > 0
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(pod):
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_efa_costs_one_capability_and_only_the_engine():
    for pod in world(make_plan(models=(disaggregated_model(),))).pods():
        assert engine(pod)["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}
        for container in containers(pod):
            if container["name"] != "modelserver":
                assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
                assert container["securityContext"]["runAsNonRoot"] is True


@pytest.mark.parametrize("case", sorted(ALL))
def test_nothing_of_the_host_is_shared(case):
    for pod in rendered(case, "h200").pods():
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod["spec"])
        assert not [v for v in pod["spec"]["volumes"] if "hostPath" in v]
        assert not [c for c in containers(pod) if c["securityContext"].get("privileged")]


@pytest.mark.parametrize("case", sorted(ALL))
def test_the_hub_token_is_a_reference_and_nothing_else(case):
    for pod in rendered(case, "h200").pods():
        assert env(engine(pod))["HF_TOKEN"] == {"secretKeyRef": {"name": "hugging-face", "key": "HF_TOKEN"}}
        assert "hf_" not in str(pod)


def test_without_a_token_none_is_mentioned():
    made = world(ALL["prefix"]("h100"), token_secret=None)
    assert "HF_TOKEN" not in str(made.pods())
    assert not made.all("Secret")


@pytest.mark.parametrize("case", sorted(ALL))
def test_every_container_has_requests_and_a_memory_limit(case):
    for pod in rendered(case, "h200").pods():
        for container in containers(pod):
            assert {"cpu", "memory"} <= set(container["resources"]["requests"])
            assert "memory" in container["resources"]["limits"]
            assert "cpu" not in container["resources"]["limits"]

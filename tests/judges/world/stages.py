"""What the simulated kubelets do: nodes report ready, pods run after their load time, crash on demand, end.

KWOK plays these; each ``Stage`` says which objects it moves, after which delay, and to which status.
"""

from collections.abc import Mapping
from typing import Any

Loads = Mapping[tuple[str, str], float]

CRASH = "judges.headwater/crash"
"""Annotation that makes a running pod crash once (value ``now``)."""

_NOW = "{{ Now | Quote }}"
_GONE = {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}
_PENDING = {"key": ".status.phase", "operator": "In", "values": ["Pending"]}
_RUNNING = {"key": ".status.phase", "operator": "In", "values": ["Running"]}
_MODEL = '.metadata.labels["headwater/model"]'
_ROLE = '.metadata.labels["headwater/role"]'
_GPU = '.spec.containers.[].resources.limits["nvidia.com/gpu"]'

_NODE_READY = f"""
conditions:
- type: Ready
  status: "True"
  reason: KubeletReady
  message: simulated
  lastHeartbeatTime: {_NOW}
  lastTransitionTime: {{{{ or .metadata.creationTimestamp Now | Quote }}}}
addresses:
- type: InternalIP
  address: {{{{ NodeIP | Quote }}}}
- type: Hostname
  address: {{{{ NodeName | Quote }}}}
phase: Running
"""


def _container_status(kind: str, state: str) -> str:
    return f"""
{kind}Statuses:
{{{{ range .spec.{kind}s }}}}
- name: {{{{ .name | Quote }}}}
  image: {{{{ .image | Quote }}}}
{state}
{{{{ end }}}}
"""


_STARTED = f"""  ready: true
  started: true
  restartCount: 0
  state:
    running:
      startedAt: {_NOW}
"""
_INIT = f"""  ready: true
  restartCount: 0
  {{{{ if eq (or .restartPolicy "") "Always" }}}}
  started: true
  state:
    running:
      startedAt: {_NOW}
  {{{{ else }}}}
  state:
    terminated:
      exitCode: 0
      reason: Completed
      startedAt: {_NOW}
      finishedAt: {_NOW}
  {{{{ end }}}}
"""
_CRASHED = f"""  ready: false
  started: false
  restartCount: 1
  lastState:
    terminated:
      exitCode: 137
      reason: OOMKilled
      startedAt: {_NOW}
      finishedAt: {_NOW}
  state:
    waiting:
      reason: CrashLoopBackOff
"""
_DONE = f"""  ready: false
  started: false
  restartCount: 0
  state:
    terminated:
      exitCode: 0
      reason: Completed
      startedAt: {_NOW}
      finishedAt: {_NOW}
"""


def _conditions(ready: bool) -> str:
    status = "True" if ready else "False"
    lines = ["conditions:"]
    for kind, value in (("Initialized", "True"), ("Ready", status), ("ContainersReady", status)):
        lines.append(f'- {{type: {kind}, status: "{value}", lastTransitionTime: {_NOW}}}')
    gates = "{{ range .spec.readinessGates }}\n- type: {{ .conditionType | Quote }}\n"
    lines.append(f'{gates}  status: "True"\n  lastTransitionTime: {_NOW}\n{{{{ end }}}}')
    return "\n".join(lines)


_POD_RUNNING = (
    _conditions(ready=True)
    + _container_status("container", _STARTED)
    + _container_status("initContainer", _INIT)
    + f"""
{{{{ $ips := PodIPsWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) .metadata.name .metadata.namespace }}}}
podIP: {{{{ index $ips 0 | Quote }}}}
podIPs:
- ip: {{{{ index $ips 0 | Quote }}}}
phase: Running
startTime: {_NOW}
"""  # noqa: E501
)


def _stage(
    name: str, kind: str, match: list[dict[str, Any]], following: dict[str, Any], milliseconds: int = 0
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": match},
        "next": following,
    }
    if milliseconds:
        spec["delay"] = {"durationMilliseconds": milliseconds}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def _loading(loads: Loads) -> list[dict[str, Any]]:
    """How long each model's pods load once they are placed."""
    match = [_GONE, _PENDING, {"key": _GPU, "operator": "Exists"}]
    found = []
    for (model, role), seconds in sorted(loads.items()):
        its = [{"key": _MODEL, "operator": "In", "values": [model]}, {"key": _ROLE, "operator": "In", "values": [role]}]
        milliseconds = int(seconds * 1000)
        found.append(
            _stage(f"loaded-{model}-{role}", "Pod", [*match, *its], {"statusTemplate": _POD_RUNNING}, milliseconds)
        )
    if loads:
        match.append({"key": _MODEL, "operator": "NotIn", "values": sorted({model for model, _ in loads})})
    return [*found, _stage("model-loaded", "Pod", match, {"statusTemplate": _POD_RUNNING}, 1000)]


def stages(loads: Loads) -> list[dict[str, Any]]:
    """The stages; a pod that asks for GPUs becomes ready as long after it was placed as its model takes to load.

    Args:
        loads: seconds by (model, role); a second for any other.
    """
    node_ready = '.status.conditions.[] | select( .type == "Ready" ) | .status'
    owner = ".metadata.ownerReferences.[].kind"
    starting = [_GONE, _PENDING]
    crash = f'.metadata.annotations["{CRASH}"]'
    return [
        _stage(
            "node-ready",
            "Node",
            [{"key": node_ready, "operator": "NotIn", "values": ["True"]}],
            {"statusTemplate": _NODE_READY},
        ),
        _stage(
            "node-heartbeat",
            "Node",
            [{"key": node_ready, "operator": "In", "values": ["True"]}],
            {"statusTemplate": _NODE_READY},
            300_000,
        ),
        _stage(
            "pod-ready",
            "Pod",
            [*starting, {"key": _GPU, "operator": "DoesNotExist"}],
            {"statusTemplate": _POD_RUNNING},
            100,
        ),
        *_loading(loads),
        _stage(
            "pod-crash",
            "Pod",
            [_GONE, _RUNNING, {"key": crash, "operator": "In", "values": ["now"]}],
            {"statusTemplate": _conditions(ready=False) + _container_status("container", _CRASHED)},
        ),
        _stage(
            "job-done",
            "Pod",
            [_GONE, _RUNNING, {"key": owner, "operator": "In", "values": ["Job"]}],
            {"statusTemplate": _container_status("container", _DONE) + "phase: Succeeded\n"},
            200,
        ),
        _stage(
            "pod-delete",
            "Pod",
            [{"key": ".metadata.deletionTimestamp", "operator": "Exists"}],
            {"delete": True},
        ),
    ]

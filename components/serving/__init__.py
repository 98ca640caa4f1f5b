"""What both serving stacks need of a model server pod, from the plan."""

from components.platform.model import WEIGHTS_CLAIM
from components.serving.access import SERVICE_ACCOUNT, ModelIdentity
from components.serving.environment import environment
from components.serving.images import engine_image, image
from components.serving.names import (
    ENGINE_CONTAINER,
    ENGINE_PORT,
    MODEL_LABEL,
    ROLE_LABEL,
    SERVED_MODEL,
    SERVING_STACK,
    model_labels,
    role_labels,
    workload_name,
)
from components.serving.placement import DO_NOT_DISRUPT, affinity, node_selector, tolerations
from components.serving.pod import engine_container, engine_words, pod_annotations, pod_labels, pod_spec
from components.serving.prepull import Prepull
from components.serving.probes import probes
from components.serving.resources import resources
from components.serving.security import container_security, plain_security, pod_security
from components.serving.volumes import scratch
from components.serving.weights import weights

__all__ = [
    "DO_NOT_DISRUPT",
    "ENGINE_CONTAINER",
    "ENGINE_PORT",
    "MODEL_LABEL",
    "ROLE_LABEL",
    "SERVED_MODEL",
    "SERVICE_ACCOUNT",
    "SERVING_STACK",
    "WEIGHTS_CLAIM",
    "ModelIdentity",
    "Prepull",
    "affinity",
    "container_security",
    "engine_container",
    "engine_image",
    "engine_words",
    "environment",
    "image",
    "model_labels",
    "node_selector",
    "plain_security",
    "pod_annotations",
    "pod_labels",
    "pod_security",
    "pod_spec",
    "probes",
    "resources",
    "role_labels",
    "scratch",
    "tolerations",
    "weights",
    "workload_name",
]

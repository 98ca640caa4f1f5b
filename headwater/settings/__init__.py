"""The stack configuration as one frozen object; what it cannot be is refused in words."""

from headwater.refusal import Fault, Refusal
from headwater.settings.capacity import Capacity, Reservation
from headwater.settings.load import environment_of, load_stack, settings_from_config, shown_path, stack_path, there
from headwater.settings.platform import Cluster, Gateway, Mirror, Network
from headwater.settings.serving import InlineModel, ModelSettings
from headwater.settings.stack import SECTIONS, Settings

__all__ = [
    "SECTIONS",
    "Capacity",
    "Cluster",
    "Fault",
    "Gateway",
    "InlineModel",
    "Mirror",
    "ModelSettings",
    "Network",
    "Refusal",
    "Reservation",
    "Settings",
    "environment_of",
    "load_stack",
    "settings_from_config",
    "shown_path",
    "stack_path",
    "there",
]

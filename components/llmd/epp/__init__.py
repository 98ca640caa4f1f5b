"""The endpoint picker's configuration as typed objects."""

from components.llmd.epp.config import EndpointPickerConfig, Plugin, plugin
from components.llmd.epp.flow import FlowPlan
from components.llmd.epp.paths import KV_EVENTS_PORT, KV_REPLAY_PORT, Routing, picker_config

__all__ = [
    "KV_EVENTS_PORT",
    "KV_REPLAY_PORT",
    "EndpointPickerConfig",
    "FlowPlan",
    "Plugin",
    "Routing",
    "picker_config",
    "plugin",
]

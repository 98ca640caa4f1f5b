"""Which addresses each zone's subnets get: pure arithmetic, stable when zones are added.

A subnet's range depends on the VPC's range and on the zone's letter only, so a zone that joins later moves nobody: a
changed range would replace the subnet and everything in it.

| use | size | holds |
|---|---|---|
| gpu | /19 in a /16, else /20 | GPU nodes and their pods: a node takes up to 131 addresses |
| system | /22 | the managed node group, controllers, pods |
| public | /24 | NAT gateways, internet-facing load balancers |
| control | /27 | the control plane's own interfaces (EKS needs 6 free, recommends 16) |
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

DEFAULT_CIDR = "10.0.0.0/16"
SYSTEM_PREFIX, PUBLIC_PREFIX, CONTROL_PREFIX = 22, 24, 27


@dataclass(frozen=True)
class ZoneSubnets:
    """CIDR ranges of one zone."""

    gpu: str
    system: str
    public: str
    control: str


def slots(prefix: int) -> int:
    """How many zones a VPC range of that prefix has room for, counted by letter from ``a``."""
    return 6 if prefix <= 17 else 3


def zone_subnets(cidr: str, zone: str) -> ZoneSubnets:
    """The ranges of one zone of a VPC.

    Args:
        cidr: the VPC's range, /16 to /18.
        zone: its name, whose last letter is its place: ``us-east-2b`` is the second.

    Raises:
        ValueError: the range has no place for this zone; the text says which range has.
    """
    network = ipaddress.ip_network(cidr)
    place, room = ord(zone[-1]) - ord("a"), slots(network.prefixlen)
    if not 0 <= place < room:
        wider = "a /16 or /17 holds zones a to f" if place < 6 else "zones beyond f have no place in this layout"
        raise ValueError(f"{cidr} has room for zones a to {'abcdef'[room - 1]}, not for {zone}; {wider}")
    gpu_prefix = 19 if network.prefixlen == 16 else 20
    start = int(network.network_address)
    gpu, start = _block(start, place, gpu_prefix), start + room * _size(gpu_prefix)
    system, start = _block(start, place, SYSTEM_PREFIX), start + room * _size(SYSTEM_PREFIX)
    public, start = _block(start, place, PUBLIC_PREFIX), start + room * _size(PUBLIC_PREFIX)
    control = _block(start, place, CONTROL_PREFIX)
    return ZoneSubnets(gpu=gpu, system=system, public=public, control=control)


def _size(prefix: int) -> int:
    return int(2 ** (32 - prefix))


def _block(start: int, place: int, prefix: int) -> str:
    return str(ipaddress.ip_network((start + place * _size(prefix), prefix)))

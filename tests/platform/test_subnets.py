"""Subnet arithmetic: what a zone gets depends on the range and the zone alone."""

from __future__ import annotations

import ipaddress
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.plan.subnets import slots, zone_subnets

PREFIXES = st.integers(16, 18)


@st.composite
def ranges(draw: st.DrawFn) -> str:
    """A private range of an allowed size."""
    prefix = draw(PREFIXES)
    base = draw(st.sampled_from(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]))
    outer = ipaddress.ip_network(base)
    count = 2 ** (prefix - outer.prefixlen)
    number = draw(st.integers(0, count - 1))
    return str(ipaddress.ip_network((int(outer.network_address) + number * 2 ** (32 - prefix), prefix)))


def networks(cidr: str) -> list[ipaddress.IPv4Network]:
    zones = [f"us-east-1{letter}" for letter in "abcdef"[: slots(ipaddress.ip_network(cidr).prefixlen)]]
    return [ipaddress.IPv4Network(text) for zone in zones for text in vars(zone_subnets(cidr, zone)).values()]


@given(ranges())
def test_no_two_subnets_overlap_and_all_lie_in_the_range(cidr):
    outer, found = ipaddress.IPv4Network(cidr), networks(cidr)
    assert all(inner.subnet_of(outer) for inner in found)
    assert not any(a.overlaps(b) for a, b in combinations(found, 2))


@given(ranges(), st.sampled_from("abc"))
def test_every_use_has_the_size_its_nodes_need(cidr, letter):
    subnets = zone_subnets(cidr, f"eu-north-1{letter}")
    assert ipaddress.ip_network(subnets.gpu).prefixlen <= 20
    assert ipaddress.ip_network(subnets.system).prefixlen == 22
    assert ipaddress.ip_network(subnets.public).prefixlen == 24
    assert ipaddress.ip_network(subnets.control).num_addresses - 5 >= 16


@given(ranges(), st.sampled_from("abc"))
def test_a_zone_keeps_its_ranges_whatever_region_or_other_zones(cidr, letter):
    assert zone_subnets(cidr, f"us-east-2{letter}") == zone_subnets(cidr, f"ap-northeast-1{letter}")


def test_the_layout_of_a_16_is_what_it_was():
    assert vars(zone_subnets("10.0.0.0/16", "us-east-2b")) == {
        "gpu": "10.0.32.0/19",
        "system": "10.0.196.0/22",
        "public": "10.0.217.0/24",
        "control": "10.0.222.32/27",
    }


def test_a_18_has_room_for_three_zones_and_says_what_has_more():
    assert vars(zone_subnets("10.0.0.0/18", "us-west-2c"))["gpu"] == "10.0.32.0/20"
    with pytest.raises(ValueError, match=r"has room for zones a to c, not for us-west-2d; a /16 or /17 holds"):
        zone_subnets("10.0.0.0/18", "us-west-2d")


def test_a_zone_beyond_f_has_no_place():
    with pytest.raises(ValueError, match="beyond f"):
        zone_subnets("10.0.0.0/16", "us-east-1g")

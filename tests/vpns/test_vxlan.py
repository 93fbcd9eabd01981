from __future__ import annotations

from ipaddress import IPv4Interface

from culvert.vpns import registry, vxlan
from culvert.vpns.outer import OuterFlow
from culvert.vpns.variant import DataPath


def test_it_says_that_it_does_not_encrypt() -> None:
    vpn = registry.create(registry.parse("vxlan/plain"))
    assert not vpn.variant.encrypts
    assert vpn.data_path is DataPath.NONE
    assert vpn.outer_flow == OuterFlow(17, frozenset({4789}))


def test_fifty_bytes_more() -> None:
    vpn = registry.create(registry.parse("vxlan/plain"))
    assert [vpn.outer_length(n) for n in (64, 1024, 1450)] == [114, 1074, 1500]


def test_hardware_addresses_are_fixed_local_and_differ() -> None:
    a, b = (vxlan._hardware_address(IPv4Interface(f"198.19.0.{n}/24")) for n in (1, 2))
    assert (a, b) == ("02:00:c6:13:00:01", "02:00:c6:13:00:02")

"""A pod as a node: what is computed from the kernel's files."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from culvert.errors import LabError
from culvert.labs.kubernetes.pods.node import device_of

ROUTES = """\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t010012C6\t0003\t0\t0\t0\t00000000\t0\t0\t0
wg0\t000013C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
vxlan.calico\t0000F40A\t0000F40A\t0003\t0\t0\t0\tC0FFFFFF\t0\t0\t0
cali0123456789a\t4200F40A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0
"""


@pytest.mark.parametrize(
    ("address", "device"),
    [("198.19.0.2", "wg0"), ("203.0.113.1", "eth0"), ("10.244.0.66", "cali0123456789a")],
)
def test_the_device_is_that_of_the_longest_route(address: str, device: str) -> None:
    assert device_of(ROUTES, IPv4Address(address)) == device


def test_an_address_without_a_route() -> None:
    without_default = "\n".join(line for line in ROUTES.splitlines() if not line.startswith("eth0"))
    with pytest.raises(LabError, match="no route"):
        device_of(without_default, IPv4Address("203.0.113.1"))

"""A pod as a node: what is computed from the kernel's files."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from culvert.errors import LabError
from culvert.labs.kubernetes.pods.node import device_of
from tests.proof.cluster.test_devices import ROUTES


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

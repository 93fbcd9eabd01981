"""What ``wg show DEVICE dump`` prints, also damaged."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import VpnError
from culvert.vpns.wireguard import packet
from culvert.vpns.wireguard.control import ControlTool
from culvert.vpns.wireguard.packet import Padding

from .fake_node import node_that_prints

KEY = "A" * 43 + "="
DEVICE = f"{KEY}\t{KEY}\t51821\toff"
PEER = f"{KEY}\t(none)\t198.18.1.1:51821\t198.19.0.2/32,fd00::2/128\t1795324498\t1\t2\toff"


def test_the_peer_of_an_inner_address() -> None:
    node = node_that_prints(f"{DEVICE}\n{PEER}\n")
    found = ControlTool("wg0").carrier(node, IPv4Address("198.19.0.2"))
    assert found is not None
    assert found.last_handshake_ns == 1795324498_000_000_000
    assert (found.tx_bytes, found.rx_bytes) == (2, 1)
    assert ControlTool("wg0").carrier(node, IPv4Address("198.19.0.3")) is None


def test_a_device_without_peers() -> None:
    state = ControlTool("wg0").state(node_that_prints(f"{DEVICE}\n"))
    assert (state.listen_port, state.peers) == (51821, ())


@given(st.text(max_size=40).filter(lambda text: bool(text.splitlines())))
def test_a_damaged_report_is_an_error(line: str) -> None:
    with pytest.raises(VpnError, match="unknown form"):
        ControlTool("wg0").state(node_that_prints(f"{DEVICE}\n{line}"))


@pytest.mark.parametrize("printed", ["", "\n", "nothing", KEY])
def test_a_report_without_the_device_is_an_error(printed: str) -> None:
    with pytest.raises(VpnError, match="unknown form"):
        ControlTool("wg0").state(node_that_prints(printed))


@pytest.mark.parametrize(
    ("padding", "outer"),
    [
        (Padding.TO_MTU, [60 + 32, 60 + 64, 60 + 1420]),
        (Padding.NONE, [60 + 28, 60 + 64, 60 + 1420]),
        (Padding.BEYOND_MTU, [60 + 32, 60 + 64, 60 + 1424]),
    ],
)
def test_programs_pad_differently(padding: Padding, outer: list[int]) -> None:
    assert [packet.outer_length(inner, 1420, padding) for inner in (28, 64, 1420)] == outer
    data = packet.messages(1420, padding)[0]
    assert all((length - 28 - data.least) % data.step == 0 for length in outer[:2])

"""What ``wg show DEVICE dump`` prints, also damaged; and the packets of disguised tunnels."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import VpnError
from culvert.vpns.outer import OuterMessage, OuterPacket
from culvert.vpns.registry import create, parse
from culvert.vpns.wireguard.control import ControlTool
from culvert.vpns.wireguard.packet import WIREGUARD, Format, Padding
from culvert.vpns.wireguard.variants import AMNEZIA, DISGUISED
from tests.here import HERE

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
    assert [Format(padding).outer_length(inner, 1420) for inner in (28, 64, 1420)] == outer
    data = Format(padding).messages(1420)[0]
    assert all((length - 28 - data.least) % data.step == 0 for length in outer[:2])


def test_all_packets_of_a_disguised_tunnel_are_messages_and_none_is_wireguards() -> None:
    packets = [
        (b"\x00" * 24 + (1_316_174_001).to_bytes(4, "little") + b"x" * 144, True),
        (b"\x00" * 40 + (877_312_609).to_bytes(4, "little") + b"x" * 88, True),
        ((1_903_457_218).to_bytes(4, "little") + b"x" * 60, True),
        (b"junk" * 12, True),
        ((502_664_387).to_bytes(4, "little") + b"x" * 28, False),
    ]
    form = DISGUISED.format
    for payload, handshake in packets:
        packet = OuterPacket(0, True, 17, 40000, 51820, 28 + len(payload), payload)
        assert form.is_handshake(packet) is handshake
        assert any(is_one(kind, payload) for kind in form.messages(1420))
    plain = WIREGUARD.messages(1420)
    assert not any(is_one(kind, payload) for payload, _ in packets for kind in plain)


def is_one(kind: OuterMessage, payload: bytes) -> bool:
    length = len(payload)
    sized = kind.least <= length <= (kind.most or length) and not (length - kind.least) % kind.step
    return sized and all(payload[at] & mask == value for at, mask, value in kind.fixed)


def test_a_disguise_is_set_as_it_is_recognised() -> None:
    settings = dict(DISGUISED.settings)
    assert [settings[key] for key in ("jc", "jmin", "jmax")] == ["4", "40", "70"]
    assert [settings[f"s{number}"] for number in range(1, 5)] == ["24", "40", "0", "0"]
    assert len({settings[f"h{number}"] for number in range(1, 5)}) == 4
    assert not AMNEZIA.settings


def test_amneziawg_comes_from_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    [lacking] = create(parse("wireguard/amneziawg")).missing(HERE)
    assert lacking.what == "amneziawg-go"
    assert "put it on PATH" in lacking.remedy

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.vpns.openvpn.packet import TCP, UDP, Framing, Opcode, is_control, udp_length
from culvert.vpns.outer import OuterPacket

SIZES = st.integers(28, 65000)
DATA = {Opcode.DATA_V1, Opcode.DATA_V2}


def packet(protocol: int, payload: bytes, length: int) -> OuterPacket:
    return OuterPacket(0, True, protocol, 40000, 1194, length, payload)


@pytest.mark.parametrize(
    ("framing", "inner", "outer"),
    [
        # as captured from OpenVPN 2.6.14
        (Framing.AEAD, 64, 116),
        (Framing.AEAD, 1448, 1500),
        (Framing.CBC, 64, 160),
        (Framing.CBC, 1024, 1120),
        (Framing.CBC_STATIC_KEY, 64, 156),
        (Framing.CBC_STATIC_KEY, 512, 604),
        (Framing.CLEAR, 64, 132),
        (Framing.CLEAR_STATIC_KEY, 64, 132),
        # by 2.7's description of the format
        (Framing.AEAD_EPOCH, 64, 120),
    ],
)
def test_openvpn_lengths_are_exact(framing: Framing, inner: int, outer: int) -> None:
    assert udp_length(framing, inner) == outer


@given(SIZES)
def test_cbc_fills_blocks_and_always_pads(inner: int) -> None:
    for framing, headers in ((Framing.CBC, 80), (Framing.CBC_STATIC_KEY, 76)):
        encrypted = (udp_length(framing, inner) or 0) - headers
        packet_id = 4 if framing is Framing.CBC else 8
        assert encrypted % 16 == 0
        assert 1 <= encrypted - packet_id - inner <= 16


@given(st.sampled_from(Opcode), st.integers(0, 7), st.binary(max_size=40))
def test_the_opcode_decides_over_udp(opcode: Opcode, key_id: int, rest: bytes) -> None:
    payload = bytes((opcode << 3 | key_id,)) + rest
    assert is_control(packet(UDP, payload, 28 + len(payload))) == (opcode not in DATA)


@given(st.sampled_from(Opcode), st.binary(min_size=1, max_size=40))
def test_over_tcp_it_is_behind_the_length(opcode: Opcode, rest: bytes) -> None:
    record = bytes((opcode << 3,)) + rest
    payload = len(record).to_bytes(2, "big") + record
    assert is_control(packet(TCP, payload, 52 + len(payload))) == (opcode not in DATA)


@given(st.binary(max_size=2))
def test_a_segment_without_a_record_is_no_control_packet(payload: bytes) -> None:
    assert not is_control(packet(TCP, payload, 52 + len(payload)))


def test_a_length_beyond_the_segment_is_no_control_packet() -> None:
    assert not is_control(packet(TCP, b"\xff\xff" + bytes((Opcode.CONTROL_V1 << 3,)), 100))


def test_an_unknown_opcode_or_nothing_is_no_control_packet() -> None:
    assert not is_control(packet(UDP, b"", 28))
    assert not is_control(packet(UDP, b"\xf8", 29))

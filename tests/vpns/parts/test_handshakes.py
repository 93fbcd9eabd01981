"""Messages of QUIC and DTLS, as drivers declare them."""

from __future__ import annotations

import pytest

from culvert.vpns.outer import OuterFlow
from culvert.vpns.parts.handshakes import DTLS_MESSAGES, of_quic, of_tls, quic_messages
from tests.vpns.tunnels import planned


def test_the_long_header_is_a_handshakes() -> None:
    long, short = quic_messages(8)
    assert (long.fixed, long.noise_from) == (((0, 0x80, 0x80),), None)
    assert (short.fixed, short.noise_from, short.least) == (((0, 0x80, 0),), 9, 21)
    assert of_quic(b"\x80")
    assert not of_quic(b"\x7f")


def test_data_of_dtls_is_ciphertext_behind_its_nonce() -> None:
    data, *others = DTLS_MESSAGES
    assert (data.noise_from, data.least) == (21, 37)
    for other in others:
        assert other.noise_from is None
        assert of_tls(other.begins)
    assert not of_tls(data.begins)


@pytest.mark.parametrize(
    "text",
    [
        "ocserv/dtls",
        "quincy/noise",
        "sing-box/hysteria2",
        "sing-box/tuic",
        "tinc/aes-256-cbc",
        "yggdrasil/quic",
    ],
)
def test_drivers_declare_them(text: str) -> None:
    flow = planned(text).outer_flow
    assert isinstance(flow, OuterFlow)
    assert flow.messages
    assert all(each.noise_from is None or each.noise_from <= 21 for each in flow.messages)


@pytest.mark.parametrize("text", ["ocserv/tls", "sing-box/vless", "yggdrasil/tls"])
def test_streams_have_none(text: str) -> None:
    flow = planned(text).outer_flow
    assert isinstance(flow, OuterFlow)
    assert not flow.messages

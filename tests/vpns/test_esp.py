from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.vpns.ipsec import esp
from culvert.vpns.outer import OuterPacket

SHAPES = [esp.CBC_SHA256, esp.GCM, esp.CHACHA20_POLY1305, esp.NULL_SHA256]


@pytest.mark.parametrize(
    ("shape", "in_udp", "inner", "outer"),
    [
        # as captured from strongSwan 5.9.8 with kernel-libipsec
        (esp.CBC_SHA256, True, 64, 148),
        (esp.GCM, True, 64, 128),
        (esp.GCM, True, 1400, 1464),
        # by RFC 4303 and 4106
        (esp.GCM, False, 64, 120),
        (esp.GCM, False, 1446, 1500),
        (esp.CBC_SHA256, False, 1438, 1500),
        (esp.NULL_SHA256, False, 64, 112),
    ],
)
def test_esp_lengths_are_exact(shape: esp.EspShape, in_udp: bool, inner: int, outer: int) -> None:
    assert esp.esp_length(shape, inner, in_udp=in_udp, transport=False) == outer


@pytest.mark.parametrize(("transport", "outer"), [(False, 112), (True, 92)])
def test_ah_adds_its_header(transport: bool, outer: int) -> None:
    assert esp.ah_length(16, 64, transport=transport) == outer


@given(st.sampled_from(SHAPES), st.integers(28, 65000), st.booleans(), st.booleans())
def test_what_is_encrypted_is_aligned_and_holds_the_trailer(
    shape: esp.EspShape, inner: int, in_udp: bool, transport: bool
) -> None:
    around = 20 + (8 if in_udp else 0) + 8 + shape.iv + shape.icv
    encrypted = esp.esp_length(shape, inner, in_udp=in_udp, transport=transport) - around
    behind_headers = inner - 20 if transport else inner
    assert encrypted % shape.alignment == 0
    assert 2 <= encrypted - behind_headers < 2 + shape.alignment


def test_a_fragment_of_an_intermediate_exchange_is_judged_behind_its_counters() -> None:
    intermediate = [each for each in esp.IN_UDP if any(value == 43 for *_, value in each.fixed)]
    # Header, generic header, fragment numbers, IV (RFC 7383, section 2.5); then behind a marker.
    assert [each.noise_from for each in intermediate] == [28 + 4 + 4 + 8, 4 + 28 + 4 + 4 + 8]


@given(st.binary(min_size=4, max_size=64))
def test_ike_has_its_own_port_or_four_zero_bytes(payload: bytes) -> None:
    def told(protocol: int, port: int, payload: bytes) -> bool:
        return esp.is_ike(OuterPacket(0, True, protocol, port, port, 100, payload))

    assert told(esp.UDP, 500, payload)
    assert told(esp.UDP, 4500, bytes(4) + payload)
    assert told(esp.UDP, 4500, payload) == (payload[:4] == bytes(4))
    assert not told(esp.ESP, 0, payload)
    assert not told(esp.UDP, 4500, b"\xff")  # a NAT keepalive (RFC 3948, section 2.3)

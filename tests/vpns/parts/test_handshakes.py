from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from culvert.vpns.parts.handshakes import of_quic, of_tls


@given(st.integers(0, 255), st.binary())
def test_the_first_byte_decides(first: int, rest: bytes) -> None:
    payload = bytes([first]) + rest
    assert of_quic(payload) == bool(first & 0x80)
    assert of_tls(payload) == (first in {20, 21, 22, 24})


def test_an_acknowledgement_without_payload_is_of_neither() -> None:
    assert not of_quic(b"")
    assert not of_tls(b"")

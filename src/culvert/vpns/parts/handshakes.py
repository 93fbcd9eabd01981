"""What QUIC, TLS and DTLS send before data, and how their data is known."""

from __future__ import annotations

from culvert.vpns.outer import OuterMessage

_LONG_HEADER = b"\x80"
_WITHOUT_DATA = (b"\x14", b"\x15", b"\x16", b"\x18")
"""Change of cipher, alert, handshake, heartbeat."""


def of_quic(payload: bytes) -> bool:
    """A packet with the long header (RFC 9000, section 17.2)."""
    return payload[:1] >= _LONG_HEADER


def of_tls(payload: bytes) -> bool:
    """A segment or datagram that begins with a record of TLS or DTLS without data (RFC 8446,
    appendix B.1)."""
    return payload[:1] in _WITHOUT_DATA


def quic_messages(connection_id: int) -> tuple[OuterMessage, ...]:
    """Version 1 (RFC 9000, section 17) with connection IDs of at most so many bytes: the long
    header of a handshake, and the short one, whose other bits and number are encrypted too. The
    shortest packet has 21 bytes (section 10.3)."""
    return (
        OuterMessage(fixed=((0, 0x80, 0x80),), least=21),
        OuterMessage(fixed=((0, 0x80, 0),), least=21, noise_from=1 + connection_id),
    )


_RECORD_HEADER, _EXPLICIT_NONCE, _TAG = 13, 8, 16
_APPLICATION_DATA = b"\x17\xfe\xfd"
DTLS_MESSAGES = (
    OuterMessage(
        _APPLICATION_DATA,
        least=_RECORD_HEADER + _EXPLICIT_NONCE + _TAG,
        noise_from=_RECORD_HEADER + _EXPLICIT_NONCE,
    ),
    *(OuterMessage(kind + b"\xfe", least=_RECORD_HEADER) for kind in _WITHOUT_DATA),
)
"""Records of version 1.2 (RFC 6347, section 4.1) with AES-GCM (RFC 5288, section 3)."""

"""The first byte of what QUIC and TLS send before data."""

from __future__ import annotations

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

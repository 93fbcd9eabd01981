"""What ESP packets look like on the wire (RFC 4303, and RFC 3948 for those inside of UDP).

::

    IP 20 | UDP 8, if encapsulated | SPI, sequence 8 | IV | inner packet, padding, 2 | ICV
"""

from __future__ import annotations

from dataclasses import dataclass

from culvert.vpns.base import OuterPacket

ESP = 50
UDP = 17
IKE_PORT = 500
NAT_PORT = 4500

_IP = 20
_UDP_HEADER = 8
_SPI_SEQUENCE = 8
_PAD_LENGTH_NEXT_HEADER = 2
_NON_ESP_MARKER = bytes(4)


@dataclass(frozen=True)
class Shape:
    """Lengths in bytes that a cipher brings along. ``alignment`` is what padding fills up to."""

    iv: int
    alignment: int
    icv: int


CBC_SHA256 = Shape(iv=16, alignment=16, icv=16)
"""AES-CBC (RFC 3602) with HMAC-SHA-256-128 (RFC 4868)."""
GCM = Shape(iv=8, alignment=4, icv=16)
"""AES-GCM with an ICV of 16 bytes (RFC 4106)."""
CHACHA20_POLY1305 = Shape(iv=8, alignment=4, icv=16)
"""RFC 7634."""


def outer_length(shape: Shape, inner_length: int, *, in_udp: bool) -> int:
    """Length in bytes of the outer IP packet for an inner one, in tunnel mode."""
    filled = inner_length + _PAD_LENGTH_NEXT_HEADER
    filled += -filled % shape.alignment
    header = _IP + (_UDP_HEADER if in_udp else 0) + _SPI_SEQUENCE
    return header + shape.iv + filled + shape.icv


def is_ike(packet: OuterPacket) -> bool:
    """Whether it is IKE's: on its own port, or on ESP's behind four zero bytes (no SPI is zero)."""
    ports = {packet.source_port, packet.destination_port}
    if packet.protocol != UDP:
        return False
    return IKE_PORT in ports or (NAT_PORT in ports and packet.payload[:4] == _NON_ESP_MARKER)

"""The format of IPsec's packets on the wire (RFC 4303 and 4302, RFC 3948 for ESP in UDP).

::

    ESP  IP 20 | UDP 8, if encapsulated | SPI, sequence 8 | IV | inner packet, padding, 2 | ICV
    AH   IP 20 | next, length, reserved, SPI, sequence 12 | ICV | inner packet

In transport mode the inner packet's IP header is the outer one.
"""

from __future__ import annotations

from dataclasses import dataclass

from culvert.vpns.authoring import OuterMessage, OuterPacket

ESP = 50
AH = 51
UDP = 17
IKE_PORT = 500
NAT_PORT = 4500

_IP = 20
_UDP_HEADER = 8
_SPI_SEQUENCE = 8
_PAD_LENGTH_NEXT_HEADER = 2
_AH_HEADER = 12
_NON_ESP_MARKER = bytes(4)


@dataclass(frozen=True)
class EspShape:
    """Lengths in bytes that depend on the cipher. Padding fills up to a multiple of
    ``alignment``."""

    iv: int
    alignment: int
    icv: int


CBC_SHA256 = EspShape(iv=16, alignment=16, icv=16)
"""AES-CBC (RFC 3602) with HMAC-SHA-256-128 (RFC 4868)."""
GCM = EspShape(iv=8, alignment=4, icv=16)
"""AES-GCM with an ICV of 16 bytes (RFC 4106)."""
CHACHA20_POLY1305 = EspShape(iv=8, alignment=4, icv=16)
"""RFC 7634."""
NULL_SHA256 = EspShape(iv=0, alignment=4, icv=16)
"""No encryption (RFC 2410) with HMAC-SHA-256-128."""


def esp_length(shape: EspShape, inner_length: int, *, in_udp: bool, transport: bool) -> int:
    """Length in bytes of the outer IP packet for an inner one, with ESP."""
    filled = inner_length - (_IP if transport else 0) + _PAD_LENGTH_NEXT_HEADER
    filled += -filled % shape.alignment
    header = _IP + (_UDP_HEADER if in_udp else 0) + _SPI_SEQUENCE
    return header + shape.iv + filled + shape.icv


def ah_length(icv: int, inner_length: int, *, transport: bool) -> int:
    """Length in bytes of the outer IP packet for an inner one, with AH."""
    return (0 if transport else _IP) + _AH_HEADER + icv + inner_length


ENCRYPTED = OuterMessage(least=_SPI_SEQUENCE + 8 + 4 + 16, noise_from=_SPI_SEQUENCE + 8)
"""ESP with a cipher; its IV may be a counter of 8 bytes."""
_IKE_SA_INIT = 34
_IKE_INTERMEDIATE = 43
"""RFC 9242: with the key exchanges behind the first (RFC 9370)."""
_KEEPALIVE = OuterMessage(b"\xff", least=1, most=1)


def _ike(marker: bytes) -> tuple[OuterMessage, ...]:
    """Version 2 (RFC 7296, section 3.1): the exchange that is in clear text, and others, which are
    encrypted behind the headers and an IV."""
    start = len(marker)
    version, exchange = (start + 17, 0xFF, 0x20), start + 18
    clear = OuterMessage(marker, (version, (exchange, 0xFF, _IKE_SA_INIT)), start + 28)
    others = (
        OuterMessage(marker, (version, (exchange, *which)), start + 28, noise_from=start + 44)
        for which in ((0xF8, _IKE_SA_INIT & 0xF8), (0xFF, _IKE_INTERMEDIATE))
    )
    return clear, *others


IN_UDP = (*_ike(b""), *_ike(_NON_ESP_MARKER), _KEEPALIVE, ENCRYPTED)
"""What is on the ports of IKE and of ESP in UDP; the first that fits, and any packet fits the
last."""


def is_ike(packet: OuterPacket) -> bool:
    """Whether it is IKE's: on IKE's port, or on ESP's port after four zero bytes (no SPI is
    zero)."""
    ports = {packet.source_port, packet.destination_port}
    if packet.protocol != UDP:
        return False
    return IKE_PORT in ports or (NAT_PORT in ports and packet.payload[:4] == _NON_ESP_MARKER)

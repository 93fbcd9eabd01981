"""The format of ZeroTier's packets on the wire.

::

    outer  IP 20 | UDP 8 | header 27: id 8, to 5, from 5, flags 1, MAC 8 | verb 1 |
           network 8, Ethernet type 2 | inner packet

Sources: node/Packet.hpp, node/Switch.cpp and tcp-proxy/tcp-proxy.cpp of ZeroTier 1.14.
"""

from __future__ import annotations

_UDP_HEADERS = 20 + 8
_HEADER = 28
_FRAME = 8 + 2
OVERHEAD = _UDP_HEADERS + _HEADER + _FRAME
LARGEST_PAYLOAD = 1432
"""Bytes of a UDP payload beyond which ZeroTier splits a packet (ZT_DEFAULT_PHYSMTU)."""
_FLAGS = 18
_FRAGMENT_AT, _FRAGMENT = 13, 0xFF
_CIPHER = 0b0011_1000
_RECORD = b"\x17\x03\x03"
_UDP_ADDRESS = 1 + 4 + 2
_RECORD_HEADER = 5 + _UDP_ADDRESS
_OK_HELLO = 59
"""Bytes of the answer to a HELLO: header, verb, packet id, timestamp, versions, address."""


def outer_length(inner_length: int) -> int:
    """Length in bytes of the outer IP packet."""
    return inner_length + OVERHEAD


def largest_inner(underlay_mtu: int) -> int:
    """The longest inner packet in bytes that ZeroTier and the underlay carry in one packet."""
    return min(underlay_mtu - OVERHEAD, LARGEST_PAYLOAD - _HEADER - _FRAME)


def is_handshake(packet: bytes, length: int) -> bool:
    """A HELLO, which is authenticated but not encrypted, or the answer to one.

    ``packet`` is the start of ZeroTier's packet, ``length`` that of the whole in bytes.
    """
    if len(packet) <= _FLAGS or packet[_FRAGMENT_AT] == _FRAGMENT:
        return False
    return not packet[_FLAGS] & _CIPHER or length == _OK_HELLO


def in_udp(ip_length: int) -> int:
    """Length of ZeroTier's packet in a UDP packet."""
    return ip_length - _UDP_HEADERS


def in_record(segment: bytes) -> tuple[bytes, int]:
    """The start and the length of ZeroTier's packet in a TCP segment that a record begins; else
    nothing. A record looks like one of TLS: 17 03 03, length 2; then the UDP address, 7 bytes."""
    if not segment.startswith(_RECORD) or len(segment) < _RECORD_HEADER:
        return b"", 0
    length = int.from_bytes(segment[3:5]) - _UDP_ADDRESS
    return segment[_RECORD_HEADER:], length

"""Nebula's packets on the underlay (header/header.go of the source).

::

    direct   IPv4 UDP │ header 16 │ ciphertext │ tag 16
    relayed  IPv4 UDP │ header 16 │ header 16 │ ciphertext │ tag 16 │ tag 16

A header begins with version and type (four bits each) and the subtype. The outer header and tag of
a relayed packet are between a member and the relay, which sees the inner header but no clear text.
"""

from __future__ import annotations

from culvert.vpns.outer import OuterPacket

_IPV4_UDP = 28
_HEADER = 16
_TAG = 16
_HANDSHAKE, _MESSAGE, _RELAYED = 0, 1, 1
"""Types of packets, and the subtype of a message that is for a relay."""


def outer_length(inner_length: int, *, relayed: bool) -> int:
    """Bytes of the outer IP packet."""
    return inner_length + _IPV4_UDP + (_HEADER + _TAG) * (2 if relayed else 1)


def is_handshake(packet: OuterPacket) -> bool:
    """Noise's two messages, direct or through a relay."""
    payload = packet.payload
    if _type(payload) == _MESSAGE and payload[1:2] == bytes([_RELAYED]):
        payload = payload[_HEADER:]
    return _type(payload) == _HANDSHAKE


def _type(payload: bytes) -> int | None:
    return payload[0] & 0x0F if len(payload) >= _HEADER else None

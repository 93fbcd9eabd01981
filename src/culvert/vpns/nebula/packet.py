"""Nebula's packets on the underlay (header/header.go of the source).

::

    direct   IPv4 UDP │ header 16 │ ciphertext │ tag 16
    relayed  IPv4 UDP │ header 16 │ header 16 │ ciphertext │ tag 16 │ tag 16

A header begins with version and type (four bits each) and the subtype. The outer header and tag of
a relayed packet are between a member and the relay, which sees the inner header but no clear text.
"""

from __future__ import annotations

from dataclasses import replace

from culvert.vpns.authoring import OuterMessage, OuterPacket

_IPV4_UDP = 28
_HEADER = 16
_TAG = 16
_HANDSHAKE, _MESSAGE, _RELAYED = 0, 1, 1
"""Types of packets, and the subtype of a message that is for a relay."""


_VERSION = 0x10
_RECV_ERROR = 2
_LIGHTHOUSE, _TEST, _CLOSE, _CONTROL = 3, 4, 5, 6


def _of(kind: int, subtype: int | None = 0) -> OuterMessage:
    reserved = ((2, 0xFF, 0), (3, 0xFF, 0))
    subtypes = () if subtype is None else ((1, 0xFF, subtype),)
    return OuterMessage(bytes([_VERSION | kind]), (*subtypes, *reserved), _HEADER)


def _sealed(message: OuterMessage, headers: int = 1) -> OuterMessage:
    return replace(message, least=headers * (_HEADER + _TAG), noise_from=headers * _HEADER)


_RELAYS = _of(_MESSAGE, _RELAYED)
_PUNCH = OuterMessage(fixed=((0, 0xFE, 0),), least=1, most=1)
"""One byte, 0 or 1, for the sake of a NAT (lighthouse.go, connection_manager.go)."""
MESSAGES = (
    _sealed(_of(_MESSAGE)),
    *(_sealed(_of(kind, None)) for kind in (_LIGHTHOUSE, _TEST, _CLOSE, _CONTROL)),
    _of(_HANDSHAKE),
    replace(_of(_RECV_ERROR), most=_HEADER),
    _PUNCH,
    replace(_RELAYS, fixed=(*_RELAYS.fixed, (_HEADER, 0xFF, _VERSION | _HANDSHAKE))),
    _sealed(replace(_RELAYS, fixed=(*_RELAYS.fixed, (_HEADER, 0xF8, _VERSION))), 2),
)
"""All but a relay's are of one header; the certificates of a handshake are in clear text."""


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

"""The format of WireGuard's packets on the wire.

::

    outer  IP 20 | UDP 8 | type, receiver, counter 16 | inner packet, padded | tag 16

Sources: https://www.wireguard.com/papers/wireguard.pdf, section 5.4, for the messages;
``calculatePaddingSize`` in wireguard-go's device/send.go for the padding.
"""

from __future__ import annotations

from enum import IntEnum

from culvert.vpns.outer import OuterPacket

_HEADERS = 20 + 8 + 16 + 16
_PADDING = 16


class Message(IntEnum):
    """The first byte of every WireGuard packet."""

    INITIATION = 1
    RESPONSE = 2
    COOKIE_REPLY = 3
    DATA = 4


def outer_length(inner_length: int, mtu: int) -> int:
    """Length in bytes of the outer IP packet: padded to 16 bytes, but never beyond the interface's
    MTU."""
    padded = -(-inner_length // _PADDING) * _PADDING
    return _HEADERS + max(inner_length, min(padded, mtu))


def is_handshake(packet: OuterPacket) -> bool:
    """Initiation, response and cookie reply: a type byte and three zero bytes."""
    kinds = (Message.INITIATION, Message.RESPONSE, Message.COOKIE_REPLY)
    return packet.payload[:4] in {bytes((kind, 0, 0, 0)) for kind in kinds}

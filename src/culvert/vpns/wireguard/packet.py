"""The format of WireGuard's packets on the wire.

::

    outer  IP 20 | UDP 8 | type, receiver, counter 16 | inner packet, padded | tag 16

Sources: https://www.wireguard.com/papers/wireguard.pdf, section 5.4, for the messages;
``calculatePaddingSize`` in wireguard-go's device/send.go for the padding.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, IntEnum, auto

from culvert.vpns.authoring import OuterMessage, OuterPacket

_HEADER, _TAG = 16, 16
_HEADERS = 20 + 8 + _HEADER + _TAG
_MAC2 = 16
"""Zeros unless the receiver is under load."""
_BLOCK = 16


class Message(IntEnum):
    """The first byte of every WireGuard packet."""

    INITIATION = 1
    RESPONSE = 2
    COOKIE_REPLY = 3
    DATA = 4


class Padding(Enum):
    """What a program adds to an inner packet."""

    TO_MTU = auto()
    """Bytes up to a multiple of 16, but never beyond the interface's MTU."""
    NONE = auto()
    BEYOND_MTU = auto()
    """Bytes up to a multiple of 16, but none where it cuts a super-packet."""


def outer_length(inner_length: int, mtu: int, padding: Padding = Padding.TO_MTU) -> int:
    """Length in bytes of the outer IP packet."""
    padded = -(-inner_length // _BLOCK) * _BLOCK
    if padding is Padding.NONE:
        return _HEADERS + inner_length
    if padding is Padding.BEYOND_MTU:
        return _HEADERS + padded
    return _HEADERS + max(inner_length, min(padded, mtu))


def messages(mtu: int, padding: Padding = Padding.TO_MTU) -> tuple[OuterMessage, ...]:
    """All messages of a device with that MTU."""
    step = _BLOCK if padding is Padding.TO_MTU else 1

    def exactly(kind: Message, length: int, clear: int = 0) -> OuterMessage:
        return OuterMessage(_start(kind), (), length, length, noise_from=4, noise_behind=clear)

    padded = OuterMessage(_start(Message.DATA), (), _HEADER + _TAG, None, step, noise_from=_HEADER)
    longest = _HEADER + mtu + _TAG
    return (
        padded,
        replace(padded, least=longest, most=longest),
        exactly(Message.INITIATION, 148, _MAC2),
        exactly(Message.RESPONSE, 92, _MAC2),
        exactly(Message.COOKIE_REPLY, 64),
    )


def is_handshake(packet: OuterPacket) -> bool:
    """Initiation, response and cookie reply: a type byte and three zero bytes."""
    kinds = (Message.INITIATION, Message.RESPONSE, Message.COOKIE_REPLY)
    return packet.payload[:4] in map(_start, kinds)


def _start(kind: Message) -> bytes:
    return bytes((kind, 0, 0, 0))

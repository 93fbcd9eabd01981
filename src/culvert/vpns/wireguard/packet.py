"""The format of WireGuard's packets on the wire, and AmneziaWG's.

::

    outer  IP 20 | UDP 8 | type, receiver, counter 16 | inner packet, padded | tag 16

AmneziaWG can put random bytes before each message, replace the types, and send packets of random
bytes before a handshake.

Sources: https://www.wireguard.com/papers/wireguard.pdf, section 5.4, for the messages;
``calculatePaddingSize`` in wireguard-go's device/send.go for the padding;
``DeterminePacketTypeAndPadding`` in amneziawg-go's device/receive.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, IntEnum, auto

from culvert.vpns.authoring import OuterMessage, OuterPacket

_HEADER, _TAG = 16, 16
_HEADERS = 20 + 8 + _HEADER + _TAG
_MAC2 = 16
"""Zeros unless the receiver is under load."""
_BLOCK = 16
_TYPE = 4
"""Bytes of a message's type, a little-endian number."""
_INDEX = 4
"""Bytes of an end's name for the session, which some programs count."""


class Message(IntEnum):
    """The type of every WireGuard packet."""

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


@dataclass(frozen=True)
class Format:
    """``types`` and ``prefixes``, random bytes before the message, are those of ``Message``, in
    order; ``junk`` is the least and the most bytes of a packet that is no message."""

    padding: Padding = Padding.TO_MTU
    types: tuple[int, int, int, int] = (1, 2, 3, 4)
    prefixes: tuple[int, int, int, int] = (0, 0, 0, 0)
    junk: tuple[int, int] | None = None

    def outer_length(self, inner_length: int, mtu: int) -> int:
        """Length in bytes of the outer IP packet."""
        padded = -(-inner_length // _BLOCK) * _BLOCK
        headers = _HEADERS + self.prefixes[Message.DATA - 1]
        if self.padding is Padding.NONE:
            return headers + inner_length
        if self.padding is Padding.BEYOND_MTU:
            return headers + padded
        return headers + max(inner_length, min(padded, mtu))

    def messages(self, mtu: int) -> tuple[OuterMessage, ...]:
        """All messages of a device with that MTU."""
        step = _BLOCK if self.padding is Padding.TO_MTU else 1
        longest = _HEADER + mtu + _TAG
        data = self._message(Message.DATA, _HEADER + _TAG, noise_from=_HEADER)
        known = (
            replace(data, most=None, step=step),
            self._message(Message.DATA, longest, noise_from=_HEADER),
            self._message(Message.INITIATION, 148, noise_from=_TYPE + _INDEX, clear=_MAC2),
            self._message(Message.RESPONSE, 92, noise_from=_TYPE + 2 * _INDEX, clear=_MAC2),
            self._message(Message.COOKIE_REPLY, 64, noise_from=_TYPE + _INDEX),
        )
        if self.junk is None:
            return known
        return (*known, OuterMessage(least=self.junk[0], most=self.junk[1], noise_from=0))

    def is_handshake(self, packet: OuterPacket) -> bool:
        """Initiation, response and cookie reply, and junk, whose bytes are random."""
        if self.junk is not None:
            return not self._is(Message.DATA, packet.payload)
        kinds = (Message.INITIATION, Message.RESPONSE, Message.COOKIE_REPLY)
        return any(self._is(kind, packet.payload) for kind in kinds)

    def _is(self, kind: Message, payload: bytes) -> bool:
        at = self.prefixes[kind - 1]
        return payload[at : at + _TYPE] == self._type(kind)

    def _type(self, kind: Message) -> bytes:
        return self.types[kind - 1].to_bytes(_TYPE, "little")

    def _message(
        self, kind: Message, length: int, *, noise_from: int, clear: int = 0
    ) -> OuterMessage:
        at = self.prefixes[kind - 1]
        return OuterMessage(
            fixed=tuple((at + i, 0xFF, byte) for i, byte in enumerate(self._type(kind))),
            least=at + length,
            most=at + length,
            # Random bytes before the message leave its header in the middle of what is random.
            noise_from=None if at else noise_from,
            noise_behind=clear,
        )


WIREGUARD = Format()
"""WireGuard's, as wireguard-go and the kernel send it."""

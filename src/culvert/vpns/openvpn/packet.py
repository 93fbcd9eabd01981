"""The format of OpenVPN's packets on the wire.

::

    certificates, AEAD   opcode, peer id 4 | packet id 4 | tag 16 | inner packet
    ... of 2.7 and newer opcode, peer id 4 | epoch, packet id 8 | inner packet | tag 16
    certificates, CBC    opcode, peer id 4 | HMAC 32 | IV 16 | packet id 4, inner packet, padding
    static key, CBC                          HMAC 32 | IV 16 | packet id 8, inner packet, padding
    no cipher            as CBC, without IV and padding

With --fragment another 4 bytes precede the inner packet. No compression is configured, so there is
no framing byte for it. Source:
https://openvpn.github.io/openvpn-rfc/openvpn-wire-protocol.html, crypto.c for CBC, fragment.h.
"""

from __future__ import annotations

import re
from enum import Enum, IntEnum

from culvert.vpns.authoring import OuterMessage, OuterPacket

UDP = 17
TCP = 6

_IP_UDP = 20 + 8
_OPCODE_AND_PEER = 4
_TAG = 16
_HMAC_SHA256 = 32
_IV = 16
_BLOCK = 16
_FRAGMENT_HEADER = 4

_IP_TCP_LEAST = 20 + 20


class Opcode(IntEnum):
    """The upper five bits of a packet's first byte."""

    HARD_RESET_CLIENT_V1 = 1
    HARD_RESET_SERVER_V1 = 2
    SOFT_RESET_V1 = 3
    CONTROL_V1 = 4
    ACK_V1 = 5
    DATA_V1 = 6
    HARD_RESET_CLIENT_V2 = 7
    HARD_RESET_SERVER_V2 = 8
    DATA_V2 = 9
    HARD_RESET_CLIENT_V3 = 10
    CONTROL_WKC_V1 = 11


_CONTROL = (
    Opcode.SOFT_RESET_V1,
    Opcode.CONTROL_V1,
    Opcode.ACK_V1,
    Opcode.HARD_RESET_CLIENT_V2,
    Opcode.HARD_RESET_SERVER_V2,
)
_FEW_ACKNOWLEDGED = (9, 0xF0, 0)
"""Behind opcode and session the number of acknowledged packets, at most 8."""


class Framing(Enum):
    """How inner packets are encapsulated."""

    AEAD = "AEAD"
    AEAD_EPOCH = "AEAD with epoch keys"
    CBC = "CBC"
    CBC_STATIC_KEY = "CBC with a static key"
    CLEAR = "no cipher"
    CLEAR_STATIC_KEY = "no cipher, with a static key"


def udp_length(framing: Framing, inner_length: int, fragment: int | None = None) -> int | None:
    """Length in bytes of the outer IP packet for an inner one, over UDP. With --fragment each has
    its header; None if it splits the inner packet because the datagram would exceed ``fragment``
    bytes."""
    if fragment is None:
        return _IP_UDP + _wrapped(framing, inner_length)
    datagram = _wrapped(framing, _FRAGMENT_HEADER + inner_length)
    return _IP_UDP + datagram if datagram <= fragment else None


def messages(*, static_key: bool) -> tuple[OuterMessage, ...]:
    """All messages over UDP with a cipher."""
    if static_key:
        return (OuterMessage(least=_HMAC_SHA256 + _IV + _BLOCK, step=_BLOCK, noise_from=0),)
    control = (
        OuterMessage(fixed=(_first(opcode), _FEW_ACKNOWLEDGED), least=14) for opcode in _CONTROL
    )
    # AEAD has 4 or 8 bytes of packet id behind the peer id, CBC its HMAC.
    data = OuterMessage(
        fixed=(_first(Opcode.DATA_V2),), least=_OPCODE_AND_PEER + 4 + _TAG, noise_from=12
    )
    return (data, *control)


def _first(opcode: Opcode) -> tuple[int, int, int]:
    return 0, 0xF8, opcode << 3


def is_control(packet: OuterPacket) -> bool:
    """Whether a packet of a tunnel with certificates belongs to the control channel.

    Over UDP that is exact. Over TCP a segment is classified by the record at its start. A segment
    that continues a record may be misclassified; there is none while no data crosses the tunnel.
    """
    head = packet.payload
    if packet.protocol == TCP:
        record = int.from_bytes(head[:2], "big")
        head = head[2:]
        if not 0 < record + 2 <= packet.length - _IP_TCP_LEAST:
            return False
    if not head:
        return False
    opcode = head[0] >> 3
    return opcode in set(Opcode) - {Opcode.DATA_V1, Opcode.DATA_V2}


def negotiated(framing: Framing, client_log: str) -> Framing:
    """The negotiated framing: from 2.7 on, epoch keys with AEAD, as the server's reply states."""
    epoch = re.search(r"PUSH_REPLY,.*\baead-epoch\b", client_log)
    return Framing.AEAD_EPOCH if epoch and framing is Framing.AEAD else framing


def _wrapped(framing: Framing, inner_length: int) -> int:
    match framing:
        case Framing.AEAD:
            return _OPCODE_AND_PEER + 4 + _TAG + inner_length
        case Framing.AEAD_EPOCH:
            return _OPCODE_AND_PEER + 8 + _TAG + inner_length
        case Framing.CBC:
            return _OPCODE_AND_PEER + _HMAC_SHA256 + _IV + _padded(4 + inner_length)
        case Framing.CBC_STATIC_KEY:
            return _HMAC_SHA256 + _IV + _padded(8 + inner_length)
        case Framing.CLEAR:
            return _OPCODE_AND_PEER + _HMAC_SHA256 + 4 + inner_length
        case Framing.CLEAR_STATIC_KEY:
            return _HMAC_SHA256 + 8 + inner_length


def _padded(length: int) -> int:
    """PKCS #7: always at least one byte more."""
    return (length // _BLOCK + 1) * _BLOCK

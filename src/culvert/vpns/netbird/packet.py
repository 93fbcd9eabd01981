"""WireGuard's packets inside the frames of NetBird's relay.

::

    TCP | frame: 82, length, mask | version 1, type 3 | peer 36 | WireGuard packet

Sources: RFC 6455, section 5.2, for the frame; shared/relay/messages/message.go of NetBird 0.76.
"""

from __future__ import annotations

from itertools import cycle

_BINARY = 0x82
_MASKED = 0x80
_LENGTH_BYTES = {126: 2, 127: 8}
_TRANSPORT = b"\x01\x03"
_PEER_BYTES = 36


def carried(segment: bytes) -> bytes:
    """The start of the WireGuard packet in a segment; empty if no frame of a packet begins it."""
    if len(segment) < 2 or segment[0] != _BINARY:
        return b""
    at = 2 + _LENGTH_BYTES.get(segment[1] & ~_MASKED, 0)
    message = segment[at:]
    if segment[1] & _MASKED:
        key, masked = message[:4], message[4:]
        message = bytes(a ^ b for a, b in zip(masked, cycle(key), strict=False))
    return message[2 + _PEER_BYTES :] if message.startswith(_TRANSPORT) else b""

"""NetBird's packets: between members and to the servers; WireGuard's inside the relay's frames.

::

    TCP | frame: 82, length, mask | version 1, type 3 | peer 36 | WireGuard packet

Sources: RFC 6455, section 5.2, for the frame; shared/relay/messages/message.go of NetBird 0.76.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

from culvert.vpns.authoring import OuterFlow, OuterPacket
from culvert.vpns.netbird.variants import LEGACY, Ports
from culvert.vpns.wireguard.packet import WIREGUARD

_TCP, _UDP = 6, 17
_BINARY = 0x82
_MASKED = 0x80
_LENGTH_BYTES = {126: 2, 127: 8}
_TRANSPORT = b"\x01\x03"
_PEER_BYTES = 36


def relayed(ports: Ports) -> OuterFlow:
    """Nothing from member to member."""
    servers = OuterFlow(_TCP, frozenset({ports.control, ports.relay, LEGACY}))
    return OuterFlow(_UDP, frozenset({ports.stun}), also=(servers,))


def direct(ports: Ports) -> OuterFlow:
    """The first packets of a direct path, with the handshake, go through the relay too."""
    return OuterFlow(_UDP, frozenset({ports.member}), also=(relayed(ports),))


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


def is_handshake(packet: OuterPacket, ports: Ports) -> bool:
    """What goes to the control server and to STUN, and WireGuard's handshake, direct or in a frame
    of the relay."""
    ends = {packet.source_port, packet.destination_port}
    if ends & {ports.control, ports.stun}:
        return True
    if packet.protocol == _TCP:
        packet = replace(packet, payload=carried(packet.payload))
    return WIREGUARD.is_handshake(packet)

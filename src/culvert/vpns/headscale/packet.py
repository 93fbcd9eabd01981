"""Tailscale's packets on the underlay.

Between members WireGuard's, and those of the path's discovery, which start with ``TS`` and a speech
balloon (disco/disco.go of tailscale.com). To the servers HTTP, DERP in TLS or plain, and STUN.
"""

from __future__ import annotations

from culvert.vpns.headscale.ports import Ports
from culvert.vpns.outer import OuterFlow, OuterPacket
from culvert.vpns.wireguard import packet as wireguard

_TCP, _UDP = 6, 17
_DISCOVERY = b"TS\xf0\x9f\x92\xac"
_BEGINS = (b"\x16\x03", b"GET /derp", b"HTTP/1.1 101")
"""A handshake of TLS; without it the request and the answer that begin DERP."""


def relayed(ports: Ports) -> OuterFlow:
    """Nothing from member to member: a proof reports any such packet."""
    servers = OuterFlow(_TCP, frozenset({ports.control, ports.relay}))
    return OuterFlow(_UDP, frozenset({ports.stun}), also=(servers,))


def direct(ports: Ports) -> OuterFlow:
    """Between members, and what goes to the servers."""
    return OuterFlow(_UDP, frozenset({ports.member}), also=(relayed(ports),))


def is_handshake(packet: OuterPacket, ports: Ports) -> bool:
    """WireGuard's handshake, discovery, STUN, what goes to the control server, and the beginning of
    DERP."""
    ends = {packet.source_port, packet.destination_port}
    if packet.protocol == _TCP:
        return ports.control in ends or packet.payload.startswith(_BEGINS)
    if ports.stun in ends or packet.payload.startswith(_DISCOVERY):
        return True
    return wireguard.is_handshake(packet)

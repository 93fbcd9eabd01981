"""Tailscale's packets on the underlay.

Between members WireGuard's, and those of the path's discovery, which start with ``TS`` and a speech
balloon (disco/disco.go of tailscale.com). To the servers HTTP, DERP in TLS or plain, and STUN.
"""

from __future__ import annotations

from culvert.vpns.headscale import control, members, relay
from culvert.vpns.outer import OuterFlow, OuterPacket
from culvert.vpns.wireguard import packet as wireguard

_TCP, _UDP = 6, 17
_DISCOVERY = b"TS\xf0\x9f\x92\xac"
_BEGINS = (b"\x16\x03", b"GET /derp", b"HTTP/1.1 101")
"""A handshake of TLS; without it the request and the answer that begin DERP."""
_SERVERS = OuterFlow(_TCP, frozenset({control.PORT, *relay.PORTS}))
RELAYED = OuterFlow(_UDP, frozenset({relay.STUN_PORT}), also=(_SERVERS,))
"""Nothing from member to member: a proof reports any such packet."""
DIRECT = OuterFlow(_UDP, frozenset({members.PORT}), also=(RELAYED,))


def is_handshake(packet: OuterPacket) -> bool:
    """WireGuard's handshake, discovery, STUN, what goes to the control server, and the beginning of
    DERP."""
    ends = {packet.source_port, packet.destination_port}
    if packet.protocol == _TCP:
        return control.PORT in ends or packet.payload.startswith(_BEGINS)
    if relay.STUN_PORT in ends or packet.payload.startswith(_DISCOVERY):
        return True
    return wireguard.is_handshake(packet)

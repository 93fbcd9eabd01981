"""Tailscale's packets on the underlay.

Between members WireGuard's, and those of the path's discovery, which start with ``TS`` and a speech
balloon (disco/disco.go of tailscale.com). To the servers HTTP, DERP in TLS or plain, and STUN.
"""

from __future__ import annotations

from culvert.vpns.authoring import OuterFlow, OuterMessage, OuterPacket
from culvert.vpns.headscale.variants import Ports
from culvert.vpns.wireguard.packet import WIREGUARD

_TCP, _UDP = 6, 17
_HTTPS = 443
_DISCOVERY = b"TS\xf0\x9f\x92\xac"
_KEY = len(_DISCOVERY) + 32
_DISCOVERED = OuterMessage(_DISCOVERY, least=_KEY + 24 + 16, noise_from=_KEY)
"""The sender's key, a nonce, a sealed box."""
_COOKIE = tuple((4 + at, 0xFF, value) for at, value in enumerate(b"\x21\x12\xa4\x42"))
_STUN = OuterMessage(fixed=((0, 0xC0, 0), *_COOKIE), least=20, most=548, step=4)
"""RFC 8489, sections 5 and 6.1."""
_BEGINS = (b"\x16\x03", b"GET /derp", b"HTTP/1.1 101")
"""A handshake of TLS; without it the request and the answer that begin DERP."""


def relayed(ports: Ports) -> OuterFlow:
    """Nothing from member to member: a proof reports any such packet. A member that waits for the
    control server tries HTTPS too (control/controlhttp)."""
    servers = OuterFlow(_TCP, frozenset({ports.control, ports.relay, _HTTPS}))
    return OuterFlow(_UDP, frozenset({ports.stun}), also=(servers,), messages=(_STUN,))


def direct(ports: Ports, mtu: int) -> OuterFlow:
    """Between members, and what goes to the servers."""
    messages = (*WIREGUARD.messages(mtu), _DISCOVERED, _STUN)
    return OuterFlow(_UDP, frozenset({ports.member}), also=(relayed(ports),), messages=messages)


def is_handshake(packet: OuterPacket, ports: Ports) -> bool:
    """WireGuard's handshake, discovery, STUN, what goes to the control server, and the beginning of
    DERP."""
    ends = {packet.source_port, packet.destination_port}
    if packet.protocol == _TCP:
        return ports.control in ends or packet.payload.startswith(_BEGINS)
    if ports.stun in ends or packet.payload.startswith(_DISCOVERY):
        return True
    return WIREGUARD.is_handshake(packet)

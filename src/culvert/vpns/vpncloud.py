"""VpnCloud 2: a peer-to-peer mesh of one program, with a shared password.

::

    outer  IP 20 | UDP 8 | key 1, nonce 7 | type 1, inner IP packet | tag 16
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network

from culvert.vpns.authoring import (
    DataCipher,
    Lab,
    Node,
    OuterMessage,
    OuterPacket,
    TunProgram,
    Variant,
)

_PORT = 3210
_HANDSHAKE = b"\xff"
_HEADER, _TYPE, _TAG = 8, 1, 16
_ELSEWHERE = IPv4Address("8.8.8.8")
"""VpnCloud takes the source address of the route to it for its own, and ends without a route."""


def _variant(name: str, algorithm: str, cipher: str, data: DataCipher) -> Variant:
    facts = {
        "algorithm": algorithm,
        "cipher": cipher,
        "key exchange": "its own, Ed25519 from the password, Curve25519",
        "transport": f"UDP {_PORT}",
    }
    return Variant(name, cipher, facts, cipher=data)


class VpnCloud(TunProgram):
    """Each source contacts the target. Peers then tell each other of all peers, so that sources
    are connected directly, too; only paths to the target are measured."""

    name = "vpncloud"
    summary = "VpnCloud, peer to peer, in user space"
    variants = (
        _variant("aes128", "AES128", "AES-128-GCM", DataCipher.AES),
        _variant("aes256", "AES256", "AES-256-GCM", DataCipher.AES),
        _variant("chacha20", "CHACHA20", "ChaCha20-Poly1305", DataCipher.CHACHA20),
    )
    ipv6_inside = True
    role = "vpncloud"
    program = "vpncloud"
    configures_device = False
    device, port = "vpncloud0", _PORT
    overhead = 20 + 8 + _HEADER + _TYPE + _TAG
    grace_s = 4.0
    """Its threads notice SIGTERM when they wake up, once a second, one after the other; then it
    notifies its peers."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self._routed: list[Node] = []

    def configure(self) -> None:
        """One password for all; no ports are opened on routers (UPnP). A node without a route to
        the internet gets one, for which it sends nothing."""
        password = secrets.token_hex(16)
        for node in self.ends:
            known = [] if node is self.target else [self.target]
            crypto = {"password": password, "algorithms": [self.variant.facts["algorithm"]]}
            configuration = {
                "device": {"type": "tun", "name": self.device},
                "listen": self.endpoint(node),
                "peers": [self.endpoint(each) for each in known],
                "crypto": crypto,
                "claims": [f"{each.ip}/{each.max_prefixlen}" for each in self.inside(node)],
                "port-forwarding": False,
            }
            node.write("vpncloud/config", json.dumps(configuration), secret=True)

        for node in self.ends:
            if node.run(["ip", "route", "get", str(_ELSEWHERE)], check=False).returncode:
                node.add_route(IPv4Network(_ELSEWHERE), device=node.underlay.device)
                self._routed.append(node)

    def stop(self, lab: Lab) -> None:
        super().stop(lab)
        while self._routed:
            node = self._routed.pop()
            node.run(["ip", "route", "del", str(_ELSEWHERE)], check=False)

    def arguments(self, node: Node) -> Sequence[str]:
        return ["--config", str(node.directory / "vpncloud/config")]

    def is_handshake(self, packet: OuterPacket) -> bool:
        return packet.payload.startswith(_HANDSHAKE)

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        """Of a handshake some parts are readable."""
        least = _HEADER + _TYPE + _TAG
        data = (OuterMessage(bytes([key]), least=least, noise_from=_HEADER) for key in range(4))
        return (OuterMessage(_HANDSHAKE, least=64), *data)

"""sing-box: a proxy with a tun device. It ends TCP connections and UDP sessions on the near node,
carries their payload in QUIC or TLS, and opens others to the inner address on the far node.

::

    application | device ── sing-box a ══ QUIC, or TLS ══ sing-box b ── lo | application
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from socket import IPPROTO_TCP, IPPROTO_UDP

from culvert.vpns.authoring import (
    Capability,
    Carried,
    DataCipher,
    Node,
    OuterMessage,
    OuterPacket,
    Process,
    TunProgram,
    Variant,
    underlay_address,
)
from culvert.vpns.parts import kill_switch
from culvert.vpns.parts.handshakes import of_quic, of_tls, quic_messages
from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind
from culvert.vpns.sing_box.protocols import (
    NAME,
    PEER,
    SERVER,
    Ends,
    Json,
    Protocol,
    new_credentials,
)

_PORT = 8443
_CONNECTION_ID = 4
"""Bytes of it in QUIC, as quic-go chooses."""
_TLS_HANDSHAKE = 2500
"""With X25519MLKEM768 and a certificate of P-384: 1.7 kB there and 2.0 kB back."""
_DEVICE, _DIRECT = "device", "direct"
_RULES = range(9000, 9011)
"""Priorities of its rules, which lead to table 2022 (tun.go and tun_linux.go of sing-tun)."""


def _variant(protocol: Protocol, summary: str, keys: str = "TLS 1.3") -> Variant:
    facts = {
        "cipher": "AES-128-GCM",
        "key exchange": keys,
        "transport": f"{'QUIC, UDP' if protocol.over_quic else 'TLS, TCP'} {_PORT}",
        "inside": "payload of TCP and UDP, no pings",
    }
    # Go's TLS chooses AES where the processor has instructions for it.
    return Variant(protocol, summary, facts, cipher=DataCipher.AES)


_OPTIONS = {kill_switch.OPTION: f"{kill_switch.HELP}, and strict_route"}


class SingBox(TunProgram):
    """Each end serves and is the other's client, so that either can begin a connection."""

    name = "sing-box"
    summary = "sing-box, a proxy with a tun device, over QUIC or TLS"
    variants = (
        _variant(Protocol.HYSTERIA2, "Hysteria 2, with BBR"),
        _variant(Protocol.TUIC, "TUIC 5, with CUBIC"),
        _variant(Protocol.VLESS, "VLESS, a TLS connection for each one inside"),
        _variant(
            Protocol.SHADOWTLS,
            "ShadowTLS 3, Shadowsocks behind a handshake of TLS for each one inside",
            keys="none: from a password, the same for all connections; TLS is a cover",
        ),
    )
    options = _OPTIONS
    kill_switch = (
        "strict_route, and Culvert's rule of nftables, because sing-box's routes end with it: what "
        "is neither to the server's port nor by the device is rejected"
    )
    tables = frozenset({"2022"})
    role = program = "sing-box"
    version_arguments = ()
    capabilities = frozenset({Capability.NET_ADMIN})
    one_source = ipv6_inside = True
    carries = Carried.PAYLOAD
    acknowledgement_bytes = 64
    """QUIC's own, with its ranges."""
    restarts_target = True
    """Its own connection to a source that is gone goes on."""
    device, port, overhead = "singbox0", _PORT, None

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self._protocol = Protocol(variant.name)
        over_quic = self._protocol.over_quic
        self.transport = IPPROTO_UDP if over_quic else IPPROTO_TCP
        self.connection_bytes = 0 if over_quic else _TLS_HANDSHAKE

    def configure(self) -> None:
        """Certificates of one authority, and the same credentials at both ends."""
        (source,), target = self.sources, self.target
        authority, known = Authority(KeyKind.SECP384R1), new_credentials()
        for node, peer in ((source, target), (target, source)):
            leads = self.lab.spec.topology.full_tunnel and node is source
            authority.equip(node, "sing-box", NAME, CertificateUsage.SERVER)
            ends = Ends(
                listen=str(underlay_address(node)),
                server=str(underlay_address(peer)),
                port=self.port,
                files=str(node.directory / "sing-box"),
                known=known,
            )
            device = {
                "type": "tun",
                "tag": _DEVICE,
                "interface_name": self.device,
                "address": [str(address) for address in self.inside(node)],
                "mtu": self.inner_mtu,
                "dns_mode": "disabled",  # else the next address, the peer's, is taken for DNS
                "auto_route": leads,
                "strict_route": kill_switch.OPTION in self.chosen,
            }
            direct = {"type": "direct", "tag": _DIRECT}
            configuration = {
                "log": {"level": "warn"},
                "inbounds": [device, *ends.inbounds(self._protocol)],
                "outbounds": [*ends.outbounds(self._protocol), direct],
                "route": {"rules": self._rules(node, peer), "auto_detect_interface": leads},
            }
            node.write("sing-box/config.json", json.dumps(configuration), secret=True)
        protocol = "udp" if self._protocol.over_quic else "tcp"
        server = f"ip daddr {underlay_address(target)} {protocol} dport {self.port}"
        kill_switch.load(self, self.sources, self.device, [server])

    def _rules(self, node: Node, peer: Node) -> Sequence[Json]:
        """From the device to the peer, from the peer to this node, and nowhere else. Without the
        first one sing-box itself answers pings of any address."""
        return (
            {"network": "icmp", "action": "reject", "method": "drop"},
            {"inbound": _DEVICE, **self._only(peer), "outbound": PEER},
            {"inbound": SERVER, **self._only(node), "outbound": _DIRECT},
            {"action": "reject"},
        )

    def _only(self, node: Node) -> Json:
        """The destinations beyond a node's end: its own, or all beyond a gateway to everything."""
        if node is self.target and self.lab.spec.topology.full_tunnel:
            return {}
        return {"ip_cidr": [str(each.ip) for each in self.inside(node)]}

    def arguments(self, node: Node) -> Sequence[str]:
        return ["run", "--disable-color", "-c", str(node.directory / "sing-box/config.json")]

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        """Remove the rules that a killed sing-box leaves; the routes end with the device."""
        for version in ("-4", "-6") if ended else ():
            rules = node.run(["ip", version, "rule"]).stdout.splitlines()
            own = [int(rule.partition(":")[0]) for rule in rules]
            lines = [f"rule delete priority {each}" for each in own if each in _RULES]
            node.run(["ip", version, "-batch", "-"], stdin="\n".join(lines))

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        """Of streams none."""
        return quic_messages(_CONNECTION_ID) if self._protocol.over_quic else ()

    def is_handshake(self, packet: OuterPacket) -> bool:
        return (of_quic if self._protocol.over_quic else of_tls)(packet.payload)

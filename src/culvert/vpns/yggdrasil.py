"""Yggdrasil: a mesh of IPv6 whose addresses are hashes of keys. Packets are encrypted from end to
end, and cross streams between peers, of TCP, TLS or QUIC.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from ipaddress import IPv6Interface
from socket import IPPROTO_TCP, IPPROTO_UDP

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from culvert.topology.ip import IpVersion
from culvert.vpns.authoring import DataCipher, Node, OuterMessage, OuterPacket, TunProgram, Variant
from culvert.vpns.parts.handshakes import of_quic, of_tls, quic_messages
from culvert.vpns.parts.pki import private_pem

_PORT = 9001
_QUIC = "quic"
_OWN_HANDSHAKE = b"meta"
_CONNECTION_ID = 4
"""Bytes of it in QUIC, as quic-go chooses."""
_ADDRESS_BITS = 112
_IPV6 = "net/ipv6/conf/default/disable_ipv6"


def _variant(name: str, summary: str, transport: str) -> Variant:
    facts = {
        "cipher": "XSalsa20-Poly1305 (NaCl's box), from end to end",
        "key exchange": "X25519, from Ed25519 keys",
        "transport": f"{transport} {_PORT}",
        "inside": "IPv6 only",
    }
    # Go's TLS chooses AES where the processor has instructions for it.
    outermost = DataCipher.OTHER if name == "tcp" else DataCipher.AES
    return Variant(name, summary, facts, cipher=outermost)


class Yggdrasil(TunProgram):
    """Each source is a peer of the target. A node's address follows from its key, so it has none of
    Culvert's."""

    name = "yggdrasil"
    summary = "Yggdrasil, a mesh of IPv6 with addresses from keys, over streams"
    variants = (
        _variant("tcp", "peers connected by TCP", "TCP"),
        _variant("tls", "peers connected by TLS 1.3, its usual way", "TLS, TCP"),
        _variant(_QUIC, "peers connected by QUIC", "QUIC, UDP"),
    )
    role = "yggdrasil"
    program = "yggdrasil"
    version_arguments = ()
    ipv6_inside = True
    device, port, overhead = "ygg0", _PORT, None

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.transport = IPPROTO_UDP if variant.name == _QUIC else IPPROTO_TCP
        self._addresses: dict[str, IPv6Interface] = {}

    @property
    def inner_version(self) -> IpVersion:
        return IpVersion.V6

    def inner_ipv6(self, node: Node) -> IPv6Interface | None:
        return self._addresses[node.name]

    def configure(self) -> None:
        """A key for each node; the target accepts those of the sources only, and they know its."""
        keys = {node.name: Ed25519PrivateKey.generate() for node in self.ends}
        public = {name: key.public_key().public_bytes_raw().hex() for name, key in keys.items()}
        self._addresses = {name: address_of(bytes.fromhex(key)) for name, key in public.items()}
        listening = f"{self.variant.name}://{self.endpoint(self.target)}"
        for node in self.ends:
            node.set_sysctl(_IPV6, "0")  # of devices that are made later
            key = node.write("yggdrasil/key", private_pem(keys[node.name]), secret=True)
            responds = node.name == self.target.name
            there = f"{listening}?key={public[self.target.name]}&maxbackoff=5s"
            configuration = {
                "PrivateKeyPath": str(key),
                "Peers": [] if responds else [there],
                "Listen": [listening] if responds else [],
                "AllowedPublicKeys": [public[peer.name] for peer in self.peers(node)],
                "MulticastInterfaces": [],
                "AdminListen": "none",
                "IfName": self.device,
                "IfMTU": self.inner_mtu,
                "NodeInfoPrivacy": True,
            }
            node.write("yggdrasil/config", json.dumps(configuration))

    def arguments(self, node: Node) -> Sequence[str]:
        return ["-useconffile", str(node.directory / "yggdrasil/config")]

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        """Of streams none."""
        return quic_messages(_CONNECTION_ID) if self.variant.name == _QUIC else ()

    def is_handshake(self, packet: OuterPacket) -> bool:
        if self.variant.name == "tcp":
            return packet.payload.startswith(_OWN_HANDSHAKE)
        return (of_quic if self.variant.name == _QUIC else of_tls)(packet.payload)


def address_of(public_key: bytes) -> IPv6Interface:
    """The byte 2, the number of the key's leading zeros, and the inverted bits behind its first one
    (Yggdrasil's src/address/address.go)."""
    inverted = int.from_bytes(public_key) ^ (1 << 8 * len(public_key)) - 1
    bits = f"{inverted:0{8 * len(public_key)}b}"
    zeros = len(bits) - len(bits.lstrip("1"))
    rest = int(bits[zeros + 1 :][:_ADDRESS_BITS], 2).to_bytes(_ADDRESS_BITS // 8)
    return IPv6Interface((bytes([2, zeros]) + rest, 7))

"""Quincy: a VPN over QUIC, each inner packet in a datagram of it (RFC 9221), TLS or Noise.

::

    outer  IP 20 | UDP 8 | QUIC's short header, datagram frame: inner IP packet, tag 16
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import ClassVar

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate

from culvert.vpns.authoring import (
    Node,
    OuterPacket,
    TunProgram,
    Variant,
    endpoint,
    underlay_address,
)
from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind

_PORT = 55555
_OVERHEAD = 20 + 8 + 50
"""Quincy itself counts 50 bytes for QUIC, the most: the header's length varies."""
_LONG_HEADER = 0x80
_SERVER = """\
name = "{device}"
interface_name = "{device}"
bind_address = "{address}"
bind_port = {port}
tunnel_network = "{inner}"
users_file = "{folder}/users.toml"
[protocol]
mode = "{mode}"
key_exchange = "{exchange}"
{keys}
[connection]
mtu = {mtu}
[log]
level = "info"
"""
_USERS = """\
[users.culvert]
address_pool = ["{inner}/32"]
{identity}
"""
_CLIENT = """\
connection_string = "{there}"
[protocol]
mode = "{mode}"
key_exchange = "{exchange}"
{keys}
[connection]
mtu = {mtu}
[network]
interface_name = "{device}"
[log]
level = "info"
"""


def _variant(name: str, exchange: str, summary: str) -> Variant:
    facts = {
        "cipher": "chosen by TLS: AES-128-GCM, AES-256-GCM or ChaCha20-Poly1305",
        "key exchange": exchange,
        "transport": f"QUIC, UDP {_PORT}",
    }
    return Variant(name, summary, facts)


class Quincy(TunProgram):
    """One program serves, another one connects; each end proves its certificate or key."""

    name = "quincy"
    summary = "Quincy, over QUIC"
    variants: ClassVar[tuple[Variant, ...]] = (
        _variant("tls", "TLS 1.3, X25519", "with certificates"),
        _variant("tls-hybrid", "TLS 1.3, X25519 with ML-KEM-768", "post-quantum, its default"),
        _variant("noise", "Noise IK, X25519", "with keys, without TLS"),
    )
    role = "quincy"
    program = "quincy-client"
    server_program = "quincy-server"
    device, port = "quincy0", _PORT

    def most_members(self) -> int | None:
        return 2

    def configure(self) -> None:
        """Certificates of one authority, or a key pair for each end."""
        (source,), target = self.sources, self.target
        mode, _, hybrid = self.variant.name.partition("-")
        of_server, of_client, identity = (
            self._certificates(source, target) if mode == "tls" else _key_pairs()
        )
        common = {
            "device": self.device,
            "mode": mode,
            "exchange": hybrid or "standard",
            "mtu": self.lab.spec.mtu - _OVERHEAD,
        }
        users = _USERS.format(inner=self.inner(source).ip, identity=identity)
        target.write("quincy/users.toml", users)
        server = _SERVER.format(
            address=underlay_address(target),
            port=self.port,
            inner=self.inner(target),
            folder=target.directory / "quincy",
            keys=of_server,
            **common,
        )
        target.write("quincy/config.toml", server, secret=True)
        there = endpoint(underlay_address(target), self.port)
        source.write(
            "quincy/config.toml", _CLIENT.format(there=there, keys=of_client, **common), secret=True
        )

    def arguments(self, node: Node) -> Sequence[str]:
        return ["--config-path", str(node.directory / "quincy/config.toml")]

    def is_handshake(self, packet: OuterPacket) -> bool:
        """Packets with QUIC's long header (RFC 9000, section 17.2)."""
        return bool(packet.payload) and bool(packet.payload[0] & _LONG_HEADER)

    def outer_length(self, inner_length: int) -> int | None:
        """QUIC acknowledges and probes by itself, and its header's length varies."""
        del inner_length
        return None

    def _certificates(self, source: Node, target: Node) -> tuple[str, str, str]:
        authority = Authority(KeyKind.SECP384R1)
        lines = []
        for node, usage in ((target, CertificateUsage.SERVER), (source, CertificateUsage.CLIENT)):
            issued = authority.issue(str(underlay_address(node)), usage)
            certificate = node.write("quincy/certificate.pem", issued.certificate)
            key = node.write("quincy/key.pem", issued.key, secret=True)
            word = "client_" if node is source else ""
            lines.append(
                f'{word}certificate_file = "{certificate}"\n{word}certificate_key_file = "{key}"'
            )
        trusted = source.write("quincy/authority.pem", authority.certificate)
        der = load_pem_x509_certificate(issued.certificate).public_bytes(Encoding.DER)
        fingerprint = f'authorized_certs = ["sha256:{hashlib.sha256(der).hexdigest()}"]'
        return lines[0], f'{lines[1]}\ntrusted_certificate_paths = ["{trusted}"]', fingerprint


def _key_pairs() -> tuple[str, str, str]:
    server, client = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    public = base64.b64encode(server.public_key().public_bytes_raw()).decode()
    user = base64.b64encode(client.public_key().public_bytes_raw()).decode()
    return (
        f'private_key = "{_encoded(server)}"',
        f'private_key = "{_encoded(client)}"\nserver_public_key = "{public}"',
        f'authorized_keys = ["{user}"]',
    )


def _encoded(key: X25519PrivateKey) -> str:
    return base64.b64encode(key.private_bytes_raw()).decode()

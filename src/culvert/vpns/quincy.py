"""Quincy: a VPN over QUIC, each inner packet in a datagram of it (RFC 9221), TLS or Noise.

::

    outer  IP 20 | UDP 8 | QUIC's short header, datagram frame: inner IP packet, tag 16
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import PurePath

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate

from culvert.topology.ip import IpVersion
from culvert.vpns.authoring import (
    DataCipher,
    Host,
    Node,
    OuterMessage,
    OuterPacket,
    Process,
    TunProgram,
    Variant,
    underlay_address,
)
from culvert.vpns.parts.handshakes import of_quic, quic_messages
from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind

_PORT = 55555
_OVERHEAD = 20 + 8 + 50
"""Quincy itself counts 50 bytes for QUIC, the most: the header's length varies."""
_CONNECTION_ID = 8
"""Bytes of it, as Quinn chooses."""
_BEGAN, _ENDED = "Created new session", "Removed last session"
_BOTH = """\
[protocol]
mode = "{mode}"
key_exchange = "{exchange}"
{keys}
[connection]
mtu = {mtu}
connection_timeout_s = 10
keep_alive_interval_s = 4
[log]
level = "info"
"""
_SERVER = """\
name = "{device}"
interface_name = "{device}"
bind_address = "{address}"
bind_port = {port}
tunnel_network = "{inner}"
users_file = "{folder}/users.toml"
"""
_USERS = """\
[users.culvert]
address_pool = ["{inner}/{length}"]
{identity}
"""
_CLIENT = """\
connection_string = "{there}"
[network]
interface_name = "{device}"
"""


def _variant(name: str, exchange: str, summary: str) -> Variant:
    facts = {
        "cipher": "AES-256-GCM" if name != "noise" else "ChaCha20-Poly1305",
        "key exchange": exchange,
        "transport": f"QUIC, UDP {_PORT}",
    }
    data = DataCipher.CHACHA20 if name == "noise" else DataCipher.AES
    return Variant(name, summary, facts, cipher=data)


class Quincy(TunProgram):
    """One program serves, another one connects; each end proves its certificate or key."""

    name = "quincy"
    summary = "Quincy, over QUIC"
    variants = (
        _variant("tls", "TLS 1.3, X25519", "with certificates"),
        _variant("tls-hybrid", "TLS 1.3, X25519 with ML-KEM-768", "post-quantum, its default"),
        _variant("noise", "Noise IK, X25519", "with keys, without TLS"),
    )
    role = "quincy"
    one_source = ipv6_inside = True
    program = "quincy-client"
    server_program = "quincy-server"
    device, port = "quincy0", _PORT
    overhead = None
    """QUIC acknowledges and probes by itself, and its header's length varies."""
    restarts_target = True
    """A client that ends does not say so."""
    up_deadline_s = 20.0
    """A server keeps the address of a client that is gone for 10 s."""

    def configure(self) -> None:
        """Certificates of one authority, or a key pair for each end."""
        (source,), target = self.sources, self.target
        mode, _, hybrid = self.variant.name.partition("-")
        of_server, of_client, identity = (
            self._certificates(source, target) if mode == "tls" else _key_pairs()
        )
        both = {
            "mode": mode,
            "exchange": hybrid or "standard",
            "mtu": self.lab.spec.mtu - _OVERHEAD,
        }
        address = self.traffic_address(source)  # it has one version inside
        users = _USERS.format(inner=address, length=address.max_prefixlen, identity=identity)
        target.write("quincy/users.toml", users)
        server = _SERVER.format(
            device=self.device,
            address=underlay_address(target),
            port=self.port,
            inner=self.inner_ipv6(target)
            if self.inner_version is IpVersion.V6
            else self.inner(target),
            folder=target.directory / "quincy",
        )
        client = _CLIENT.format(there=self.endpoint(target), device=self.device)
        for node, own, keys in ((target, server, of_server), (source, client, of_client)):
            node.write("quincy/config.toml", own + _BOTH.format(keys=keys, **both), secret=True)

    def arguments(self, node: Node) -> Sequence[str]:
        return ["--config-path", str(node.directory / "quincy/config.toml")]

    def start(self, node: Node) -> Process:
        """A client is refused while the server has its last session."""
        if node.name != self.target.name:
            (server,) = self.processes[self.target.name]
            what = f"node {self.target.name} ended the last session"
            self.await_fact(lambda: _sessions(server) == 0, server, what)
        return super().start(node)

    def version(self, host: Host) -> str:
        """From the directory of its build: it prints none."""
        path = host.run(["readlink", "-f", self._require(host, self.program)], check=False).stdout
        numbers = [part for part in PurePath(path.strip()).parts if part[:1].isdigit()]
        return numbers[0] if numbers else "unknown"

    def is_handshake(self, packet: OuterPacket) -> bool:
        return of_quic(packet.payload)

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        return quic_messages(_CONNECTION_ID)

    def _certificates(self, source: Node, target: Node) -> tuple[str, str, str]:
        authority = Authority(KeyKind.SECP384R1)
        lines = []
        for node, usage in ((target, CertificateUsage.SERVER), (source, CertificateUsage.CLIENT)):
            issued = authority.equip(node, "quincy", str(underlay_address(node)), usage)
            word, folder = "client_" if node is source else "", node.directory / "quincy"
            lines.append(
                f'{word}certificate_file = "{folder}/certificate.pem"\n'
                f'{word}certificate_key_file = "{folder}/key.pem"'
            )
        der = load_pem_x509_certificate(issued.certificate).public_bytes(Encoding.DER)
        fingerprint = f'authorized_certs = ["sha256:{hashlib.sha256(der).hexdigest()}"]'
        trusted = f'trusted_certificate_paths = ["{folder}/authority.pem"]'
        return lines[0], f"{lines[1]}\n{trusted}", fingerprint


def _sessions(server: Process) -> int:
    """Those that its log has not ended."""
    log = server.log_text()
    return log.count(_BEGAN) - log.count(_ENDED)


def _key_pairs() -> tuple[str, str, str]:
    server, client = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    public = _base64(server.public_key().public_bytes_raw())
    return (
        f'private_key = "{_base64(server.private_bytes_raw())}"',
        f'private_key = "{_base64(client.private_bytes_raw())}"\nserver_public_key = "{public}"',
        f'authorized_keys = ["{_base64(client.public_key().public_bytes_raw())}"]',
    )


def _base64(key: bytes) -> str:
    return base64.b64encode(key).decode()

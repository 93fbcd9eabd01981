"""OpenConnect's server and client (the protocol of AnyConnect): TLS for control, DTLS for data.

::

    outer  IP 20 | UDP 8 | DTLS: header 13, nonce 8 | kind 1, inner IP packet | tag 16
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Interface, IPv6Interface
from socket import IPPROTO_TCP, IPPROTO_UDP

from culvert.topology.plan import TUNNELS_IPV6
from culvert.vpns.authoring import (
    TUNNEL,
    Capability,
    DataCipher,
    Lab,
    Node,
    OuterFlow,
    OuterPacket,
    Process,
    TunProgram,
    Variant,
    underlay_address,
)
from culvert.vpns.parts.handshakes import DTLS_MESSAGES, of_tls
from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind
from culvert.vpns.parts.server import start_together

_PORT = 443
_DTLS_OVERHEAD = 20 + 8 + 13 + 8 + 1 + 16
_ESTABLISHED = "Established DTLS connection"
_SERVER = """\
auth = "certificate"
listen-host = {address}
tcp-port = {port}
{udp}
server-cert = {folder}/certificate.pem
server-key = {folder}/key.pem
ca-cert = {folder}/authority.pem
cert-user-oid = 2.5.4.3
run-as-user = root
run-as-group = root
socket-file = {folder}/socket
pid-file = {folder}/pid
use-occtl = false
isolate-workers = false
device = {device}
ipv4-network = {network}
ipv4-netmask = {netmask}
{ipv6}
mtu = {mtu}
ping-leases = false
config-per-user = {folder}/users
default-domain = culvert
keepalive = 32400
dpd = 3600
mobile-dpd = 3600
tls-priorities = "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1:-CIPHER-ALL:+AES-256-GCM"
compression = false
"""


def _variant(name: str, summary: str, transport: str) -> Variant:
    facts = {"cipher": "AES-256-GCM", "key exchange": "TLS, certificates", "transport": transport}
    return Variant(name, summary, facts, cipher=DataCipher.AES)


class Ocserv(TunProgram):
    """The target serves; the source logs in with a certificate, and gets its address from it."""

    name = "ocserv"
    summary = "OpenConnect: ocserv and openconnect, over DTLS or TLS"
    variants = (
        _variant("dtls", "data by DTLS 1.2", f"UDP {_PORT}; control by TCP {_PORT}"),
        _variant("tls", "data in the TLS connection", f"TCP {_PORT}"),
    )
    one_source = ipv6_inside = True
    role = "ocserv"
    program = "openconnect"
    server_program = "ocserv"
    configures_device = False
    capabilities = TUNNEL | {Capability.SYS_ADMIN, Capability.SETUID, Capability.SETGID}
    no_initiation = "the target has no device, and so no address to answer at, before the login"
    device, port = "vpns0", _PORT
    up_deadline_s = 90.0
    """In a few of a thousand handshakes GnuTLS 3.7.9 has read the server's last message of DTLS and
    waits for it on; openconnect gives up after 12 s, and tries again after 60 s."""

    def choose(self, lab: Lab) -> None:
        """ocserv has the beginning of the name, and appends the number 0."""
        super().choose(lab)
        self.device = self.device if self.device.endswith("0") else f"{self.device}0"

    def inner(self, node: Node) -> IPv4Interface:
        """The server has the network's first address."""
        network = self.lab.tunnels
        return IPv4Interface(f"{network[1 if node.name == self.target.name else 2]}/24")

    def inner_ipv6(self, node: Node) -> IPv6Interface | None:
        if not self.lab.spec.members_have_ipv6:
            return None
        number = 1 if node.name == self.target.name else 2
        return IPv6Interface((TUNNELS_IPV6[number], TUNNELS_IPV6.prefixlen))

    def configure(self) -> None:
        (source,), target = self.sources, self.target
        authority = Authority(KeyKind.SECP384R1)
        for node, usage in ((target, CertificateUsage.SERVER), (source, CertificateUsage.CLIENT)):
            authority.equip(node, "ocserv", str(underlay_address(node)), usage)
        inner, ipv6 = self.inner(source), self.inner_ipv6(source)
        user = f"explicit-ipv4 = {inner.ip}\n"
        user += "" if ipv6 is None else f"explicit-ipv6 = {ipv6.ip}\n"
        target.write(f"ocserv/users/{underlay_address(source)}", user)
        text = _SERVER.format(
            address=underlay_address(target),
            port=self.port,
            udp=f"udp-port = {self.port}" if self._by_udp else "",
            folder=target.directory / "ocserv",
            device=self.device.removesuffix("0"),
            network=inner.network.network_address,
            netmask=inner.netmask,
            ipv6="" if ipv6 is None else f"ipv6-network = {ipv6.network}\nipv6-subnet-prefix = 128",
            mtu=self.lab.spec.mtu,
        )
        target.write("ocserv/config", text)

    def arguments(self, node: Node) -> Sequence[str]:
        folder = node.directory / "ocserv"
        options = {
            "certificate": folder / "certificate.pem",
            "sslkey": folder / "key.pem",
            "cafile": folder / "authority.pem",
            "interface": self.device,
            "script": "true",
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        words += [] if self._by_udp else ["--no-dtls"]
        return [*words, f"https://{self.endpoint(self.target)}"]

    def listen(self, target: Node) -> None:
        """Start ocserv; a device exists from a login on."""
        argv = [self._require(target, "ocserv"), "--foreground", "--config"]
        config = str(target.directory / "ocserv/config")
        start_together(self, target, [*argv, config], "ocserv", self.port)

    def start(self, node: Node) -> Process:
        """Start openconnect; data goes by DTLS once its log has it."""
        process = super().start(node)
        if self._by_udp:
            what = f"node {node.name} had a DTLS connection"
            self.await_fact(lambda: _ESTABLISHED in process.log_text(), process, what)
        return process

    @property
    def _by_udp(self) -> bool:
        return self.variant.name == "dtls"

    @property
    def inner_mtu(self) -> int:
        """The server's device has this one, also where data goes by TLS."""
        return self.largest_packet(lambda inner_length: inner_length + _DTLS_OVERHEAD)

    @property
    def outer_flow(self) -> OuterFlow | None:
        ports = frozenset({self.port})
        stream = OuterFlow(IPPROTO_TCP, ports)
        if not self._by_udp:
            return stream
        return OuterFlow(IPPROTO_UDP, ports, also=(stream,), messages=DTLS_MESSAGES)

    def outer_length(self, inner_length: int) -> int | None:
        """A stream has no packet for each packet."""
        return inner_length + _DTLS_OVERHEAD if self._by_udp else None

    def is_handshake(self, packet: OuterPacket) -> bool:
        """All of the control connection; of DTLS, records that are not data."""
        if self._by_udp and packet.protocol == IPPROTO_TCP:
            return True
        return of_tls(packet.payload)

"""Netmaker: WireGuard between members that a control server configures over MQTT.

::

    a ── core ── control      netmaker, mosquitto, socat for TLS
         b ────┘
"""

from __future__ import annotations

import secrets
from ipaddress import IPv4Interface
from socket import IPPROTO_TCP, IPPROTO_UDP

from culvert.vpns.authoring import (
    DIRECT,
    ONLY_IPV4,
    SEE_LOG,
    Capability,
    DataPath,
    Host,
    Lab,
    Node,
    OuterFlow,
    OuterPacket,
    Path,
    Route,
    VpnError,
    package_version,
    read_go_build,
    underlay_address,
)
from culvert.vpns.netmaker import server as control_server
from culvert.vpns.netmaker.firewall import LeavesTables
from culvert.vpns.netmaker.server import Account
from culvert.vpns.netmaker.variants import MTU, VARIANTS, Ports
from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind
from culvert.vpns.wireguard.control import ControlTool
from culvert.vpns.wireguard.packet import WIREGUARD

_DIRECTORY = "netmaker"
_JOINED, _CONFIGURED = "RECEIVED JoinHostToNetwork", "adding addresses to netmaker interface"


class Netmaker(LeavesTables):
    """A member registers with a token, then its daemon gets its peers from the broker."""

    name = "netmaker"
    summary = "Netmaker: a mesh of WireGuard, configured by a control server"
    variants = VARIANTS
    role = "netmaker"
    underlays = ONLY_IPV4
    server_capabilities = frozenset({Capability.NET_BIND_SERVICE})
    """Members find the server at port 443."""
    programs = (
        *("netclient", "netmaker", "mosquitto", "mosquitto_passwd"),
        *("socat", "wg", "curl", "ping"),
    )
    by_hand = frozenset({"netclient", "netmaker"})
    direct = frozenset({"netmaker"})
    device, kernel_kind = "netmaker", "wireguard"
    port, _ports = Ports.member, Ports()
    up_deadline_s = 60.0
    rekey_deadline_s = 130.0
    """WireGuard renews the keys after 120 s."""
    joins_together = False
    """Each use of a token changes the key that the server keeps."""

    def version(self, host: Host) -> str:
        """Of the package, or of the build: the program itself would write to /etc/netclient."""
        package = package_version(host, "netclient")
        build = read_go_build(host, self.program(host, "netclient"))
        module = f"{build.version or 'of unknown version'} ({build.go})" if build else "unknown"
        return f"netclient {package or module}"

    def choose(self, lab: Lab) -> None:
        self.device, self._ports = lab.free_device(self.device), self._ports.free(lab)
        self.port = self._ports.member

    def configure(self) -> None:
        """The server's files and certificate; members keep their own /etc/netclient."""
        server, address = self.control, underlay_address(self.control)
        self._account = Account(secrets.token_hex(16), secrets.token_hex(16))
        authority = Authority(KeyKind.SECP384R1)
        issued = authority.issue(str(address), CertificateUsage.SERVER)
        settings, passwords = self._account.configuration(), self._account.passwords()
        server.write(f"{_DIRECTORY}/config.yaml", settings, secret=True)
        server.write(f"{_DIRECTORY}/passwords", passwords, secret=True)
        server.write(f"{_DIRECTORY}/tls.pem", issued.certificate + issued.key, secret=True)
        broker = control_server.broker_configuration(address, self._path(server), self._ports)
        server.write(f"{_DIRECTORY}/mosquitto.conf", broker)
        hasher = self.program(server, "mosquitto_passwd")
        server.run([hasher, "-U", f"{self._path(server)}/passwords"])
        for member in self.lab.members:
            member.keep_changes("/etc")
            member.write(f"{_DIRECTORY}/ca.pem", authority.certificate)

    def serve(self, server: Node) -> None:
        """Start broker, server and TLS; ready when it has issued a token."""
        directory, address = self._path(server), underlay_address(server)
        ports, settings = self._ports, control_server.environment(address, self._ports)
        self.launch(server, "mosquitto", "-c", f"{directory}/mosquitto.conf")
        start = f'cd "$1" && exec "{self.program(server, "netmaker")}" -c "$1/config.yaml"'
        argv = ["sh", "-c", start, "sh", directory]
        process = self.start_process(server, argv, "netmaker", settings)
        listen = f"OPENSSL-LISTEN:{ports.tls},bind={address},reuseaddr,fork,verify=0"
        self.launch(
            server, "socat", f"{listen},cert={directory}/tls.pem", f"TCP:{address}:{ports.api}"
        )
        url = f"http://{address}:{ports.api}"
        what = f"the server on node {server.name} had its database and its broker"
        self.await_fact(lambda: control_server.is_ready(server, url), process, what)
        members = len(self.lab.members)
        subnets = self.lab.tunnels.subnets(new_prefix=24 if members < 250 else 16)
        self._token = control_server.new_token(
            server, url, self._account, str(next(subnets)), members
        )

    def start(self, member: Node) -> None:
        """Register the first time, and start the daemon; up when the device has its address."""
        trust = {"SSL_CERT_FILE": f"{self._path(member)}/ca.pem"}
        # It writes its key and the broker's password to files that others may read.
        netclient = ["sh", "-c", f'umask 0177; exec {self.program(member, "netclient")} "$@"', "sh"]
        if is_new := member.name not in self.addresses:
            # The program has the token from its arguments only.
            join = [*netclient, "join", "-t", self._token, "-o", member.name, "-I", self.device]
            join += ["-e", str(underlay_address(member)), "-i", "-p", str(self.port), "-j"]
            done = member.run(join, env=trust, timeout_s=self.up_deadline_s, check=False)
            if "registered with server" not in done.stdout:
                printed = (done.stdout + done.stderr).strip()[-300:]
                raise VpnError(f"{self.id} on node {member.name}", printed, SEE_LOG)
        process = self.start_process(member, [*netclient, "daemon"], "netclient", trust)

        def address() -> IPv4Interface | None:
            """After a registration the server's first message makes it create its device anew."""
            if is_new and _CONFIGURED not in process.log_text().partition(_JOINED)[2]:
                return None
            link = member.link(self.device)
            its = link.addresses if link is not None and link.up else ()
            return next((each for each in its if isinstance(each, IPv4Interface)), None)

        what = f"{self.device} on node {member.name} had an address"
        self.addresses[member.name] = self.await_fact(address, process, what)

    def _path(self, node: Node) -> str:
        return str(node.directory / _DIRECTORY)

    def rekey(self, path: Path) -> None:
        """Wait until WireGuard renews its keys, 120 s after the last handshake."""
        source, target = self.lab.ends(path)
        self.await_new_keys(source, lambda: self._last_handshake(source, target))

    def route_to(self, node: Node, peer: Node) -> Route:
        """Direct, once WireGuard had a handshake with it."""
        self._last_handshake(node, peer)
        return DIRECT

    def _last_handshake(self, node: Node, peer: Node) -> int:
        found = ControlTool(self.device).carrier(node, self.inner(peer).ip)
        if found is None or not found.last_handshake_ns:
            where = f"{self.id} on node {node.name}"
            raise VpnError(where, f"it had no handshake with node {peer.name}", SEE_LOG)
        return found.last_handshake_ns

    @property
    def data_path(self) -> DataPath:
        """The kernel's WireGuard where there is one."""
        kernel = self._lab is not None and self.control.has("wireguard")
        return DataPath.KERNEL if kernel else DataPath.USER

    @property
    def outer_flow(self) -> OuterFlow | None:
        """WireGuard's, and what goes to the control server."""
        servers = OuterFlow(IPPROTO_TCP, frozenset({self._ports.tls, self._ports.broker}))
        return OuterFlow(IPPROTO_UDP, frozenset({self.port}), (servers,))

    def outer_length(self, inner_length: int) -> int | None:
        return WIREGUARD.outer_length(inner_length, MTU)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """WireGuard's, and what goes to the control server."""
        return packet.protocol == IPPROTO_TCP or WIREGUARD.is_handshake(packet)

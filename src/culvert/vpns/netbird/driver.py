"""NetBird: WireGuard in user space between members that a control server introduces to each other.

::

    a ── core ─┬ control    netbird-server: management, signal
         b ────┤
               └ relay      netbird-relay: STUN, and what cannot go direct, over WebSocket
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import cached_property

from culvert.vpns.authoring import (
    DIRECT,
    SEE_LOG,
    AssigningMeshVpn,
    Host,
    Lab,
    Node,
    OuterFlow,
    OuterPacket,
    Path,
    Policy,
    Process,
    Role,
    Route,
    VpnError,
    log_tail,
    underlay_address,
)
from culvert.vpns.netbird import daemon
from culvert.vpns.netbird import packet as outer
from culvert.vpns.netbird import server as control_server
from culvert.vpns.netbird.daemon import Daemon, PeerPath
from culvert.vpns.netbird.server import Account, Rules
from culvert.vpns.netbird.variants import MTU, VARIANTS, Ports
from culvert.vpns.parts.http import answers
from culvert.vpns.wireguard.packet import WIREGUARD

_SSH_CONFIG = "/etc/ssh/ssh_config.d"
"""It writes nothing there, but removes what another NetBird has written."""


class NetBird(AssigningMeshVpn):
    """The daemon's JSON interface starts a member and reports its state."""

    name = "netbird"
    summary = "NetBird: a mesh of WireGuard in user space with ICE, signal server and relay"
    variants = VARIANTS
    role = "netbird"
    programs = ("netbird", "netbird-server", "netbird-relay", "curl", "ping")
    firewall_tables = frozenset({daemon.FIREWALL_TABLE})
    device = "wt0"
    port, ports = Ports.member, Ports()
    up_deadline_s = 40.0
    grace_s = 10.0
    """A daemon notifies its peers and its servers when it ends."""
    rekey_deadline_s = 130.0
    """WireGuard renews the keys after 120 s."""

    def version(self, host: Host) -> str:
        printed = host.run([self.program(host, daemon.PROGRAM), "version"]).stdout
        return f"NetBird {printed.strip()}"

    # -- its life ----------------------------------------------------------------------------------

    def choose(self, lab: Lab) -> None:
        self.device, self.ports = lab.free_device(self.device), self.ports.free(lab)
        self.port = self.ports.member

    def configure(self) -> None:
        """The server's configuration. No daemon changes the machine's SSH configuration."""
        control, relay = (underlay_address(each) for each in (self.control, self.relay))
        directory = str(self.control.directory / "netbird")
        self._relay_secret = secrets.token_hex(16)
        text = control_server.configuration(
            control, relay, self._relay_secret, directory, self.ports
        )
        self.control.write("netbird/server.yaml", text, secret=True)
        for member in self.lab.members:
            if member.exists(_SSH_CONFIG):
                member.keep_changes(_SSH_CONFIG)

    def serve(self, server: Node) -> None:
        """Start it; ready when the relay is healthy, or the control server has issued a key."""
        if server.role is Role.RELAY:
            settings = control_server.relay_environment(
                underlay_address(server), self._relay_secret, self.ports
            )
            health = f"http://127.0.0.1:{self.ports.health}/health"
            self._launch(server, ["netbird-relay"], settings, health)
            return
        argv = ["netbird-server", "--config", str(server.directory / "netbird/server.yaml")]
        self._launch(server, argv, control_server.ENVIRONMENT, f"{self._url}/api/instance")
        self._account = Account.create(server, self._url, self.lab.tunnels)
        self.setup_key = self._account.new_setup_key()

    def _launch(
        self, server: Node, argv: Sequence[str], settings: Mapping[str, str], url: str
    ) -> None:
        process = self.launch(server, *argv, env=settings)
        what = f"{url} answered on node {server.name}"
        self.await_fact(lambda: answers(server, url), process, what)

    def start(self, member: Node) -> None:
        """Start the daemon and log in; up when it is connected to all servers."""
        servers = map(underlay_address, (self.control, self.relay))
        settings = daemon.environment(member, servers, relayed=not self.claims_direct)
        process = self.launch(member, daemon.PROGRAM, *daemon.ARGUMENTS, env=settings)
        where, its = f"the daemon on node {member.name}", self._daemon(member)
        self.await_fact(lambda: bool(its.status()), process, f"{where} answered")
        try:
            its.configure(self.device, self.port, ipv6=self.lab.spec.members_have_ipv6)
            its.log_in(self._url, self.setup_key)
            its.call("Up")
        except VpnError as error:
            why = f"it did not join: {error.why}{log_tail(process)}"
            raise VpnError(f"{self.id} on node {member.name}", why, error.remedy) from error
        self.addresses[member.name] = self.await_fact(
            lambda: its.status().address,
            process,
            f"{where} was connected to all servers",
            evidence=lambda: str(its.status()),
        )

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        if ended and node in self.lab.members:
            daemon.sweep(node)

    def drop(self, path: Path) -> None:
        """The source's daemon disconnects from all peers and removes its interface."""
        self._daemon(self.lab.nodes[path.source]).call("Down")

    def resume(self, path: Path) -> None:
        self._daemon(self.lab.nodes[path.source]).call("Up")
        self.await_path(path)

    def rekey(self, path: Path) -> None:
        """Wait until WireGuard renews its keys, 120 s after the last handshake."""
        source, target = self.lab.ends(path)
        its, address = self._daemon(source), self.inner(target).ip
        self.await_new_keys(source, lambda: its.status().handshake(address))

    def apply_policy(self, policy: Policy) -> None:
        """Replace the rules of the server's policy, which it distributes."""
        self._rules.apply(policy)

    @cached_property
    def _rules(self) -> Rules:
        return Rules(self._account, {name: each.ip for name, each in self.addresses.items()})

    @property
    def _url(self) -> str:
        return control_server.url_of(underlay_address(self.control), self.ports)

    def _daemon(self, member: Node) -> Daemon:
        return Daemon(member, self.up_deadline_s)

    # -- what the proof needs ----------------------------------------------------------------------

    def route_to(self, node: Node, peer: Node) -> Route:
        """By the connection's type in the daemon's status."""
        connection = self._daemon(node).status().connection(self.inner(peer).ip)
        if connection is PeerPath.NONE:
            where = f"{self.id} on node {node.name}"
            raise VpnError(where, f"it has no connection to node {peer.name}", SEE_LOG)
        return DIRECT if connection is PeerPath.DIRECT else Route(self.relay.name)

    @property
    def outer_flow(self) -> OuterFlow | None:
        """To the servers, and if it is direct between members."""
        return (outer.direct if self.claims_direct else outer.relayed)(self.ports)

    def outer_length(self, inner_length: int) -> int | None:
        """WireGuard's; unknown in the relay's TCP connection."""
        return WIREGUARD.outer_length(inner_length, MTU) if self.claims_direct else None

    def is_handshake(self, packet: OuterPacket) -> bool:
        """WireGuard's, direct or in the relay's frames, and the servers' part of it."""
        return outer.is_handshake(packet, self.ports)

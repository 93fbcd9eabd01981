"""innernet: a mesh of WireGuard; members get each other's keys and endpoints from a server, through
their tunnel to it. Each is invited once, by a file, and then has an identity of its own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Interface, IPv4Network

from culvert.vpns.authoring import (
    DataCipher,
    Lab,
    Node,
    ProgramEnded,
    Role,
    Variant,
    VpnError,
    listens,
)
from culvert.vpns.wireguard.managed import ManagedWireGuard

PROGRAM, SERVER = "innernet", "innernet-server"
NETWORK = "culvert"
"""Of the network, and so of the device."""
INTERVAL_S = 5
"""Between two queries of the server for changes."""
_STARTS = 3
"""It ends if the server does not answer its first query in time; its service starts it again."""
_HOSTS = "innernet/hosts"
_STATE = tuple(f"innernet/{NETWORK}.{kind}" for kind in ("conf", "db", "json"))
_INVITED_FOR = "1d"
_INSTALL_S = 30.0
"""It waits for five seconds itself, after it has changed its key, and as long for handshakes."""


class Innernet(ManagedWireGuard):
    """A member's port is fixed, as the server's is."""

    name = "innernet"
    summary = "innernet, a WireGuard mesh with a server for keys and endpoints, without relays"
    variants = (
        Variant(
            "innernet",
            "with the current wireguard-go",
            {
                "cipher": "ChaCha20-Poly1305",
                "key exchange": "Noise IKpsk2, Curve25519, BLAKE2s",
                "control": f"HTTP inside the tunnel to the server, every {INTERVAL_S} s "
                "(its service: 60 s)",
                "relay": "none",
            },
            cipher=DataCipher.CHACHA20,
            needs=(Role.CONTROL,),
        ),
    )
    role = "innernet"
    programs = (PROGRAM, SERVER)
    device = NETWORK
    mtu = 1280
    up_deadline_s = 40.0

    # -- its life ----------------------------------------------------------------------------------

    def choose(self, lab: Lab) -> None:
        """The port; the device has the network's name."""
        self.port = lab.free_port(self.port)

    def configure(self) -> None:
        """A network on the server, and an invitation for each member."""
        for node in (self._server, *self.lab.members):
            node.write(_HOSTS, "")
            for file in _STATE:  # it overwrites none of them
                node.remove(str(node.directory / file))
        server, port = self._server, str(self.port)
        reached = self.endpoint(server)
        new = ["new", "--network-name", NETWORK, "--network-cidr", str(self.lab.tunnels)]
        self._manage(server, *new, "--external-endpoint", reached, "--listen-port", port)
        group = ["--name", "members", "--cidr", str(self._members), "--parent", NETWORK, "--yes"]
        self._manage(server, "add-cidr", NETWORK, *group)
        for member in self.lab.members:
            file = f"innernet/{member.name}.toml"
            words = ["--name", member.name, "--ip", str(self.inner(member).ip), "--cidr", "members"]
            words += ["--admin", "false", "--yes", "--invite-expires", _INVITED_FOR]
            saved = str(server.directory / file)
            self._manage(server, "add-peer", NETWORK, *words, "--save-config", saved)
            invitation = _with_port(server.text(saved), self.port)
            member.write(file, invitation, secret=True)
            server.remove(saved)

    def serve(self, server: Node) -> None:
        """Start it; members can join when it listens inside its tunnel."""
        self.start_device(server)
        argv = [*self._command(server, SERVER), "serve", NETWORK, *self._hosts(server)]
        process = self.start_process(server, [*argv, "--backend", "userspace"], SERVER)
        what = f"{SERVER} on node {server.name} listened inside the tunnel"
        self.await_fact(lambda: listens(server, process.pid, self.port), process, what)

    def join(self, member: Node) -> None:
        """Redeem the invitation, the first time; then start it. It has joined when it has queried
        the server."""
        self.start_device(member)
        command = self._command(member, PROGRAM)
        invitation = str(member.directory / f"innernet/{member.name}.toml")
        if member.exists(invitation):
            words = ["install", invitation, "--default-name", "--delete-invite"]
            try:
                self._run(member, [*command, *words, *self._hosts(member)])
            except VpnError:
                self._stop_processes(member)  # innernet has removed the device
                raise
        words = ["up", NETWORK, "--daemon", "--interval", str(INTERVAL_S), *self._hosts(member)]
        for _ in range(_STARTS - 1):
            with suppress(ProgramEnded):
                return self._start(member, [*command, *words])
        return self._start(member, [*command, *words])

    def _start(self, member: Node, argv: Sequence[str]) -> None:
        process = self.start_process(member, argv, PROGRAM)
        what = f"node {member.name} got the peers from the server and reported its addresses"
        try:
            self.await_fact(lambda: "candidates" in process.log_text(), process, what)
        except ProgramEnded:
            self.processes[member.name].remove(process)
            raise

    def _manage(self, server: Node, *words: str) -> None:
        self._run(server, [*self._command(server, SERVER), *words])

    def _command(self, node: Node, name: str) -> list[str]:
        """The program with directories of the node's."""
        place = str(node.directory / "innernet")
        return [self._require(node, name), "-c", place, "-d", place, "--backend", "userspace"]

    def _run(self, node: Node, argv: Sequence[str]) -> None:
        done = node.run(argv, timeout_s=self.up_deadline_s + _INSTALL_S, check=False)
        if done.returncode:
            printed = (done.stdout + done.stderr).strip().splitlines()[-3:]
            raise VpnError(
                f"{self.id} on node {node.name}",
                f"{argv[7]} failed: {' | '.join(printed)}",
                "see whether UDP to the server passes, and the server's log",
            )

    def _hosts(self, node: Node) -> list[str]:
        """Where it writes the members' names: never to /etc/hosts, which all nodes share."""
        return ["--hosts-path", str(node.directory / _HOSTS)]

    @property
    def _server(self) -> Node:
        return self.lab.of_role(Role.CONTROL)[0]

    @property
    def _members(self) -> IPv4Network:
        """The second half of the network: the server has an address in the first."""
        return next(reversed(list(self.lab.tunnels.subnets(1))))

    # -- what the proof needs ----------------------------------------------------------------------

    def inner(self, node: Node) -> IPv4Interface:
        """From its position among the members, in their half of the network."""
        names = [member.name for member in self.lab.members]
        prefix = self.lab.tunnels.prefixlen
        return IPv4Interface(f"{self._members[names.index(node.name) + 1]}/{prefix}")


def _with_port(invitation: str, port: int) -> str:
    """The invitation with a port for the member: otherwise it is random."""
    return invitation.replace("[interface]\n", f"[interface]\nlisten-port = {port}\n", 1)

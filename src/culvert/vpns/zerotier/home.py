"""ZeroTier on one node: its directory, made before it starts, and its own command line."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from ipaddress import IPv4Interface

from culvert.topology.ip import Address
from culvert.vpns.authoring import Node
from culvert.vpns.zerotier import status, world
from culvert.vpns.zerotier.world import Identity

ONE, CLI, IDTOOL = "zerotier-one", "zerotier-cli", "zerotier-idtool"
_DIRECTORY = "zerotier"
_PUBLIC = "identity.public"
_GENERATE_S = 60.0
"""An address is the hash of its key with a proof of work: some take seconds."""


@dataclass(frozen=True)
class Home:
    """The program's directory on a node. Queries raise VpnError for output of another form."""

    node: Node
    identity: Identity
    port: int
    """UDP; of TCP for its control interface."""

    @classmethod
    def new(cls, node: Node, port: int) -> Home:
        argv = [_tool(node, IDTOOL), "generate"]
        printed = node.run(argv, timeout_s=_GENERATE_S).stdout
        return cls(node, Identity.parse(printed), port)

    @property
    def path(self) -> str:
        return str(self.node.directory / _DIRECTORY)

    def write(self, planet: bytes, local_conf: str) -> None:
        """Identity, the token of its control interface, the planet and the settings."""
        self._file("identity.secret", self.identity.secret, secret=True)
        self._write_public()
        self._file("authtoken.secret", secrets.token_hex(16), secret=True)
        self._file("planet", planet)
        self._file("local.conf", local_conf)

    def planet(self, root: Address) -> bytes:
        """A planet with this node as its root at that address."""
        idtool = _tool(self.node, IDTOOL)
        self._write_public()
        moon = self.node.run([idtool, "initmoon", f"{self.path}/{_PUBLIC}"]).stdout
        self._file("planet.json", world.planet(moon, root, self.port), secret=True)
        script = 'cd "$1" && exec "$2" genmoon planet.json'
        self.node.run(["sh", "-c", script, "sh", self.path, idtool])
        return self.node.read(f"{self.path}/{world.PLANET_FILE}")

    def enter(self, network: str, device: str) -> None:
        """The next start joins a network, with this device."""
        self._file("devicemap", f"{network}={device}\n")
        self._file(f"networks.d/{network}.conf", "")

    def token(self) -> str:
        return self.node.text(f"{self.path}/authtoken.secret")

    def cli(self, *words: str) -> str:
        """What zerotier-cli prints; nothing if the program does not answer."""
        argv = [_tool(self.node, CLI), f"-D{self.path}", *words]
        return self.node.run(argv, check=False).stdout

    def answers(self) -> bool:
        return self.cli("-j", "info").startswith("{")

    def state(self) -> status.NodeState:
        return status.node_state(self.cli("-j", "info"))

    def has_joined(self, network: str, address: IPv4Interface) -> bool:
        """Whether the controller has admitted it, with this address."""
        return str(address) in status.assigned(self.cli("-j", "listnetworks"), network)

    def network_status(self, network: str) -> str:
        return status.network_status(self.cli("-j", "listnetworks"), network)

    def endpoint(self, peer: Identity) -> status.Endpoint:
        """Where packets to a peer go; None: to the root."""
        return status.endpoint(self.cli("-j", "peers"), peer.address)

    def _write_public(self) -> None:
        """Public, but a part of the secret file."""
        self._file(_PUBLIC, self.identity.public, secret=True)

    def _file(self, name: str, content: str | bytes, *, secret: bool = False) -> None:
        self.node.write(f"{_DIRECTORY}/{name}", content, secret=secret)


def _tool(node: Node, name: str) -> str:
    return node.require(name, "culvert install zerotier")

"""Nebula's variants, options, configuration of a node, and its rules; JSON is YAML
(examples/config.yml in the source).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

from culvert.errors import UsageError
from culvert.topology.graph import SERVERS
from culvert.topology.ip import Address
from culvert.vpns.authoring import (
    DataCipher,
    Node,
    Policy,
    Role,
    Variant,
    Vpn,
    endpoint,
    hang_up,
    kept_relayed,
    underlay_address,
)
from culvert.vpns.nebula import console
from culvert.vpns.nebula.certificates import AUTHORITY, CERTIFICATE, KEY
from culvert.vpns.nebula.console import Consoles

PROGRAM = "nebula"
PORT = 4242
DEVICE = "nebula0"
CONFIG = "nebula/config.yml"
ANY = {"port": "any", "proto": "any", "host": "any"}


@dataclass(frozen=True)
class Server:
    """A server's role, its address inside the mesh, and that on the underlay."""

    role: Role
    inner: IPv4Address
    underlay: Address


@dataclass(frozen=True)
class Mesh:
    """What all nodes of a mesh have in common. ``only_relayed``: members accept no address on the
    underlay but the servers' (lighthouse.remote_allow_list), so no path becomes direct."""

    servers: Sequence[Server]
    cipher: str
    mtu: int
    only_relayed: bool
    device: str = DEVICE
    port: int = PORT
    console_port: int = console.PORT
    behind: Sequence[IPv4Network] = ()
    """Networks behind the ``gateway``, a member's address inside the mesh."""
    gateway: IPv4Address | None = None

    def configuration(self, node: Node) -> dict[str, Any]:
        """The configuration of a member or a server, with a new key for its console."""
        place = node.directory
        return {
            "pki": {
                "ca": str(place / AUTHORITY),
                "cert": str(place / CERTIFICATE),
                "key": str(place / KEY),
            },
            "static_host_map": {
                str(server.inner): [endpoint(server.underlay, self.port)] for server in self.servers
            },
            "lighthouse": self._lighthouse(node),
            "listen": {"host": str(underlay_address(node)), "port": self.port},
            "punchy": {"punch": True, "respond": True},
            "relay": self._relay(node),
            "cipher": self.cipher,
            "tun": {
                "disabled": node.role in SERVERS,
                "dev": self.device,
                "mtu": self.mtu,
                "unsafe_routes": self._routes(node),
            },
            "firewall": {
                "outbound": [ANY],
                "inbound": [ANY],
                "default_local_cidr_any": bool(self.behind),
            },
            "sshd": console.configure(node, self.console_port),
        }

    def _routes(self, node: Node) -> list[dict[str, str]]:
        if node.role is not Role.CLIENT:
            return []
        return [{"route": str(each), "via": str(self.gateway)} for each in self.behind]

    def _lighthouse(self, node: Node) -> dict[str, Any]:
        lighthouse = node.role is Role.CONTROL
        found: dict[str, Any] = {
            "am_lighthouse": lighthouse,
            "hosts": [] if lighthouse else self._inner(Role.CONTROL),
            # Otherwise it advertises every address of the node, other VPNs' included.
            "local_allow_list": _only([underlay_address(node)]),
        }
        if self.only_relayed and node.role not in SERVERS:
            found["remote_allow_list"] = _only([server.underlay for server in self.servers])
        return found

    def _relay(self, node: Node) -> dict[str, Any]:
        relay = node.role is Role.RELAY
        own = [] if node.role in SERVERS else self._inner(Role.RELAY)
        return {"am_relay": relay, "use_relays": bool(own), "relays": own}

    def _inner(self, role: Role) -> list[str]:
        return [str(server.inner) for server in self.servers if server.role is role]


def _only(addresses: Iterable[Address]) -> dict[str, bool]:
    """An allow list of these addresses alone."""
    allowed = {f"{each}/{each.max_prefixlen}": True for each in addresses}
    return {"0.0.0.0/0": False, "::/0": False, **allowed}


def apply_policy(vpn: Vpn, policy: Policy, consoles: Consoles) -> None:
    """Replace the rules for what arrives in each member's configuration, which it reads again on
    SIGHUP; that ends the sessions of its console."""
    for node in vpn.lab.members:
        configuration = json.loads(node.read(str(node.directory / CONFIG)))
        configuration["firewall"]["inbound"] = inbound(vpn, node, policy)
        node.write(CONFIG, json.dumps(configuration, indent=1))
    for node in vpn.lab.members:
        hang_up(node, vpn.processes[node.name][0])
        consoles.close(node)


def inbound(vpn: Vpn, node: Node, policy: Policy) -> Sequence[dict[str, str]]:
    """The rules for what arrives at a node."""
    if policy.everything:
        return [ANY]
    return [
        {
            "port": "any" if permit.port is None else str(permit.port),
            "proto": permit.protocol.value,
            "cidr": f"{vpn.inner(vpn.lab.nodes[permit.source]).ip}/32",
        }
        for permit in policy.permits
        if permit.target == node.name
    ]


RELAY: Final = "relay"
FALLBACK: Final = "fallback"
CIPHERS: Mapping[DataCipher | None, str] = {
    DataCipher.AES: "aes",
    DataCipher.CHACHA20: "chachapoly",
}
"""The values of the setting ``cipher``, which is the same on all nodes."""

_FACTS = {"key exchange": "Noise IX, X25519, certificates by Ed25519", "transport": f"UDP {PORT}"}
_AES = {**_FACTS, "cipher": "AES-256-GCM"}
_CHACHA = {**_FACTS, "cipher": "ChaCha20-Poly1305"}
_ONLY_RELAYED = kept_relayed("lighthouse.remote_allow_list (only the servers' addresses)")
_AT_HAND = {"relay": "at hand, used while no direct path works (relay.relays)"}
_DIRECT, _RELAYED = (Role.CONTROL,), (Role.CONTROL, Role.RELAY)

VARIANTS: tuple[Variant, ...] = (
    Variant("aes", "direct, AES-GCM", _AES, DataCipher.AES, needs=_DIRECT),
    Variant("chacha", "direct, ChaCha20-Poly1305", _CHACHA, DataCipher.CHACHA20, needs=_DIRECT),
    Variant(
        RELAY, "by a relay, AES-GCM", {**_AES, **_ONLY_RELAYED}, DataCipher.AES, needs=_RELAYED
    ),
)
OPTIONS: Mapping[str, str] = {FALLBACK: "with a relay, used while the direct path fails"}


def chosen(variant: Variant, options: frozenset[str]) -> Variant:
    """The variant with options; raises UsageError if it cannot have them."""
    if FALLBACK not in options:
        return variant
    if variant.name == RELAY:
        raise UsageError(
            f"nebula/{RELAY}+{FALLBACK}", "never has a direct path", f"use nebula/aes+{FALLBACK}"
        )
    return replace(variant, facts={**variant.facts, **_AT_HAND}, needs=_RELAYED)

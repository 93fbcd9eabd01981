"""Nebula's variants, options, configuration of a node, and its rules; JSON is YAML
(examples/config.yml in the source).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from culvert.errors import UsageError
from culvert.json_text import read_json
from culvert.topology.graph import SERVERS
from culvert.vpns.authoring import (
    DataCipher,
    MeshVpn,
    Node,
    Policy,
    Role,
    Variant,
    Vpn,
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
_MTU = 1300
"""Of the device, by default (tun.mtu)."""
ANY = {"port": "any", "proto": "any", "host": "any"}


def configuration(vpn: MeshVpn, node: Node, console_port: int) -> dict[str, Any]:
    """The configuration of a member or a server, with a new key for its console."""
    place, behind = node.directory, vpn.lab.behind
    return {
        "pki": {
            "ca": str(place / AUTHORITY),
            "cert": str(place / CERTIFICATE),
            "key": str(place / KEY),
        },
        "static_host_map": {
            str(vpn.inner(server).ip): [vpn.endpoint(server)]
            for server in vpn.lab.of_role(*SERVERS)
        },
        "lighthouse": _lighthouse(vpn, node),
        "listen": {"host": str(underlay_address(node)), "port": vpn.port},
        "punchy": {"punch": True, "respond": True},
        "relay": _relay(vpn, node),
        "cipher": _CIPHERS[vpn.variant.cipher],
        "tun": {
            "disabled": node.role in SERVERS,
            "dev": vpn.device,
            "mtu": min(_MTU, vpn.lab.spec.mtu - (vpn.outer_length(0) or 0)),
            "unsafe_routes": _routes(vpn) if node.role is Role.CLIENT else [],
        },
        "firewall": {
            "outbound": [ANY],
            "inbound": [ANY],
            "default_local_cidr_any": bool(behind),
        },
        "sshd": console.configure(node, console_port),
    }


def _routes(vpn: MeshVpn) -> list[dict[str, str]]:
    """To the networks behind the gateway."""
    via = _inside(vpn, Role.GATEWAY)[:1]
    return [{"route": str(each), "via": gateway} for each in vpn.lab.behind for gateway in via]


def _lighthouse(vpn: MeshVpn, node: Node) -> dict[str, Any]:
    """Members of a relayed variant accept no address on the underlay but the servers'
    (lighthouse.remote_allow_list), so no path becomes direct."""
    lighthouse = node.role is Role.CONTROL
    found: dict[str, Any] = {
        "am_lighthouse": lighthouse,
        "hosts": [] if lighthouse else _inside(vpn, Role.CONTROL),
        # Otherwise it advertises every address of the node, other VPNs' included.
        "local_allow_list": _only(node),
    }
    if not vpn.claims_direct and node.role not in SERVERS:
        found["remote_allow_list"] = _only(*vpn.lab.of_role(*SERVERS))
    return found


def _relay(vpn: MeshVpn, node: Node) -> dict[str, Any]:
    relay = node.role is Role.RELAY
    own = [] if node.role in SERVERS else _inside(vpn, Role.RELAY)
    return {"am_relay": relay, "use_relays": bool(own), "relays": own}


def _inside(vpn: MeshVpn, role: Role) -> list[str]:
    """Addresses inside the mesh."""
    return [str(vpn.inner(node).ip) for node in vpn.lab.of_role(role)]


def _only(*nodes: Node) -> dict[str, bool]:
    """An allow list of these nodes' addresses on the underlay alone."""
    addresses = map(underlay_address, nodes)
    allowed = {f"{each}/{each.max_prefixlen}": True for each in addresses}
    return {"0.0.0.0/0": False, "::/0": False, **allowed}


def apply_policy(vpn: Vpn, policy: Policy, consoles: Consoles) -> None:
    """Replace the rules for what arrives in each member's configuration, which it reads again on
    SIGHUP; that ends the sessions of its console."""
    for node in vpn.lab.members:
        configuration = read_json(node.read(str(node.directory / CONFIG)))
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
_CIPHERS: Mapping[DataCipher | None, str] = {
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

"""Configuration, keys and certificates on the nodes of a strongSwan."""

from __future__ import annotations

import secrets

from culvert.topology.ip import Address
from culvert.vpns.authoring import Node, TunnelVpn, underlay_address
from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind
from culvert.vpns.strongswan import config
from culvert.vpns.strongswan.config import CONNECTION, IkeConnection, IkeEnd
from culvert.vpns.strongswan.variants import Choice


def write_all(vpn: TunnelVpn, choice: Choice) -> None:
    """The daemon's configuration, connections, and keys for each node."""
    leads = vpn.lab.spec.topology.full_tunnel
    daemon = config.daemon_config(in_kernel=choice.in_kernel, upkeep=choice.upkeep, leads=leads)
    authority = Authority(KeyKind.ED25519) if choice.certificates else None
    shared = {each.name: None if authority else secrets.token_hex(32) for each in vpn.sources}
    for node in vpn.ends:
        initiates = node.name != vpn.target.name
        connections = [
            IkeConnection(
                # An initiator has only one connection, under a fixed name.
                CONNECTION if initiates else f"{CONNECTION}-{peer.name}",
                _end_of(vpn, choice, node),
                _end_of(vpn, choice, peer),
                initiates,
                shared[node.name if initiates else peer.name],
                "own.pem",
                leads=leads,
            )
            for peer in vpn.peers(node)
        ]
        text = config.connections_config(
            choice.carriage, connections, choice.upkeep, choice.ike_proposal
        )
        node.write("strongswan/strongswan.conf", daemon)
        node.write("strongswan/swanctl.conf", text, secret=True)
        if authority is not None:
            own = authority.issue(
                node.name, CertificateUsage.CLIENT if initiates else CertificateUsage.SERVER
            )
            node.write("strongswan/x509ca/authority.pem", authority.certificate)
            node.write("strongswan/x509/own.pem", own.certificate)
            node.write("strongswan/private/own.pem", own.key, secret=True)


def _end_of(vpn: TunnelVpn, choice: Choice, node: Node) -> IkeEnd:
    inner = vpn.inner(node).ip
    outer = inner if choice.carriage.transport else underlay_address(node)
    networks = list(vpn.lab.behind)
    if vpn.is_hub:
        networks.append(vpn.inner(node).network)
    responds = node.name == vpn.target.name
    return IkeEnd(node.name, outer, [*inside(vpn, choice, node), *(networks if responds else [])])


def inside(vpn: TunnelVpn, choice: Choice, node: Node) -> list[Address]:
    """A node's addresses inside, which are the tunnel's selectors: only charon's routes lead to the
    peer. In the kernel, and as a client's default route, it carries IPv4 alone."""
    only_ipv4 = choice.in_kernel or vpn.lab.spec.topology.full_tunnel
    ipv6 = None if only_ipv4 else vpn.inner_ipv6(node)
    return [vpn.inner(node).ip, *([] if ipv6 is None else [ipv6.ip])]

"""Keys and configuration files on the nodes of an OpenVPN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from culvert.vpns.authoring import Node, TunnelVpn, underlay_address
from culvert.vpns.openvpn import config
from culvert.vpns.openvpn.choice import Choice
from culvert.vpns.openvpn.config import CertificateFiles, Tunnel, TunnelEnds
from culvert.vpns.openvpn.seats import Seat, dealt_to
from culvert.vpns.openvpn.up import socket_of
from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind

CONFIG = "openvpn/config"


def config_of(number: int) -> str:
    """The configuration of a node's process of that number."""
    return f"{CONFIG}{number or ''}"


def write_all(
    vpn: TunnelVpn, choice: Choice, version: tuple[int, int], seats: Sequence[Seat]
) -> None:
    """Of the server's processes, on the VPN's target, and of its clients, which are dealt to them
    in turn."""

    def tunnel(client: Node, seat: Seat) -> Tunnel:
        return Tunnel(
            choice,
            version,
            TunnelEnds(
                underlay_address(vpn.target),
                vpn.inner(client),
                vpn.inner(vpn.target),
                vpn.inner_ipv6(client),
                vpn.inner_ipv6(vpn.target),
            ),
            device=seat.device,
            port=seat.port,
            leads=vpn.lab.spec.topology.full_tunnel,
            behind=vpn.lab.behind,
        )

    dealt = [
        [(client, tunnel(client, seat)) for client in dealt_to(vpn, seats, number)]
        for number, seat in enumerate(seats)
    ]
    if choice.static_key:
        _write_static_key(vpn.target, dealt[0])
    else:
        _write_certificates(vpn.target, dealt)


def _write_certificates(server: Node, dealt: Sequence[Sequence[tuple[Node, Tunnel]]]) -> None:
    authority = Authority(KeyKind.SECP384R1)
    own = _write_credential(server, authority, CertificateUsage.SERVER)
    for number, clients in enumerate(dealt):
        for client, tunnel in clients:
            entry = server.write(
                f"openvpn/clients{number or ''}/{client.name}", config.client_entry(tunnel)
            )
            files = _write_credential(client, authority, CertificateUsage.CLIENT)
            # A client's own device is the first; the server's is the process's.
            own_tunnel = replace(tunnel, device=dealt[0][0][1].device)
            text = config.client_config(own_tunnel, files, server.name, socket_of(client))
            client.write(CONFIG, text)
        text = config.server_config(tunnel, own, entry.parent, socket_of(server, number))
        server.write(config_of(number), text)


def _write_static_key(server: Node, clients: Sequence[tuple[Node, Tunnel]]) -> None:
    ((client, tunnel),) = clients
    key = config.new_static_key()
    for node, make in (
        (client, config.static_client_config),
        (server, config.static_server_config),
    ):
        path = node.write("openvpn/static.key", key, secret=True)
        node.write(CONFIG, make(tunnel, path, socket_of(node)))


def _write_credential(
    node: Node, authority: Authority, usage: CertificateUsage
) -> CertificateFiles:
    credential = authority.issue(node.name, usage)
    both = credential.certificate + credential.key
    return CertificateFiles(
        authority=node.write("openvpn/ca.crt", authority.certificate),
        identity=node.write("openvpn/identity.pem", both, secret=True),
    )

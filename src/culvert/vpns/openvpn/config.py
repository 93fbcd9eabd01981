"""Configuration files and static keys for OpenVPN: pure text, in the format of openvpn(8)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network, IPv6Interface
from pathlib import Path

from culvert.topology.ip import Address
from culvert.vpns.openvpn.choice import (
    PING_RESTART_S,
    PING_S,
    PORT,
    RENEGOTIATION_S,
    Choice,
    Transport,
)

DEVICE = "tun0"
KILL_SWITCH = (
    "persist-tun, and a rule of nftables as block-outside-dns is one of Windows: what is neither "
    "by the device nor to the server's port is rejected"
)

_STATIC_KEY_BYTES = 256
_BYTES_A_LINE = 16


@dataclass(frozen=True)
class TunnelEnds:
    """Addresses of the underlay, and inside the tunnel. The client initiates."""

    server: Address
    client_inner: IPv4Interface
    server_inner: IPv4Interface
    client_ipv6: IPv6Interface | None = None
    server_ipv6: IPv6Interface | None = None


@dataclass(frozen=True)
class Tunnel:
    """Parameters that both ends share."""

    choice: Choice
    version: tuple[int, int]
    """OpenVPN's; what it decides is in its release notes (Changes.rst)."""
    ends: TunnelEnds
    device: str = DEVICE
    port: int = PORT
    leads: bool = False
    """It is the client's default route."""
    behind: tuple[IPv4Network, ...] = ()
    """Networks behind the server."""


@dataclass(frozen=True)
class CertificateFiles:
    """Paths of the authority's certificate, and of an end's own certificate with the private
    key."""

    authority: Path
    identity: Path


def server_config(tunnel: Tunnel, files: CertificateFiles, clients: Path, management: Path) -> str:
    """``clients`` is a folder with a file per client (see ``client_entry``): no others are
    accepted."""
    inner = tunnel.ends.server_inner
    return _lines(
        _common(tunnel, management, "server"),
        f"local {tunnel.ends.server}",
        f"port {tunnel.port}",
        "mode server",
        "tls-server",
        "topology subnet",
        'push "topology subnet"',
        f"ifconfig {inner.ip} {inner.netmask}",
        *_ipv6("ifconfig-ipv6", tunnel.ends.server_ipv6, tunnel.ends.client_ipv6),
        *([f'push "route-gateway {inner.ip}"'] if tunnel.behind else []),
        *(f'push "route {one.network_address} {one.netmask}"' for one in tunnel.behind),
        f"client-config-dir {_quoted(clients)}",
        "ccd-exclusive",
        "remote-cert-tls client",
        "dh none",
        *_tls(tunnel, files),
    )


def client_entry(tunnel: Tunnel) -> str:
    """The address that the server assigns to the client."""
    inner = tunnel.ends.client_inner
    pushed = _ipv6("ifconfig-ipv6-push", tunnel.ends.client_ipv6, tunnel.ends.server_ipv6)
    return _lines(f"ifconfig-push {inner.ip} {inner.netmask}", *pushed)


def client_config(
    tunnel: Tunnel, files: CertificateFiles, server_name: str, management: Path
) -> str:
    """The client of ``server_config``."""
    return _lines(
        _common(tunnel, management, "client"),
        "client",
        f"remote {tunnel.ends.server} {tunnel.port}",
        "nobind",
        "remote-cert-tls server",
        f"verify-x509-name {server_name} name",
        *_default_route(tunnel),
        *_tls(tunnel, files, renegotiation_s=RENEGOTIATION_S if tunnel.choice.renegotiates else 0),
    )


def static_server_config(tunnel: Tunnel, key: Path, management: Path) -> str:
    """Point to point with a static key: the responder."""
    ends = tunnel.ends
    return _lines(
        _common(tunnel, management, "server"),
        f"local {ends.server}",
        f"port {tunnel.port}",
        f"ifconfig {ends.server_inner.ip} {ends.client_inner.ip}",
        *_ipv6("ifconfig-ipv6", ends.server_ipv6, ends.client_ipv6),
        *_static(tunnel, key, direction=0),
    )


def static_client_config(tunnel: Tunnel, key: Path, management: Path) -> str:
    """Point to point with a static key: the initiator."""
    ends = tunnel.ends
    return _lines(
        _common(tunnel, management, "client"),
        f"remote {ends.server} {tunnel.port}",
        "nobind",
        f"ifconfig {ends.client_inner.ip} {ends.server_inner.ip}",
        *_ipv6("ifconfig-ipv6", ends.client_ipv6, ends.server_ipv6),
        *_default_route(tunnel),
        *_static(tunnel, key, direction=1),
    )


def new_static_key() -> str:
    """A static key in the form of ``openvpn --genkey secret``: 2048 random bits."""
    key = secrets.token_bytes(_STATIC_KEY_BYTES)
    rows = (key[at : at + _BYTES_A_LINE].hex() for at in range(0, len(key), _BYTES_A_LINE))
    name = "OpenVPN Static key V1"
    return _lines(f"-----BEGIN {name}-----", *rows, f"-----END {name}-----")


def _common(tunnel: Tunnel, management: Path, side: str) -> str:
    version = tunnel.ends.server.version
    words: Mapping[Transport, str] = {
        Transport.UDP: f"udp{version}",
        Transport.TCP: f"tcp{version}-{side}",
    }
    return "\n".join(
        (
            f"dev {tunnel.device}",
            "dev-type tun",
            f"proto {words[tunnel.choice.transport]}",
            f"management {_quoted(management)} unix",
            "verb 3",
            "auth SHA256",
            _pings(tunnel),
            *tunnel.choice.settings.lines(),
            # From 2.6 on the data channel moves into the kernel if possible.
            *(("disable-dco",) if tunnel.version >= (2, 6) and not tunnel.choice.offloaded else ()),
        )
    )


def _default_route(tunnel: Tunnel) -> tuple[str, ...]:
    """Routes to both halves of all addresses, and one to the server beside the tunnel."""
    persistent = ("persist-tun",) if tunnel.choice.kill_switch else ()
    if not tunnel.leads:
        return persistent
    ipv6 = " ipv6" if tunnel.ends.client_ipv6 is not None else ""
    gateway = f"route-gateway {tunnel.ends.server_inner.ip}"
    return (gateway, f"redirect-gateway def1{ipv6}", *persistent)


def _pings(tunnel: Tunnel) -> str:
    if tunnel.choice.keepalive:
        return f"keepalive {PING_S} {PING_RESTART_S}"
    # Without pings there must be no restart, which is a client's default after 120 seconds
    # without a packet.
    return "ping-restart 0"


def _tls(tunnel: Tunnel, files: CertificateFiles, *, renegotiation_s: int = 0) -> tuple[str, ...]:
    return (
        f"ca {_quoted(files.authority)}",
        f"cert {_quoted(files.identity)}",
        f"key {_quoted(files.identity)}",
        "tls-version-min 1.3",
        *(f"tls-groups {group}" for group in tunnel.choice.groups[:1]),
        # Only requested renegotiations, so that only measured packets cross the underlay.
        f"reneg-sec {renegotiation_s}",
        "reneg-bytes 0",
        "reneg-pkts 0",
        # The only cipher offered: the ends agree on it or fail.
        f"data-ciphers {tunnel.choice.cipher.value}",
        f"cipher {tunnel.choice.cipher.value}",
    )


def _static(tunnel: Tunnel, key: Path, *, direction: int) -> tuple[str, ...]:
    return (
        f"secret {_quoted(key)} {direction}",
        f"cipher {tunnel.choice.cipher.value}",
        *(("allow-deprecated-insecure-static-crypto",) if tunnel.version >= (2, 7) else ()),
    )


def _ipv6(option: str, own: IPv6Interface | None, other: IPv6Interface | None) -> tuple[str, ...]:
    return () if own is None or other is None else (f"{option} {own} {other.ip}",)


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _lines(*lines: str) -> str:
    return "\n".join(lines) + "\n"

"""WireGuard's configuration protocol: text over a unix socket.

Source: https://www.wireguard.com/xplatform/#configuration-protocol. Keys are hexadecimal, and
go through the socket only, so that they are never an argument of a command.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from culvert.topology.ip import Subnet
from culvert.vpns.authoring import VpnError

Pair = tuple[str, str]
Dial = Callable[[], socket.socket]
"""Connects to the implementation's socket; raises OSError if no program listens."""
_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class PeerState:
    """What an implementation reports about a peer. ``last_handshake_ns`` is 0 before the first."""

    public_key: str
    last_handshake_ns: int
    tx_bytes: int
    rx_bytes: int
    allowed: tuple[Subnet, ...] = ()
    """Addresses whose packets go to this peer."""


@dataclass(frozen=True)
class DeviceState:
    """What an implementation reports about itself. ``listen_port`` is 0 until a socket is bound."""

    listen_port: int
    peers: tuple[PeerState, ...]


def configure(dial: Dial, pairs: Sequence[Pair]) -> None:
    """Apply ``pairs``, all or none if the implementation supports that.

    Raises VpnError if it refuses or does not answer.
    """
    try:
        reply = _exchange(dial, [("set", "1"), *pairs])
    except OSError as error:
        raise VpnError(
            "WireGuard's configuration socket",
            f"does not answer: {error.strerror or error}",
            "see the log of wireguard-go for why it ended",
        ) from error
    code = int(dict(reply).get("errno", "0"))
    if code:
        reason = os.strerror(abs(code))
        remedy = (
            "stop the program that uses the UDP port on this node"
            if abs(code) == errno.EADDRINUSE
            else "this is a fault in the driver or an incompatible wireguard-go: report it"
        )
        raise VpnError("WireGuard's configuration", f"refused: {reason}", remedy)


def state(dial: Dial) -> DeviceState:
    """Read the state; raises VpnError if the program refuses, OSError if it does not answer."""
    reply = _exchange(dial, [("get", "1")])
    if dict(reply).get("errno", "0") != "0":
        raise VpnError("WireGuard's state", "refused", "restart the tunnel")
    return parse_state(reply)


def parse_state(reply: Sequence[Pair]) -> DeviceState:
    """A reply to ``get=1``: the device's keys, then those of each peer after its public key."""
    listen_port = 0
    peers: list[dict[str, str]] = []
    allowed: list[list[Subnet]] = []
    for key, value in reply:
        if key == "public_key":
            peers.append({key: value})
            allowed.append([])
        elif key == "allowed_ip":
            allowed[-1].append(ip_network(value))
        elif key == "listen_port":
            listen_port = int(value)
        elif peers:
            peers[-1][key] = value
    return DeviceState(
        listen_port,
        tuple(
            PeerState(
                public_key=peer["public_key"],
                last_handshake_ns=int(peer.get("last_handshake_time_sec", "0")) * 1_000_000_000
                + int(peer.get("last_handshake_time_nsec", "0")),
                tx_bytes=int(peer.get("tx_bytes", "0")),
                rx_bytes=int(peer.get("rx_bytes", "0")),
                allowed=tuple(networks),
            )
            for peer, networks in zip(peers, allowed, strict=True)
        ),
    )


def format_request(pairs: Sequence[Pair]) -> bytes:
    """Lines of ``key=value`` and an empty one."""
    return "".join(f"{key}={value}\n" for key, value in [*pairs]).encode() + b"\n"


def parse_reply(text: bytes) -> list[Pair]:
    """The reverse of format_request; a line without ``=`` raises ValueError."""
    pairs = []
    for line in text.decode().splitlines():
        if line:
            key, equals, value = line.partition("=")
            if not equals:
                raise ValueError(f"not key=value: {line[:40]!r}")
            pairs.append((key, value))
    return pairs


def _exchange(dial: Dial, request: Sequence[Pair]) -> list[Pair]:
    with dial() as connection:
        connection.settimeout(_TIMEOUT_S)
        connection.sendall(format_request(request))
        received = bytearray()
        while not received.endswith(b"\n\n"):
            chunk = connection.recv(65536)
            if not chunk:
                break
            received += chunk
    try:
        return parse_reply(bytes(received))
    except ValueError as error:
        raise VpnError(
            "WireGuard's configuration socket", str(error), "check which program owns it"
        ) from error

"""tailscaled's local API: HTTP over its unix socket, as the program ``tailscale`` uses it.

Source: ipn/localapi and ipn/ipnstate of tailscale.com; ``usermetrics`` is what ``tailscale metrics
print`` shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv4Address
from typing import Any

from culvert.json_text import read_json
from culvert.vpns.authoring import SEE_LOG, Node, RouteCount, VpnError
from culvert.vpns.parts.http import exchange

_HOST = "local-tailscaled.sock"
_PREFIX = "/localapi/v0"
_TIMEOUT_S = 5.0
_RUNNING = "Running"
_PACKETS = re.compile(r'^tailscaled_outbound_packets_total\{path="([a-z0-9_]+)"\} (\d+)', re.M)
_DIRECT = "direct_"
"""Prefix of the paths without a relay; the others are ``derp`` and ``peer_relay_...``."""


@dataclass(frozen=True)
class Peer:
    """Another member, as a member knows it."""

    current_address: str
    """Its address and port on the underlay if the path is direct; else empty."""
    relay: str
    """The code of its home region: known before any packet, and whether it is used or not."""
    last_handshake: str
    """Time of the last WireGuard handshake, as text."""


@dataclass(frozen=True)
class MemberStatus:
    """``state`` is the backend's: NeedsLogin, Starting, Running, Stopped ..."""

    state: str
    relay: str
    """The code of its own home region; empty before it has one."""
    addresses: tuple[IPv4Address, ...]
    health: tuple[str, ...]
    peers: Mapping[IPv4Address, Peer]
    """By inner address."""

    @property
    def connected(self) -> bool:
        """Whether it has an address, and a relay."""
        return self.state == _RUNNING and bool(self.addresses) and bool(self.relay)

    @property
    def described(self) -> str:
        """For a reader of an error."""
        paths = (
            f"{address}: {peer.current_address or f'through relay {peer.relay}'}"
            for address, peer in self.peers.items()
        )
        return "; ".join((f"state {self.state}", *paths, *self.health))


class LocalApi:
    """Requests to the tailscaled of a node; ``path`` is its socket.

    If it does not answer, those that waits repeat raise OSError; ``peers``, ``sent``,
    ``want`` and ``use_exit`` raise VpnError.
    """

    def __init__(self, node: Node, path: str) -> None:
        self._node = node
        self._path = path

    def status(self) -> MemberStatus:
        answer = read_json(self._request("GET", "/status"))
        peers = {
            address: Peer(peer["CurAddr"], peer["Relay"], peer["LastHandshake"])
            for peer in (answer.get("Peer") or {}).values()
            for address in _v4(peer)
        }
        own = answer.get("Self") or {}
        return MemberStatus(
            answer["BackendState"],
            own.get("Relay", ""),
            _v4(own),
            tuple(answer.get("Health") or ()),
            peers,
        )

    def peers(self) -> Mapping[IPv4Address, Peer]:
        """The other members now, by inner address."""
        with self._answering():
            return self.status().peers

    def peer(self, address: IPv4Address) -> Peer | None:
        """The other member of that inner address; None if it is not known."""
        return self.status().peers.get(address)

    def knows(self, address: IPv4Address) -> bool:
        """Whether the other member is known, with its relay."""
        peer = self.peer(address)
        return peer is not None and bool(peer.relay)

    def reaches_directly(self, address: IPv4Address) -> bool:
        """Whether the path to a member that is known is direct; if not, discovery packets are sent
        to all its addresses, as by ``tailscale ping``."""
        peer = self.peer(address)
        if peer is None or not peer.relay:
            return False
        if not peer.current_address:
            self._request("POST", f"/ping?ip={address}&type=disco")
        return bool(peer.current_address)

    def last_handshake(self, address: IPv4Address) -> str:
        """The time of the last WireGuard handshake with another member; empty if unknown."""
        peer = self.peer(address)
        return "" if peer is None else peer.last_handshake

    def sent(self) -> RouteCount:
        """WireGuard packets that it has sent since its start, by their path."""
        with self._answering():
            text = self._request("GET", "/usermetrics")
        counts = {path: int(number) for path, number in _PACKETS.findall(text)}
        direct = sum(count for path, count in counts.items() if path.startswith(_DIRECT))
        return RouteCount(direct=direct, relayed=sum(counts.values()) - direct)

    def want(self, *, running: bool) -> None:
        """``tailscale up`` and ``tailscale down`` of a member that is registered."""
        self._prefer("WantRunning", running)

    def use_exit(self, address: IPv4Address) -> None:
        """``tailscale set --exit-node``: everything goes to that member, now and after a start."""
        self._prefer("ExitNodeIP", str(address))

    def _prefer(self, name: str, value: object) -> None:
        body = json.dumps({name: value, f"{name}Set": True})
        with self._answering():
            self._request("PATCH", "/prefs", body)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Of a program that was killed, or is stopped, the error is the VPN's."""
        try:
            yield
        except OSError as error:
            raise VpnError(
                f"tailscaled on node {self._node.name}", f"no answer: {error}", SEE_LOG
            ) from error

    def _request(self, method: str, path: str, body: str | None = None) -> str:
        dialled, where = self._node.dial(self._path), f"tailscaled on node {self._node.name}"
        try:
            status, text = exchange(
                dialled, method, _PREFIX + path, body, host=_HOST, deadline_s=_TIMEOUT_S
            )
        except OSError as error:
            raise ConnectionError(f"{where}: {error}") from error
        if status >= HTTPStatus.BAD_REQUEST:
            raise VpnError(where, f"refused {method} {path}: {text.strip()}", SEE_LOG)
        return text


def _v4(member: Mapping[str, Any]) -> tuple[IPv4Address, ...]:
    texts = member.get("TailscaleIPs") or ()
    return tuple(IPv4Address(text) for text in texts if ":" not in text)

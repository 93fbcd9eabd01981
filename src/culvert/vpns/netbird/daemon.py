"""NetBird's daemon on a member: how it starts, its JSON interface on a unix socket, and its report
of its connections.

``relayAddress`` is set for direct connections too; ``relayed`` decides. Sources:
client/proto/daemon.proto and client/cmd/service_json_socket.go of NetBird 0.76.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Interface
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from culvert.topology.ip import Address
from culvert.vpns.authoring import Node, VpnError
from culvert.vpns.parts.http import request_at_socket

_CONNECTED = "Connected"


class PeerPath(StrEnum):
    """How packets to a peer travel."""

    NONE = "not connected"
    DIRECT = "direct"
    RELAYED = "relayed"


class _Server(BaseModel):
    connected: bool


class _Relay(BaseModel):
    """The list has the STUN server too, which is no relay and needs UDP."""

    available: bool
    uri: str = Field(default="", alias="URI")

    @property
    def counts(self) -> bool:
        return not self.uri.startswith("stun:")


class _Local(BaseModel):
    address: IPv4Interface | Literal[""] = Field(alias="IP")


class _Peer(BaseModel):
    address: IPv4Address = Field(alias="IP")
    state: str = Field(alias="connStatus")
    relayed: bool
    handshake: str | None = Field(default=None, alias="lastWireguardHandshake")


class _Full(BaseModel):
    management: _Server = Field(alias="managementState")
    signal: _Server = Field(alias="signalState")
    local: _Local = Field(alias="localPeerState")
    peers: tuple[_Peer, ...]
    relays: tuple[_Relay, ...]


class _Answer(BaseModel):
    full: _Full = Field(alias="fullStatus")


class Status:
    """A member's status. Raises VpnError if the answer has another form."""

    def __init__(self, answer: object) -> None:
        try:
            self._full = _Answer.model_validate(answer).full
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise VpnError(
                "NetBird's status", f"{where}: {first['msg']}", "use NetBird 0.75 to 0.80"
            ) from error

    @property
    def address(self) -> IPv4Interface | None:
        """The member's address in the VPN if it is connected to every server; else None."""
        full = self._full
        servers = full.management.connected and full.signal.connected
        relays = [relay for relay in full.relays if relay.counts]
        available = bool(relays) and all(relay.available for relay in relays)
        return (full.local.address or None) if servers and available else None

    def connection(self, address: IPv4Address) -> PeerPath:
        """That to the peer with this address."""
        for peer in self._full.peers:
            if peer.address == address and peer.state == _CONNECTED:
                return PeerPath.RELAYED if peer.relayed else PeerPath.DIRECT
        return PeerPath.NONE

    def handshake(self, address: IPv4Address) -> str | None:
        """The time of the last WireGuard handshake with the peer, as the program writes it."""
        return next((each.handshake for each in self._full.peers if each.address == address), None)

    def __str__(self) -> str:
        full = self._full
        return (
            f"control server {'' if full.management.connected else 'not '}connected, signal "
            f"{'' if full.signal.connected else 'not '}connected, "
            f"{sum(relay.available for relay in full.relays)} of {len(full.relays)} relays, "
            f"{sum(peer.state == _CONNECTED for peer in full.peers)} of {len(full.peers)} peers"
        )


PROGRAM = "netbird"
_SOCKET, _JSON_SOCKET = "/run/netbird.sock", "/run/netbird-json.sock"
ARGUMENTS = (
    *("service", "run", "--log-file", "console", "--enable-json-socket"),
    *("--daemon-addr", f"unix://{_SOCKET}", "--json-socket", f"unix://{_JSON_SOCKET}"),
)


FIREWALL_TABLE = "culvert"
"""Its table of nftables. By default it is ``netbird``, and it removes another NetBird's."""


def environment(member: Node, servers: Iterable[Address], *, relayed: bool) -> Mapping[str, str]:
    """Its settings: WireGuard in user space, no file outside its directory, connections to all
    peers at once; ``relayed``: only through the relay."""
    return {
        "NB_STATE_DIR": f"{member.directory}/netbird/",
        "NB_WG_KERNEL_DISABLED": "true",
        "NB_LAZY_CONN": "off",
        "NB_NFTABLES_TABLE": FIREWALL_TABLE,
        "NB_RELAY_TRANSPORT": "ws",  # QUIC needs TLS
        "NB_DISABLE_NAT_MAPPER": "true",
        "NB_DISABLE_SSH_CONFIG": "true",
        # Neither rules and marks with a name in /etc/iproute2/rt_tables, nor routes to its peers.
        "NB_DISABLE_CUSTOM_ROUTING": "true",
        # It sends requests to the metadata addresses of ten clouds: a proxy refuses them.
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": ",".join(map(str, servers)),
        **({"NB_FORCE_RELAY": "true"} if relayed else {}),
    }


def sweep(member: Node) -> None:
    """Remove the table, which a killed daemon leaves, of IPv4 and IPv6; no error if there is
    none."""
    nft = member.find("nft")
    for family in ("ip", "ip6") if nft else ():
        member.run([str(nft), "delete", "table", family, FIREWALL_TABLE], check=False)


@dataclass(frozen=True)
class Daemon:
    """That of a member. Methods raise OSError if it does not listen, VpnError if it refuses."""

    member: Node
    deadline_s: float

    def configure(self, device: str, port: int, *, ipv6: bool) -> None:
        """Before it joins: Login has the same fields, but ignores them."""
        names = {"profileName": "default", "interfaceName": device, "wireguardPort": port}
        wishes = {"disableAutoConnect": True, "disableDns": True, "disableIpv6": not ipv6}
        self.call("SetConfig", {**names, **wishes})

    def log_in(self, url: str, setup_key: str) -> None:
        """Join the control server's network; the key is needed for the first time only."""
        names = {"managementUrl": url, "setupKey": setup_key, "hostname": self.member.name}
        self.call("Login", names)

    def call(self, method: str, body: Mapping[str, object] | None = None) -> Any:
        """Call a method of its service: Up connects to all peers, Down disconnects."""
        path = f"/daemon.DaemonService/{method}"
        return request_at_socket(
            self.member, _JSON_SOCKET, path, body or {}, deadline_s=self.deadline_s
        )

    def status(self) -> Status:
        return Status(self.call("Status", {"getFullPeerStatus": True}))

"""NetBird's own report of its connections: the status in its daemon's JSON interface.

``relayAddress`` is set for direct connections too; ``relayed`` decides. Source: FullStatus in
client/proto/daemon.proto of NetBird 0.76.
"""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Interface
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from culvert.vpns.authoring import VpnError

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

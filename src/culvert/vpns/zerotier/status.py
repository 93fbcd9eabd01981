"""ZeroTier's own report: peers with their paths, and networks, as zerotier-cli prints them.

A peer to which no path is active is reached through the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from culvert.vpns.authoring import SEE_LOG, VpnError

T = TypeVar("T")
Endpoint = IPv4Address | IPv6Address | None
_OK = "OK"
_OTHER_VERSION = "use ZeroTier 1.14"


class NodeState(BaseModel):
    """``online``: a root answers. ``tunneled``: the connection to a TCP relay is open."""

    online: bool
    tunneled: bool = Field(alias="tcpFallbackActive")


class _Path(BaseModel):
    active: bool
    preferred: bool
    address: str


class _Peer(BaseModel):
    address: str
    paths: tuple[_Path, ...]


class _Network(BaseModel):
    id: str
    status: str
    addresses: tuple[str, ...] = Field(alias="assignedAddresses")


_PEERS: TypeAdapter[Sequence[_Peer]] = TypeAdapter(Sequence[_Peer])
_NETWORKS: TypeAdapter[Sequence[_Network]] = TypeAdapter(Sequence[_Network])
_INFO = TypeAdapter(NodeState)


def endpoint(printed: str, peer: str) -> Endpoint:
    """Where a peer's packets go: the underlay address of the preferred active path to it; None
    without one. Raises VpnError if the peer is unknown, or for output of another form."""
    peers = [each for each in _parsed(_PEERS, printed) if each.address == peer]
    if not peers:
        raise VpnError(f"ZeroTier's peer {peer}", "is not connected", SEE_LOG)
    used = [path.address for path in peers[0].paths if path.active and path.preferred]
    if not used:
        return None
    try:
        return ip_address(used[0].partition("/")[0])
    except ValueError as error:
        raise VpnError("zerotier-cli", f"{used[0]!r} is not an endpoint", _OTHER_VERSION) from error


def assigned(printed: str, network: str) -> frozenset[str]:
    """A member's addresses in a network, as texts; empty before the controller has admitted it."""
    networks = (each for each in _parsed(_NETWORKS, printed) if each.id == network)
    return frozenset(each for one in networks if one.status == _OK for each in one.addresses)


def network_status(printed: str, network: str) -> str:
    """The state of a network in the program's words."""
    found = (each.status for each in _parsed(_NETWORKS, printed) if each.id == network)
    return next(found, "not joined")


def node_state(printed: str) -> NodeState:
    """That of a node, from ``info``."""
    return _parsed(_INFO, printed)


def _parsed(adapter: TypeAdapter[T], printed: str) -> T:
    try:
        return adapter.validate_json(printed)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "its output"
        raise VpnError("zerotier-cli", f"{where}: {first['msg']}", _OTHER_VERSION) from error

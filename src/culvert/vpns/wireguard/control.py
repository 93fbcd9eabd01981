"""WireGuard's configuration and state: through a program's socket, or the kernel's (see
``tool``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import ClassVar

from culvert.vpns.authoring import Node, VpnError
from culvert.vpns.wireguard import uapi
from culvert.vpns.wireguard.uapi import DeviceState, Pair, PeerState


class Control(ABC):
    """One device name, on any node."""

    resolution_ns: ClassVar[int]
    """Resolution of the time of the last handshake."""

    def __init__(self, device: str) -> None:
        self.device = device

    @abstractmethod
    def configure(self, node: Node, pairs: Sequence[Pair]) -> None:
        """Apply ``pairs``, in the keys of ``uapi``. Raises VpnError if they are refused."""

    @abstractmethod
    def state(self, node: Node) -> DeviceState:
        """The device's state. Raises OSError if the program does not answer (yet), VpnError if it
        refuses."""

    def peer(self, node: Node, public_key: str) -> PeerState:
        """The peer of that key (hexadecimal); raises VpnError if there is none."""
        for peer in self.state(node).peers:
            if peer.public_key == public_key:
                return peer
        raise VpnError(f"WireGuard on node {node.name}", "has no such peer", "report this")

    def carrier(self, node: Node, address: IPv4Address) -> PeerState | None:
        """The peer that packets for an inner address are encrypted for: of the smallest network
        that has it; None if there is none."""
        carrying = [
            (network.prefixlen, peer.public_key, peer)
            for peer in self.state(node).peers
            for network in peer.allowed
            if address in network
        ]
        return max(carrying)[2] if carrying else None

    def traffic(self, node: Node, public_key: str) -> str:
        """Bytes sent to and received from a peer, in words."""
        try:
            peer = self.peer(node, public_key)
        except (OSError, VpnError):
            return "WireGuard does not answer any more"
        return f"{peer.tx_bytes} bytes sent to the peer, {peer.rx_bytes} received"


class ControlSocket(Control):
    """For a program in user space."""

    resolution_ns = 1

    @property
    def path(self) -> str:
        """Path of the socket on the node."""
        return f"/run/wireguard/{self.device}.sock"

    def configure(self, node: Node, pairs: Sequence[Pair]) -> None:
        uapi.configure(lambda: node.dial(self.path), pairs)

    def state(self, node: Node) -> DeviceState:
        return uapi.state(lambda: node.dial(self.path))

"""VPNs whose program has a tun device on each member and one UDP port."""

from __future__ import annotations

from ipaddress import IPv4Network
from socket import IPPROTO_UDP
from typing import ClassVar

from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.vpns.base import Vpn
from culvert.vpns.facts import path_of_device
from culvert.vpns.outer import OuterFlow, OuterMessage
from culvert.vpns.parts.taken import refuse_taken
from culvert.vpns.variant import DataPath


class TunDevice(Vpn):
    """Declares what follows for the proof. ``port`` is at one end, at least, of each packet.
    A driver whose program can use another device or port sets them in ``choose()``."""

    device: str
    port: int
    fixed_range: ClassVar[IPv4Network | None] = None
    """Of the members' addresses, if it is not the lab's network for tunnels."""

    def prepare(self, lab: Lab) -> None:
        """Also refuse a range that a member's interfaces have already."""
        super().prepare(lab)
        for member in lab.members:
            refuse_taken(self.id, member, self.fixed_range or lab.tunnels)

    def interface(self, node: Node) -> str:
        """The tun device."""
        del node
        return self.device

    @property
    def data_path(self) -> DataPath:
        """User space: a program encrypts."""
        return DataPath.USER

    def determine_data_path(self, node: Node) -> DataPath:
        """From the kind of the interface."""
        return path_of_device(self.id, node, self.device, kernel_kind=self.name)

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        """All kinds of its messages on that port; see ``OuterFlow``."""
        return ()

    @property
    def outer_flow(self) -> OuterFlow | None:
        """UDP with the program's port at one end."""
        return OuterFlow(IPPROTO_UDP, frozenset({self.port}), messages=self.messages)

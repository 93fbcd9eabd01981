"""VPNs that manage WireGuard: a program of theirs configures wireguard-go on each member.

Packets go from member to member without a relay.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import ClassVar

from culvert.vpns.authoring import (
    DIRECT,
    Host,
    Missing,
    Node,
    OuterMessage,
    OuterPacket,
    Path,
    Process,
    Route,
    TunDevice,
    VpnError,
    log_tail,
    missing_tun,
    wait_for_ping,
)
from culvert.vpns.wireguard.control import ControlSocket
from culvert.vpns.wireguard.device import CURRENT
from culvert.vpns.wireguard.packet import WIREGUARD
from culvert.vpns.wireguard.uapi import PeerState


class ManagedWireGuard(TunDevice):
    """The device's MTU is fixed; the first of ``programs`` manages it."""

    port = 51820
    mtu: ClassVar[int]
    joins_together = True

    @property
    def control(self) -> ControlSocket:
        """The device's configuration, for reading only."""
        return ControlSocket(self.device)

    # -- requirements ------------------------------------------------------------------------------

    def missing(self, host: Host) -> list[Missing]:
        """Its programs, the current wireguard-go, and /dev/net/tun."""
        found = {name: host.find(name) for name in self.programs} | {
            CURRENT.name: CURRENT.find(host)
        }
        lacking = [Missing.to_install(name, self.id) for name, path in found.items() if not path]
        return [*lacking, *missing_tun(host)]

    def version(self, host: Host) -> str:
        """Versions of its program, and of the one that carries the data and decides the
        throughput."""
        own = super().version(host).removeprefix(f"{self.programs[0]} ")
        return f"{own}, {CURRENT.name} {CURRENT.version(self, host)}"

    # -- its life ----------------------------------------------------------------------------------

    def start_device(self, node: Node) -> None:
        """Start wireguard-go, which the managing program then configures."""
        CURRENT.start(self, node, self.device)

    def reach(self, path: Path) -> None:
        """Start the source if it does not run; up when it has a session with the target and a ping
        is answered."""
        source, target = self.lab.ends(path)
        if not self.processes[source.name]:
            self.join(source)
        address = self.inner(target).ip
        managing = self.processes[source.name][-1]
        what = f"node {source.name} had node {target.name} as a peer"
        self.await_fact(lambda: self.carrier(source, address), managing, what)
        wait_for_ping(self.id, source, address, managing, deadline_s=self.up_deadline_s)

    def carrier(self, node: Node, address: IPv4Address) -> PeerState | None:
        """The peer of an inner address; None if there is none yet."""
        return self.control.carrier(node, address)

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        del ended
        node.remove(self.control.path)  # wireguard-go removes it unless it was killed

    # -- what the proof needs ----------------------------------------------------------------------

    def determine_route(self, path: Path) -> Route:
        """Direct: there are no relays, so a session with the peer that has the target's address is
        one with the target."""
        source, target = self.lab.ends(path)
        try:
            carrier = self.carrier(source, self.inner(target).ip)
        except OSError:
            carrier = None
        if carrier is None or not carrier.last_handshake_ns:
            raise VpnError(
                f"{self.id} on node {source.name}",
                f"it has no session with node {target.name}"
                + "".join(log_tail(each) for each in self.processes[source.name][-1:]),
                "allow UDP between the two nodes: this VPN has no relay",
            )
        return DIRECT

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        return WIREGUARD.messages(self.mtu)

    def outer_length(self, inner_length: int) -> int | None:
        """As WireGuard's, padded to 16 bytes but never beyond the device's MTU."""
        return WIREGUARD.outer_length(inner_length, self.mtu)

    def is_handshake(self, packet: OuterPacket) -> bool:
        ports = {packet.source_port, packet.destination_port}
        return self.port in ports and WIREGUARD.is_handshake(packet)

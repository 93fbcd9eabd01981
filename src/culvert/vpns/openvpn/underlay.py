"""OpenVPN's packets on the underlay, as the proof needs to know them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from culvert.vpns.authoring import (
    DataPath,
    OuterFlow,
    OuterMessage,
    OuterPacket,
    TunDevice,
    TunnelVpn,
)
from culvert.vpns.openvpn import packet as wire
from culvert.vpns.openvpn.choice import Choice, Transport
from culvert.vpns.openvpn.seats import Seat


class OnUnderlay(TunDevice, TunnelVpn):
    """What depends on the variant, on what was negotiated, and on the server's processes."""

    choice: Choice
    _framing: wire.Framing
    _seats: Sequence[Seat]

    @property
    def data_path(self) -> DataPath:
        return DataPath.KERNEL if self.choice.offloaded else DataPath.USER

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        return wire.messages(static_key=self.choice.static_key)

    @property
    def outer_flow(self) -> OuterFlow | None:
        ports = frozenset(seat.port for seat in self._seats) or frozenset({self.port})
        if self.choice.transport is Transport.TCP:
            return OuterFlow(wire.TCP, ports)
        flow = super().outer_flow
        return flow and replace(flow, ports=ports)

    def outer_length(self, inner_length: int) -> int | None:
        """From the cipher; None over TCP, whose segments differ, and for packets that --fragment
        splits."""
        if self.choice.transport is Transport.TCP:
            return None
        return wire.udp_length(self._framing, inner_length, self.choice.settings.fragment)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """The control channel's packets; with a static key there are none."""
        return not self.choice.static_key and wire.is_control(packet)

"""A tunnel's packets on the underlay: how to recognise them, and one as captured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from socket import IPPROTO_UDP

from culvert.probe.results import RecordedPacket


@dataclass(frozen=True)
class OuterMessage:
    """A kind of the VPN's messages, by the payload behind UDP's header; for protocols without ports
    behind that of IP.

    ``begins`` are its first bytes, ``fixed`` bits of others: offset, mask, value. Its length is
    ``least``, or any number of ``step`` bytes more, up to ``most``. From ``noise_from`` on, but for
    the last ``noise_behind`` bytes, it is ciphertext, at least 8 bytes; 48 at most are none. None:
    it may be clear text, and a tunnel that is up sends few such.
    """

    begins: bytes = b""
    fixed: tuple[tuple[int, int, int], ...] = ()
    least: int = 0
    most: int | None = None
    step: int = 1
    noise_from: int | None = None
    noise_behind: int = 0


@dataclass(frozen=True)
class OuterFlow:
    """Which packets on the underlay belong to the tunnel: an IP protocol and, if it has ports,
    one of these ports at either end; ``also`` other protocols, such as IKE beside ESP.

    ``messages``: all kinds of its messages; a packet that is none is not the VPN's. If none are
    declared, what follows the first 64 bytes behind the IP header must look encrypted, in all
    packets but the handshake's. Segments of TCP are not judged.

    ``decrypts_there``: the kernel shows decrypted packets as received by the underlay's device, as
    IPsec without its own device does. A capture then shows the link's packets only at the sender.
    """

    protocol: int
    ports: frozenset[int] = frozenset()
    also: tuple[OuterFlow, ...] = ()
    messages: tuple[OuterMessage, ...] = ()
    decrypts_there: bool = False

    @property
    def declares_messages(self) -> bool:
        """Whether this flow, or another that belongs to it, does."""
        return bool(self.messages) or any(flow.declares_messages for flow in self.also)

    def has(self, packet: OuterPacket) -> bool:
        """Whether the packet is one of the tunnel's."""
        ends = {packet.source_port, packet.destination_port}
        own = packet.protocol == self.protocol and (not self.ports or bool(self.ports & ends))
        return own or any(flow.has(packet) for flow in self.also)


@dataclass(frozen=True)
class OuterPacket:
    """A packet of the underlay as the capture saw it.

    ``length`` is that of the IP packet in bytes; ``payload`` the first bytes after the UDP or TCP
    header (or after the IP header for other protocols); ``outgoing`` as seen from node a.
    """

    timestamp_ns: int
    outgoing: bool
    protocol: int
    source_port: int
    destination_port: int
    length: int
    payload: bytes

    @property
    def later_fragment(self) -> bool:
        """Whether it is a fragment behind the first, which alone has the ports."""
        return self.protocol == IPPROTO_UDP and not self.source_port and not self.destination_port


def largest_inner(outer_length: Callable[[int], int | None], mtu: int) -> int:
    """The longest inner packet in bytes whose outer packet is not longer than ``mtu``: the MTU for
    a tunnel's device. ``mtu`` itself where packets do not map one to one."""
    lengths = range(mtu, 0, -1)
    return next((inner for inner in lengths if (outer_length(inner) or 0) <= mtu), 0)


def outer_packet(packet: RecordedPacket) -> OuterPacket:
    """A recorded packet in the drivers' form."""
    return OuterPacket(
        timestamp_ns=packet.realtime_ns or 0,
        outgoing=packet.outgoing,
        protocol=packet.protocol,
        source_port=packet.source_port,
        destination_port=packet.destination_port,
        length=packet.length,
        payload=bytes.fromhex(packet.payload),
    )

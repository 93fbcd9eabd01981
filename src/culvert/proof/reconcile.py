"""Inner bytes and packets plus the driver's overhead, compared with the link's counters.

A packet that bypasses the tunnel, in clear text or through another tunnel, has another length on
the link. So the outer bytes must lie between the lowest possible cost of the received packets and
the highest possible cost of the sent packets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from culvert.topology.ip import IpVersion
from culvert.topology.link.spec import ETHERNET_HEADER
from culvert.trial.check import Check
from culvert.trial.traffic import Flow
from culvert.vpns.variant import Carried

KnownLength = Callable[[int], int]
OuterLength = Callable[[int], int | None]
SHORTEST_PACKET = 28
"""An IP header and a UDP header: no inner packet is shorter."""
_FRAGMENT_HEADER = 8
"""Of IPv6 (RFC 8200, section 4.5)."""
RELATIVE_TOLERANCE = 0.005
"""Share of bytes for the kernel's own rare segments, such as window probes."""
TOLERANCE_PACKETS = 20
"""Packets in transit when the counters were read."""
TOLERANCE_BYTES = 3000
"""Keepalives and a rekey."""
STREAM_RECORD_BYTES = 168
"""Upper bound of a stream's overhead per packet: length, header, IV, padding and tag. The greatest
known is that of Yggdrasil in TLS: about 147 for both keys, the route, the next key and two tags,
and 20 since its packets of IPv6 count as those of IPv4 with the same payload."""
STREAM_RETRANSMISSION = 0.05
"""Share of a stream that TCP may retransmit on a link without loss of its own."""
INNER_HEADERS = 52
"""IPv4 and TCP with timestamps: what a proxy removes from a packet at most."""
STREAM_HEADERS = (20, 60)
"""TCP header of a segment, without options and with timestamps and three SACK blocks."""


@dataclass(frozen=True)
class LinkCount:
    """IP packets and bytes of one direction on the link (without Ethernet headers);
    ``unsure_bytes`` more may be the tunnel's."""

    packets: int
    ip_bytes: int
    counted_by: str = "the link"
    unsure_bytes: int = 0

    @classmethod
    def of_frames(
        cls, packets: int, frame_bytes: int, counted_by: str, unsure_bytes: int = 0
    ) -> LinkCount:
        """From the counters of an Ethernet device."""
        return cls(packets, frame_bytes - ETHERNET_HEADER * packets, counted_by, unsure_bytes)


NONE = LinkCount(0, 0)

_TOO_FEW = (
    "switch compression off in the VPN, if it has any; else find traffic that bypassed the tunnel"
)


def on_the_wire(outer_length: int, ethernet_mtu: int, version: IpVersion = IpVersion.V4) -> int:
    """IP bytes of a packet after fragmentation (RFC 791; RFC 8200): each fragment has the headers
    of one."""
    if outer_length <= ethernet_mtu:
        return outer_length
    payload = outer_length - version.header_bytes
    headers = version.header_bytes + (0 if version is IpVersion.V4 else _FRAGMENT_HEADER)
    per_fragment = (ethernet_mtu - headers) // 8 * 8
    return payload + -(-payload // per_fragment) * headers


def cost_bounds(
    flow: Flow,
    outer_length: KnownLength,
    inner_mtu: int,
    ethernet_mtu: int,
    version: IpVersion = IpVersion.V4,
) -> tuple[float, float]:
    """Lowest and highest outer IP bytes that ``flow`` can have cost.

    Exact where all packets have one length, else bounded by the least and the greatest overhead
    of any length up to ``inner_mtu`` bytes (padding makes them differ by up to a block).
    """
    if flow.packets == 0:
        return 0.0, 0.0
    if flow.length is not None:
        cost = float(flow.packets * on_the_wire(outer_length(flow.length), ethernet_mtu, version))
        return cost, cost
    overheads = [
        on_the_wire(outer_length(length), ethernet_mtu, version) - length
        for length in range(SHORTEST_PACKET, inner_mtu + 1)
    ]
    return (
        flow.ip_bytes + flow.packets * min(overheads),
        flow.ip_bytes + flow.option_bytes + flow.packets * max(overheads),
    )


def reconcile(
    direction: str,
    *,
    sent: Flow,
    received: Flow,
    link: LinkCount,
    outer_length: OuterLength,
    inner_mtu: int,
    ethernet_mtu: int,
    super_packets: bool,
    duplication: float = 0.0,
    to_control: LinkCount = NONE,
    own_bytes: int = 0,
    carries: Carried = Carried.PACKETS,
    version: IpVersion = IpVersion.V4,
) -> Check:
    """Check one direction.

    ``super_packets``: the link carries GSO packets, whose repeated headers are not counted; then
    the outer bytes may be as low as the inner ones. ``duplication`` is the requested share of
    duplicates: the far end counts, or answers, as many packets more. ``to_control``: what the VPN's
    control servers received, which the sender may have sent beside its packets; ``own_bytes``: how
    much the tunnel may send for itself, such as acknowledgements in a stream, or handshakes of a
    proxy. ``carries``: without the headers of the packets the tunnel may carry as much less.
    ``version`` is that of the packets on the link.
    """
    least, most = float(link.ip_bytes), float(link.ip_bytes + link.unsure_bytes)
    if outer_length(inner_mtu) is None:
        low, high = _stream_bounds(sent, received)
        least, most = _stream_payload(link, version)
        rule = "a stream: bounds for the payload of its segments"
        if carries is Carried.PAYLOAD:
            low = max(low - received.packets * INNER_HEADERS, 0.0)
            rule = "a proxy: bounds, from the inner payload without headers up"
    else:
        known = cast("KnownLength", outer_length)  # known for one packet, so known for all
        low, _ = cost_bounds(received, known, inner_mtu, ethernet_mtu, version)
        _, high = cost_bounds(sent, known, inner_mtu, ethernet_mtu, version)
        low = received.ip_bytes * 0.9 if super_packets else low
        rule = "super-packets: bounds only" if super_packets else "exact overhead per packet"
    low_bound, high_bound = _tolerated(low, high, sent.packets, duplication)
    high += own_bytes
    high_bound += own_bytes + to_control.ip_bytes
    too_few = most < low_bound
    inner = f"{received.packets} to {sent.packets} inner packets"
    return Check(
        name=f"bytes reconcile {direction}",
        passed=least <= high_bound and not too_few,
        detail=(
            f"{inner} must cost {low / 1e6:.3f} to {high / 1e6:.3f} MB on the link, "
            f"{link.counted_by} counted {_megabytes(least, most)} ({rule})" + _beside(to_control)
        ),
        remedy=_TOO_FEW if too_few else "find other traffic on the link",
        figures={
            "sent_packets": sent.packets,
            "received_packets": received.packets,
            "expected_low_bytes": low,
            "expected_high_bytes": high,
            "link_bytes": link.ip_bytes,
            "link_packets": link.packets,
            "unsure_bytes": link.unsure_bytes,
            "control_bytes": to_control.ip_bytes,
            "counted_by": link.counted_by,
            "rule": rule,
        },
    )


def _tolerated(low: float, high: float, packets: int, duplication: float) -> tuple[float, float]:
    """The bounds with what a few packets more or less, and duplicates, make of them."""
    slack = TOLERANCE_BYTES + TOLERANCE_PACKETS * high / max(packets, 1)
    return (
        low * (1 - RELATIVE_TOLERANCE) / (1 + 2 * duplication) - slack,
        high * (1 + RELATIVE_TOLERANCE) * (1 + 2 * duplication) + slack,
    )


def _stream_payload(link: LinkCount, version: IpVersion) -> tuple[float, float]:
    """Least and most bytes of the link without the headers of its segments."""
    smallest, largest = (
        (version.header_bytes + header) * link.packets for header in STREAM_HEADERS
    )
    return (
        max(float(link.ip_bytes - largest), 0.0),
        max(float(link.ip_bytes + link.unsure_bytes - smallest), 0.0),
    )


def _stream_bounds(sent: Flow, received: Flow) -> tuple[float, float]:
    """Least and most bytes that the segments of a tunnel over TCP carried."""
    high = sent.ip_bytes + sent.option_bytes + sent.packets * STREAM_RECORD_BYTES
    return float(received.ip_bytes), high * (1 + STREAM_RETRANSMISSION)


def _megabytes(least: float, most: float) -> str:
    if least == most:
        return f"{least / 1e6:.3f} MB"
    return f"{least / 1e6:.3f} to {most / 1e6:.3f} MB"


def _beside(control: LinkCount) -> str:
    if not control.packets:
        return ""
    return f"; {control.counted_by} received {control.ip_bytes / 1e6:.3f} MB meanwhile"

"""What is known of a path before anything is measured: its links, and whether a VPN is on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Self

from culvert.proof.reconcile import on_the_wire
from culvert.proof.truth import Truth, rate, time
from culvert.proof.underlay import loss_interval, requested_loss
from culvert.topology.graph import Path
from culvert.topology.ip import LONGER_IPV6, IpVersion
from culvert.topology.link.impairment import OneWay
from culvert.topology.link.spec import ETHERNET_HEADER, LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.session import Session
from culvert.vpns.base import length_on_underlay

UDP_HEADERS = 28
"""IPv4 header (20) and UDP header (8)."""
DEFAULT_QUEUE_PACKETS = 1000
"""Of a link with a rate whose queue no condition states."""
LATE_S = 0.02
"""A receiver that waited for a processor when the first packet came read so much later: its figure
may be above the link's rate by this share of the window, and no more."""


def _not_known(length: int) -> int | None:
    del length
    return None


@dataclass(frozen=True)
class KnownPath:
    """``bare``: no VPN is on it, and its links were made as the condition states them.

    A packet's length is that of the inner IP packet in bytes, as in all of Culvert.
    """

    spec: LabSpec
    path: Path
    link: LinkSpec
    """The path's links, combined into one."""
    bare: bool
    outer_length: Callable[[int], int | None] = _not_known
    """Bytes of the VPN's IP packet for an inner one; None: not known, or without a VPN."""
    handshake_trips: int = 0
    """Round trips of the VPN's handshake at the least, as its driver declares; 0: not known."""

    @classmethod
    def of(cls, session: Session) -> Self:
        """The session's path."""
        lab, vpn = session.lab, session.vpn
        bare = vpn.outer_flow is None and not (lab.real_links or lab.overlaid)
        outer_length = _not_known if bare else partial(length_on_underlay, vpn)
        return cls(lab.spec, session.path, session.link, bare, outer_length, vpn.handshake_trips)

    @property
    def without_vpn(self) -> Self:
        """What is known of a path on the same links beside the tunnel."""
        return replace(self, bare=True, outer_length=_not_known)

    @property
    def joins(self) -> bool:
        """Whether packets may share the header of a frame: only the wire counts those that a
        super-packet stands for."""
        return self.link.offloads and self.link.kind != "wire"

    @property
    def plain(self) -> bool:
        """Whether each packet takes the delay of the links and no more."""
        return not self.joins and all(
            way
            == OneWay(
                rate_bps=way.rate_bps,
                queue_bytes=way.queue_bytes,
                queue_packets=way.queue_packets,
                delay_ns=way.delay_ns,
                loss=way.loss,
            )
            for way in self.link.impairment.ways
        )

    @property
    def lossy(self) -> bool:
        """Whether the links lose packets that no queue drops."""
        return any(way.loss for way in self.link.impairment.ways)

    @property
    def fills(self) -> bool:
        """Whether a sender without a VPN can fill the links."""
        return self.bare and self.plain and not self.lossy

    def way(self, *, upward: bool = True) -> OneWay:
        """The links' conditions in one direction."""
        there, back = self.link.impairment.ways
        return there if upward else back

    def rate_bps(self, *, upward: bool = True) -> int | None:
        """Of frames; None: not limited, or recorded."""
        return self.way(upward=upward).rate_on(self.link.rate_bps)

    def frame_bytes(self, length: float) -> float:
        """Of a packet without a VPN, on the link."""
        v6 = IpVersion.V6 in (self.spec.underlay, self.spec.inner)
        return length + (LONGER_IPV6 if v6 else 0) + ETHERNET_HEADER

    @property
    def mtu(self) -> int:
        """Bytes of the longest packet without a VPN."""
        return self.link.mtu - round(self.frame_bytes(0) - ETHERNET_HEADER)

    def payload_share(self, lengths: Sequence[int], header_bytes: int) -> float:
        """Of the link's rate, without a VPN."""
        return (fmean(lengths) - header_bytes) / self.frame_bytes(fmean(lengths))

    def packets_per_s(self, lengths: Sequence[int], *, upward: bool = True) -> float | None:
        """As many as the link carries, with the VPN's overhead if it is known: RFC 2544's maximum
        rate of the medium. ``lengths`` are those of inner packets, in turn."""
        found = self.rate_bps(upward=upward)
        return None if found is None else found / (8 * fmean(map(self._outer_frame_bytes, lengths)))

    def _outer_frame_bytes(self, length: int) -> float:
        outer = self.outer_length(length)
        if outer is None:
            return self.frame_bytes(length)
        return ETHERNET_HEADER + on_the_wire(outer, self.link.mtu, self.spec.underlay)

    def most_payload_bps(
        self,
        seconds: float,
        *,
        upward: bool = True,
        lengths: Sequence[int] = (),
        header_bytes: int = 0,
    ) -> float | None:
        """What nothing exceeds in a window of so many seconds. Without a VPN it is the payload of
        packets of these lengths (none: the longest); any VPN's link carries nothing but the content
        of its frames, however inner packets share them."""
        found, mtu = self.rate_bps(upward=upward), self.link.mtu
        if found is None:
            return None
        share = 1.0 if self.joins else mtu / (mtu + ETHERNET_HEADER)
        if self.bare and not self.joins:
            share = self.payload_share(lengths or [self.mtu], header_bytes)
        return found * share * (1 + LATE_S / seconds)

    def one_way_ns(self, length: float | None = None, *, upward: bool = True) -> float:
        """Of a packet that finds the links idle; None: without the times of its transmission."""
        bits = 8 * self.frame_bytes(length) if length else 0.0
        ends = (self.path.source, self.path.target)
        sending_ns = 0.0
        for network, forward in self.spec.topology.between(*ends):
            link = self.spec.link_of(network.name)
            one_way = link.impairment.a_to_b if forward is upward else link.impairment.b_to_a
            rate_bps = one_way.rate_on(link.rate_bps)
            sending_ns += 1e9 * bits / rate_bps if rate_bps else 0.0
        return self.way(upward=upward).delay_ns + sending_ns

    def round_trip_ns(self, length: float | None = None, answer: float | None = None) -> float:
        """Of a packet and its answer, which is as long unless stated."""
        return self.one_way_ns(length) + self.one_way_ns(answer or length, upward=False)

    def queue_ns(self, *, upward: bool = True) -> float | None:
        """Time that a packet waits at most for the rate; None: not known."""
        found, way = self.rate_bps(upward=upward), self.way(upward=upward)
        if found is None or way.codel is not None:
            return None
        packets = way.queue_packets or DEFAULT_QUEUE_PACKETS
        frame = self.link.mtu + ETHERNET_HEADER
        return 8e9 * (way.queue_bytes or packets * frame) / found

    def goodput(
        self,
        metric: str,
        lengths: Sequence[int],
        header_bytes: int,
        seconds: float,
        *ways: bool,
        least_header_bytes: int | None = None,
    ) -> list[Truth]:
        """Payload of packets that fill the link, in each of ``ways`` (True: up). Data both ways
        share each with the other's acknowledgements: their sum has a bound only. Where the length
        of headers varies, ``least_header_bytes`` are those of the bound."""
        rates = [self.rate_bps(upward=way) for way in ways]
        least = header_bytes if least_header_bytes is None else least_header_bytes
        found = self.payload([metric], lengths, least, seconds, *ways)
        if not (self.fills and len(rates) == 1 and rates[0]):
            return found
        share = self.payload_share(lengths, header_bytes)
        words = f"{share:.2%} of {rates[0] / 1e6:g} Mbit/s are payload"
        return [rate(each.metric, share * rates[0], words, bound=each.bound) for each in found]

    def payload(
        self,
        metrics: Sequence[str],
        lengths: Sequence[int],
        header_bytes: int,
        seconds: float,
        *ways: bool,
    ) -> list[Truth]:
        """The bound alone: of payload that need not fill the link."""
        bounds = [
            self.most_payload_bps(seconds, upward=way, lengths=lengths, header_bytes=header_bytes)
            for way in ways
        ]
        bound = sum(math.inf if each is None else each for each in bounds)
        return [] if math.isinf(bound) else [Truth(each, None, bound=bound) for each in metrics]

    def packets(
        self,
        metrics: Sequence[str],
        lengths: Sequence[int],
        seconds: float,
        *,
        upward: bool = True,
        filling: bool = True,
    ) -> list[Truth]:
        """Packets per second; without ``filling`` they need not fill the link. A VPN's largest
        packets may be shorter than the link's, so that more of them fit: their goodput alone has a
        bound."""
        most_pps = self.packets_per_s(lengths, upward=upward)
        if most_pps is None or not self.bare:
            return []
        line_pps = most_pps
        if self.joins:
            line_pps = (self.rate_bps(upward=upward) or 0.0) / (8 * (fmean(lengths) - UDP_HEADERS))
        bound = line_pps * (1 + LATE_S / seconds)
        words = f"frames of {self.frame_bytes(fmean(lengths)):g} bytes"
        return [
            rate(each, most_pps, words, bound=bound)
            if self.fills and filling
            else Truth(each, None, bound=bound)
            for each in metrics
        ]

    def loss(self, metric: str, packets: float, *, round_trip: bool = False) -> list[Truth]:
        """The share of so many packets that the links lose, if the sender does not fill them."""
        there, back = (requested_loss(way) for way in self.link.impairment.ways)
        if there is None or back is None or not (self.bare and self.plain):
            return []
        share = 1 - (1 - there) * (1 - back) if round_trip else there
        within = loss_interval(OneWay(loss=share), round(packets))
        return [Truth(metric, share, *within, f"the links' loss, {packets:,.0f} packets")]

    def times(
        self, metrics: Sequence[str], unit: str, least_ns: float, because: str, **more: float
    ) -> list[Truth]:
        """Times that the links fix without a VPN."""
        if not (self.bare and self.plain):
            return []
        return [time(each, unit, least_ns, because, **more) for each in metrics]

    def at_least(
        self,
        metrics: Sequence[str],
        unit: str,
        least_ns: float,
        because: str,
        *,
        longer_ns: float = math.inf,
    ) -> list[Truth]:
        """Times of which the links fix a part, with any VPN; it takes ``longer_ns`` more at
        most."""
        if not self.plain:
            return []
        return [time(each, unit, least_ns, because, longer_ns=longer_ns) for each in metrics]

"""Impairments of a link, for each direction separately. Pure.

The names and units are those of ``culvert-wire`` (crates/wire/README.md), which supports all of
them; netem supports some (``culvert.topology.link.netem``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from culvert.errors import ImpairmentError
from culvert.topology.link.jitter import Jitter
from culvert.topology.link.recorded import Trace

LONGEST_DELAY_NS = 60_000_000_000
"""A delay above a minute is probably a wrong unit."""
LONGEST_BLACKOUT_NS = 86_400_000_000_000


@dataclass(frozen=True)
class Bursts:
    """Loss in bursts (Gilbert 1960, Elliott 1963): probabilities for each packet."""

    to_bad: float
    to_good: float
    loss_in_good: float = 0.0
    loss_in_bad: float = 1.0


@dataclass(frozen=True)
class Codel:
    """Queue management in addition to the limit (RFC 8289)."""

    target_ns: int = 5_000_000
    interval_ns: int = 100_000_000


@dataclass(frozen=True)
class Blackout:
    """A time without any packet, counted from the creation of the link."""

    for_ns: int
    after_ns: int = 0


@dataclass(frozen=True)
class OneWay:
    """One direction. Shares are from 0 to 1, of the packets; ``rate_bps`` None is the link's.

    ``loss`` is a share (each packet on its own), bursts, or the numbers of the packets that are
    lost, from 0. A ``trace`` replaces any rate. The queue before the rate holds
    ``queue_bytes`` or ``queue_packets``; None is the link kind's default. ``limit_packets`` are all
    that the link holds, those that wait for their delay included: the queue of an emulator such as
    netem, and of no real link. ``drop_size_and_above`` are bytes of the IP packet: an MTU black
    hole.
    """

    rate_bps: int | None = None
    trace: Trace | None = None
    queue_bytes: int | None = None
    queue_packets: int | None = None
    limit_packets: int | None = None
    codel: Codel | None = None
    delay_ns: int = 0
    jitter: Jitter | None = None
    loss: float | Bursts | tuple[int, ...] = 0.0
    reorder: float = 0.0
    duplicate: float = 0.0
    corrupt: float = 0.0
    blackout: Blackout | None = None
    drop_udp: bool = False
    drop_fragments: bool = False
    drop_size_and_above: int | None = None
    per_super_packet: bool = False
    """Decide about super-packets as a whole, as netem does with offloads on: an artefact for
    demonstration, not a condition to measure VPNs in."""

    def check(self) -> None:
        """Raise ImpairmentError for what no link can do."""
        if self.reorder and not self.delay_ns:
            raise ImpairmentError("reorder", "reordering", "it needs a delay", "add a delay")

    def rate_on(self, link_rate_bps: int | None) -> int | None:
        """Bit/s on a link of this rate; None: no limit, or a trace."""
        if self.trace is not None:
            return None
        return self.rate_bps if self.rate_bps is not None else link_rate_bps

    @property
    def filters(self) -> str:
        """The packets that it drops always and silently, in words; empty if none."""
        size = self.drop_size_and_above
        words = (
            "" if size is None else f"packets of {size} bytes and more (drop_size_and_above)",
            "UDP packets (drop_udp)" if self.drop_udp else "",
            "fragments (drop_fragments)" if self.drop_fragments else "",
        )
        return ", ".join(filter(None, words))

    def conditions(self, link_rate_bps: int | None) -> dict[str, Any]:
        """The request for ``culvert-wire``, on a link of this rate.

        Raises ImpairmentError for a queue without a rate, LabError for a file that has changed.
        """
        self.check_queue(link_rate_bps)
        request: dict[str, Any] = {
            "delay_ns": self.delay_ns,
            "reorder": self.reorder,
            "duplicate": self.duplicate,
            "corrupt": self.corrupt,
            "drop_udp": self.drop_udp,
            "drop_fragments": self.drop_fragments,
            "per_super_packet": self.per_super_packet,
            "rate_bps": self.rate_on(link_rate_bps),
            "trace": self.trace and str(self.trace.unchanged()),
            "limit_packets": self.limit_packets,
            "codel": self.codel and vars(self.codel),
            "blackout": self.blackout and vars(self.blackout),
            "drop_size_and_above": self.drop_size_and_above,
        }
        if self.queue_bytes is not None:
            request["queue"] = {"bytes": self.queue_bytes}
        if self.queue_packets is not None:
            request["queue"] = {"packets": self.queue_packets}
        if self.jitter is not None:
            request["jitter"] = self.jitter.as_request()
            request["jitter_hold_ns"] = self.jitter.hold_ns
            request["jitter_reorders"] = self.jitter.reorders
        match self.loss:
            case Bursts():
                request["loss"] = {"gilbert_elliott": vars(self.loss)}
            case tuple():
                request["loss"] = {"packets": list(self.loss)}
            case share:
                request["loss"] = {"probability": share}
        return {key: value for key, value in request.items() if value is not None}

    def check_queue(self, link_rate_bps: int | None) -> None:
        """Raise ImpairmentError for a queue without a rate, and a limit of a link that holds
        nothing, on a link of this rate."""
        given = any(value is not None for value in (self.queue_bytes, self.queue_packets))
        limited = self.trace is not None or self.rate_on(link_rate_bps) is not None
        if (given or self.codel is not None) and not limited:
            raise ImpairmentError("queue", "the queue", "it needs a rate", "add a rate or a trace")
        if self.limit_packets is not None and not (limited or self.delay_ns or self.jitter):
            why = "the link holds no packet"
            raise ImpairmentError("limit", "the limit", why, "add a delay, jitter or a rate")


@dataclass(frozen=True)
class Impairment:
    """Both directions of a link; on a routed lab, of the cable between a and the router."""

    a_to_b: OneWay = field(default_factory=OneWay)
    b_to_a: OneWay = field(default_factory=OneWay)

    @classmethod
    def both(cls, one_way: OneWay) -> Impairment:
        """One impairment in each direction: a delay counts twice in the round trip."""
        return cls(one_way, one_way)

    def check(self) -> None:
        """Raise ImpairmentError for what no link can do."""
        self.a_to_b.check()
        self.b_to_a.check()

    @property
    def ways(self) -> tuple[OneWay, OneWay]:
        """The impairments of both directions, first that from a to b."""
        return self.a_to_b, self.b_to_a

    @property
    def duplicates(self) -> float:
        """The largest requested share of packets that a direction repeats."""
        return max(way.duplicate for way in self.ways)

    @property
    def corrupts(self) -> float:
        """The largest requested share of packets in which a direction flips a bit."""
        return max(way.corrupt for way in self.ways)

    @property
    def per_super_packet(self) -> bool:
        return self.a_to_b.per_super_packet or self.b_to_a.per_super_packet

    @property
    def drops_udp(self) -> bool:
        return self.a_to_b.drop_udp or self.b_to_a.drop_udp

    def __bool__(self) -> bool:
        return self != CLEAN


CLEAN = Impairment()

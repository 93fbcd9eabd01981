"""``mtu``: the MTU doctor. Which packets cross in each direction, and what happens to the others.

A tunnel whose MTU is too large fragments outer packets, or drops large packets without an ICMP
error (a black hole): small requests work and large answers hang. The MSS that arrives shows whether
a device on the path clamps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.mtu.max_size import interface_mtu
from culvert.measurements.mtu.path import Fate, OneWayMtu, largest
from culvert.measurements.streams.packet import SMALLEST, TCP_HEADERS
from culvert.measurements.tcp.mss import Announced, announce
from culvert.metrics import Better, MetricSpec, Weight
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth, exactly
from culvert.results import Metric, measured
from culvert.trial.check import Check, Crossing
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.abilities import require_packets

TCP_OPTIONS = TCP_HEADERS - 40
"""TCP options that the kernel's MSS leaves out, in addition to IPv4 (20) and TCP (20)."""
EXPECTED_S = 3.0


class MtuParameters(BaseParameters):
    """Size of the packets that must be fragmented."""

    oversize: Annotated[int, Field(ge=1, le=30_000)] = 400
    """Bytes above the interface's MTU: the sender's kernel fragments the packet."""


SYN_HEADERS = 40
"""IPv4 header (20) and TCP header (20)."""


@dataclass(frozen=True)
class MtuDirection:
    """One direction. Sizes are of inner IP packets in bytes; None: even the smallest is lost."""

    interface_mtu: int
    largest: int | None
    unfragmented: int | None
    above: Fate | None
    """Fate of a packet one byte longer than ``largest``; None if ``largest`` is the MTU."""
    inside_fragments: bool

    @property
    def black_hole(self) -> bool:
        """Packets that the interface accepts vanish without an ICMP error."""
        return self.above is Fate.VANISHED

    @property
    def fragments_outside(self) -> bool:
        """Packets that the interface accepts are fragmented on the link."""
        return self.largest is not None and self.unfragmented != self.largest


def _each_way(way: str, words: str, weight: Weight) -> tuple[MetricSpec, ...]:
    """Metrics of one direction."""
    return (
        MetricSpec(
            f"unfragmented_{way}_bytes",
            "bytes",
            f"Largest packet {words} that is not fragmented",
            Better.MORE,
            weight,
            drawn=True,
        ),
        MetricSpec(f"largest_{way}_bytes", "bytes", f"Largest packet {words}", Better.MORE),
        MetricSpec(f"interface_mtu_{way}_bytes", "bytes", f"MTU of the interface {words}"),
        MetricSpec(f"mss_{way}_bytes", "bytes", f"Segment size of TCP {words}", Better.MORE),
        MetricSpec(
            f"mss_announced_{way}_bytes", "bytes", f"MSS that is announced {words}", Better.MORE
        ),
        MetricSpec(f"mss_arrived_{way}_bytes", "bytes", f"MSS that arrives {words}", Better.MORE),
        MetricSpec(f"black_hole_{way}", "1", f"Large packets {words} vanish", Better.LESS),
        MetricSpec(f"fragments_outside_{way}", "1", f"Fragments on the link {words}", Better.LESS),
        MetricSpec(f"fragments_inside_{way}", "1", f"Fragments in the tunnel {words}", Better.LESS),
        MetricSpec(f"mss_clamped_{way}", "1", f"MSS changed on its way {words}"),
    )


class Mtu(Measurement[MtuParameters]):
    """Searches the largest packet in each direction, then opens a connection."""

    kind: ClassVar[str] = "mtu"
    title: ClassVar[str] = "Largest packets"
    summary: ClassVar[str] = "largest packet each way, fragmentation, black holes, MSS clamping"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        *_each_way("a_to_b", "from a to b", Weight.MAIN),
        *_each_way("b_to_a", "from b to a", Weight.KEY),
    )
    Parameters = MtuParameters

    @classmethod
    def estimate_s(cls, parameters: MtuParameters) -> float:
        del parameters
        return EXPECTED_S

    @classmethod
    def truths(cls, known: KnownPath, parameters: MtuParameters) -> Sequence[Truth]:
        del parameters
        if not known.bare:
            return []
        found = []
        for way, upward in (("a_to_b", True), ("b_to_a", False)):
            hole = known.way(upward=upward).drop_size_and_above
            most = min(known.mtu, known.mtu if hole is None else hole - 1)
            found += [
                exactly(f"unfragmented_{way}_bytes", most, "the link's MTU"),
                exactly(f"largest_{way}_bytes", most, "the link's MTU"),
                exactly(f"mss_{way}_bytes", known.mtu - SYN_HEADERS, "the MTU less 40 bytes"),
                exactly(f"black_hole_{way}", float(most < known.mtu), "what the link drops"),
            ]
        return found

    def run(self, session: Session, parameters: MtuParameters) -> Outcome:
        """Search in each direction, then open a connection."""
        require_packets(session.vpn, "the packets whose size is searched")
        with session.watch(sample_one_in=1) as watched:
            found = {
                "a_to_b": one_direction(session, parameters.oversize),
                "b_to_a": one_direction(session, parameters.oversize, upward=False),
            }
            announced = announce(session)
        return Outcome(
            metrics=[
                metric
                for name, way in found.items()
                for metric in _metrics(name, way, announced[name])
            ],
            watched=[watched],
            doubts=[_some_cross(name, way) for name, way in found.items()],
        )


def one_direction(session: Session, oversize: int, *, upward: bool = True) -> MtuDirection:
    """Search from a to b if ``upward``, else from b to a; ``oversize`` as in the parameters."""
    mtu = interface_mtu(session, session.source if upward else session.target)
    with OneWayMtu(session, upward=upward) as way:
        most = largest(SMALLEST, mtu, lambda size: way.fate(size).arrived)
        whole = (
            None
            if most is None
            else largest(SMALLEST, most, lambda size: way.fate(size) is Fate.WHOLE)
        )
        return MtuDirection(
            interface_mtu=mtu,
            largest=most,
            unfragmented=whole,
            above=None if most in (None, mtu) else way.fate((most or 0) + 1),
            inside_fragments=most is not None and way.inside_fragments(mtu + oversize),
        )


def _metrics(name: str, way: MtuDirection, announced: Announced) -> list[Metric]:
    """Metrics of one direction; of the MSS what was observed."""
    values = {
        f"interface_mtu_{name}_bytes": way.interface_mtu,
        f"largest_{name}_bytes": way.largest or 0,
        f"unfragmented_{name}_bytes": way.unfragmented or 0,
        f"black_hole_{name}": way.black_hole,
        f"fragments_outside_{name}": way.fragments_outside,
        f"fragments_inside_{name}": way.inside_fragments,
        f"mss_{name}_bytes": None if announced.used is None else announced.used + TCP_OPTIONS,
        f"mss_announced_{name}_bytes": announced.sent,
        f"mss_arrived_{name}_bytes": announced.arrived,
        f"mss_clamped_{name}": announced.clamped,
    }
    return measured(Mtu.metrics, values)


def _some_cross(name: str, way: MtuDirection) -> Check:
    return Crossing(
        f"packets cross ({name})",
        way.largest is not None,
        f"the largest packet that crosses has {way.largest} bytes",
        f"not even {SMALLEST}-byte packets come out of the tunnel: try pings in one that "
        "'culvert up' keeps",
    )

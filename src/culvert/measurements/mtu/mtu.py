"""``mtu``: the MTU doctor. Which packets cross, each way, and what becomes of the others.

A tunnel whose MTU is too large fragments where nobody looks, or loses large packets without a word
(a black hole): small requests work and large answers hang. What TCP agreed on tells whether
something on the way clamps the MSS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.errors import VpnError
from culvert.journal.record import Metric
from culvert.labs.node import Node
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.mtu.path import End, Fate, OneWay, largest
from culvert.measurements.tcp.mss import Announced, announce
from culvert.measurements.udp.packet import SMALLEST, TCP_HEADERS
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session

TCP_OPTIONS = TCP_HEADERS - 40
"""What the kernel's own figure of the MSS leaves out, beside IPv4 (20) and TCP (20)."""
EXPECTED_S = 3.0


class MtuParameters(BaseParameters):
    """``oversize`` is by how many bytes a packet exceeds the interface's MTU that the sender's
    kernel has to cut."""

    oversize: Annotated[int, Field(ge=1, le=30_000)] = 400


@dataclass(frozen=True)
class Direction:
    """One way. Sizes are of inner IP packets in bytes; None: not even the smallest crosses."""

    interface_mtu: int
    largest: int | None
    unfragmented: int | None
    above: Fate | None
    """Of the packet that is one byte longer than ``largest``; None if that is the MTU."""
    inside_fragments: bool

    @property
    def black_hole(self) -> bool:
        """Packets that the interface takes vanish without a word."""
        return self.above is Fate.VANISHED

    @property
    def fragments_outside(self) -> bool:
        """Packets that the interface takes are cut on the link."""
        return self.largest is not None and self.unfragmented != self.largest


class Mtu(Measurement[MtuParameters]):
    """Both directions."""

    kind: ClassVar[str] = "mtu"
    summary: ClassVar[str] = "largest packet each way, fragmentation, black holes, MSS clamping"
    headline: ClassVar[str] = "unfragmented_a_to_b_bytes"
    metrics: ClassVar[Mapping[str, str]] = {
        "interface_mtu_a_to_b_bytes": "bytes",
        "largest_a_to_b_bytes": "bytes",
        "unfragmented_a_to_b_bytes": "bytes",
        "mss_a_to_b_bytes": "bytes",
        "mss_announced_a_to_b_bytes": "bytes",
        "mss_arrived_a_to_b_bytes": "bytes",
        "interface_mtu_b_to_a_bytes": "bytes",
        "largest_b_to_a_bytes": "bytes",
        "unfragmented_b_to_a_bytes": "bytes",
        "mss_b_to_a_bytes": "bytes",
        "mss_announced_b_to_a_bytes": "bytes",
        "mss_arrived_b_to_a_bytes": "bytes",
        "black_hole_a_to_b": "1",
        "fragments_outside_a_to_b": "1",
        "fragments_inside_a_to_b": "1",
        "mss_clamped_a_to_b": "1",
        "black_hole_b_to_a": "1",
        "fragments_outside_b_to_a": "1",
        "fragments_inside_b_to_a": "1",
        "mss_clamped_b_to_a": "1",
    }
    Parameters = MtuParameters

    @classmethod
    def estimate_s(cls, parameters: MtuParameters) -> float:
        """Seconds of one trial, roughly: black holes take longer."""
        del parameters
        return EXPECTED_S

    def run(self, session: Session, parameters: MtuParameters) -> Outcome:
        """Search each way, then open a connection."""
        a, b = End(session.source, session.a), End(session.target, session.b)
        with session.watch(sample_one_in=1) as watched:
            found = {
                "a_to_b": _direction(session, a, b, parameters.oversize),
                "b_to_a": _direction(session, b, a, parameters.oversize),
            }
            announced = announce(session)
        return Outcome(
            metrics=[
                *[metric for name, way in found.items() for metric in _metrics(name, way)],
                *[metric for name, one in announced.items() for metric in _mss(name, one)],
            ],
            watched=[watched],
            doubts=[_some_cross(name, way) for name, way in found.items()],
        )


def _direction(session: Session, source: End, target: End, oversize: int) -> Direction:
    mtu = _interface_mtu(session, source.node)
    with OneWay(session, source, target) as way:
        most = largest(SMALLEST, mtu, lambda size: way.fate(size).arrived)
        whole = (
            None
            if most is None
            else largest(SMALLEST, most, lambda size: way.fate(size) is Fate.WHOLE)
        )
        return Direction(
            interface_mtu=mtu,
            largest=most,
            unfragmented=whole,
            above=None if most in (None, mtu) else way.fate((most or 0) + 1),
            inside_fragments=most is not None and way.inside_fragments(mtu + oversize),
        )


def _interface_mtu(session: Session, node: Node) -> int:
    state = node.link(session.vpn.interface(node))
    if state is None:
        raise VpnError(session.vpn.id, "its interface is gone", "look at the VPN's log")
    return state.mtu


def _metrics(name: str, way: Direction) -> list[Metric]:
    return [
        Metric(f"interface_mtu_{name}_bytes", "bytes", way.interface_mtu),
        Metric(f"largest_{name}_bytes", "bytes", way.largest or 0),
        Metric(f"unfragmented_{name}_bytes", "bytes", way.unfragmented or 0),
        Metric(f"black_hole_{name}", "1", way.black_hole),
        Metric(f"fragments_outside_{name}", "1", way.fragments_outside),
        Metric(f"fragments_inside_{name}", "1", way.inside_fragments),
    ]


def _mss(name: str, announced: Announced) -> list[Metric]:
    """What was not seen is left out."""
    used = None if announced.used is None else announced.used + TCP_OPTIONS
    values = {
        f"mss_{name}_bytes": ("bytes", used),
        f"mss_announced_{name}_bytes": ("bytes", announced.sent),
        f"mss_arrived_{name}_bytes": ("bytes", announced.arrived),
        f"mss_clamped_{name}": ("1", announced.clamped),
    }
    return [Metric(key, unit, value) for key, (unit, value) in values.items() if value is not None]


def _some_cross(name: str, way: Direction) -> Check:
    return Check(
        f"packets cross ({name})",
        way.largest is not None,
        f"the largest packet that crosses has {way.largest} bytes",
        f"not even {SMALLEST}-byte packets come out of the tunnel: try it with 'culvert up'",
    )

"""Which MSS the two ends of a TCP connection announced, and what arrived at the other end.

::

    a ── SYN, MSS 1460 ──> inner device ─ tunnel ─ inner device ── SYN, MSS 1368 ──> b

SYNs are captured inside the tunnel, at its two ends. A difference is made by the tunnel, or, for
the baseline, by a router on the path.
"""

from __future__ import annotations

from dataclasses import dataclass

from culvert.labs.node import Node
from culvert.measurements.streams.tcp_load import TcpLoad, TcpStreams
from culvert.probe.client import Probe, Task
from culvert.probe.results import Captured, parse
from culvert.trial.session import Session

TCP = 6
TCP_S = 0.05
RECORDED = 16
"""Segments to record: SYN and SYN-ACK are among the first, even if retransmitted."""


@dataclass(frozen=True)
class Announced:
    """The MSS in the SYN of one direction's receiver, as sent and as it arrived, in bytes; None if
    no SYN was captured. ``used`` is the sender's resulting MSS, options deducted."""

    sent: int | None
    arrived: int | None
    used: int | None = None

    @property
    def clamped(self) -> bool | None:
        """Whether it was made smaller on the path; None if unknown."""
        if self.sent is None or self.arrived is None:
            return None
        return self.arrived < self.sent


def announce(session: Session) -> dict[str, Announced]:
    """Open a connection from a to b and read the announced MSS: ``a_to_b`` is what b announced,
    for segments that a sends."""
    at_a = _capture(session, session.a, session.source)
    at_b = _capture(session, session.b, session.target)
    for capture in (at_a, at_b):
        capture.ready()
    connection = TcpLoad(session, TcpStreams(TCP_S), upward=True).finish()
    seen_a, seen_b = (parse(Captured, capture.stop()) for capture in (at_a, at_b))
    far = connection.sunk.tcp_info
    return {
        "a_to_b": Announced(
            sent=_mss(seen_b, outgoing=True),
            arrived=_mss(seen_a, outgoing=False),
            used=connection.sent.mss,
        ),
        "b_to_a": Announced(
            sent=_mss(seen_a, outgoing=True),
            arrived=_mss(seen_b, outgoing=False),
            used=None if far is None else far.snd_mss,
        ),
    }


def _capture(session: Session, probe: Probe, node: Node) -> Task:
    return probe.begin(
        "capture",
        device=session.vpn.interface(node),
        direction="both",
        sample_one_in=1,
        flow={"protocol": TCP, "ports": []},
        record=RECORDED,
        snaplen_record=0,
    )


def _mss(seen: Captured, *, outgoing: bool) -> int | None:
    found = (p.mss for p in seen.recorded if p.outgoing == outgoing and p.mss is not None)
    return next(found, None)

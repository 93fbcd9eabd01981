"""Packets at a steady rate while a tunnel changes."""

from __future__ import annotations

from culvert.measurements.streams.udp_stream import UdpRun, UdpStream, UdpTrial, quiet_ms
from culvert.probe.client import Task
from culvert.probe.results import UdpSunk
from culvert.results import Series
from culvert.trial.echo import Echo
from culvert.trial.session import Session

INTERVAL_MS = 10
_REQUEST_BYTES = 64
_REQUEST_TIMEOUT_MS = 1000


def steady_stream(
    session: Session, *, rate_pps: float, packet_size: int, lasting_s: float, upward: bool = True
) -> UdpRun:
    """Packets from one end of the path to the other, for ``lasting_s`` at most; the receiver
    listens from now on. ``packet_size`` is that of the inner IP packet in bytes."""
    to = session.inner(session.target if upward else session.source)
    stream = UdpStream(to, (packet_size,), lasting_s, rate_pps, interval_ms=INTERVAL_MS)
    quiet = quiet_ms(session, session.inner(session.target))
    return UdpRun(session, stream, quiet, upward=upward)


def begin_requests(echo: Echo, *, rate_pps: float, lasting_s: float) -> Task:
    """Requests whose answers are not measured: some VPNs do nothing on a silent path."""
    stream = echo.begin_rtt(
        rate_pps=rate_pps,
        count=round(rate_pps * lasting_s),
        payload_size=_REQUEST_BYTES,
        timeout_ms=_REQUEST_TIMEOUT_MS,
    )
    stream.ready()
    return stream


def lost_packets(trial: UdpTrial) -> int:
    """Sequence numbers that did not arrive; the sender's kernel may have refused some."""
    used = trial.sent.packets + sum(trial.sent.send_errors.values())
    return max(used - trial.unique, 0)


def arrivals(sunk: UdpSunk, **labels: str) -> Series:
    """Packets received, over time."""
    points = ((interval.t_ns, interval.packets) for interval in sunk.intervals)
    return Series.of("received_packets", "packets", points, **labels)

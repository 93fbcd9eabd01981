"""What the instrument itself can do: the same packets on the bare link, beside each trial."""

from __future__ import annotations

from dataclasses import replace

from culvert.journal.record import Metric
from culvert.measurements.tcp.load import TcpLoad, TcpStreams
from culvert.measurements.udp.stream import Arrivals, UdpStream, quiet_ms, udp_trial
from culvert.metrics import MetricSpec
from culvert.proof.limits import Ceiling
from culvert.trial.session import Session

CEILING_S = 0.15
TCP_CEILING_S = 0.25
CEILING_METRICS = (
    MetricSpec("ceiling_sent_pps", "packets/s", "Sent per second beside the tunnel"),
    MetricSpec("ceiling_received_pps", "packets/s", "Received per second beside the tunnel"),
)
"""What ``ceiling_metrics`` gives."""
HELD_BACK = 1.2
"""A sender that offers no more than so many times the link's rate is held back by its queue."""


def udp_ceiling(session: Session, stream: UdpStream, segmentation: str) -> Ceiling:
    """The same stream from a to b beside the tunnel, unpaced.

    ``segmentation`` is what the source did in the tunnel: otherwise the bare link, where the
    kernel may cut packets, would make the generator look faster than it is in there.
    A router's firewall may let only the tunnel pass; then nothing is received, but what was sent
    counts all the same.
    """
    bare = replace(
        stream,
        to=str(session.target.underlay.address.ip),
        sizes=tuple(min(size, session.link.mtu) for size in stream.sizes),
        rate_pps=None,
        arrivals=Arrivals.CONSTANT,
        burst=1,
        duration_s=CEILING_S,
        segmentation=segmentation,
    )
    trial = udp_trial(session, bare, quiet_ms(session, bare.to))
    sent_s = max(trial.sent.seconds, 1e-9)
    sent_bps = 8 * trial.sent_flow.ip_bytes / sent_s
    rate_bps = session.link.rate_bps
    arriving_s = ((trial.sunk.last_ns or 0) - (trial.sunk.first_ns or 0)) / 1e9
    return Ceiling(
        sent_pps=trial.sent.offered / sent_s,
        received_pps=trial.sunk.packets / arriving_s if arriving_s > 0 else 0.0,
        by_link=rate_bps is not None and sent_bps <= HELD_BACK * rate_bps,
    )


def tcp_ceiling_bps(session: Session, streams: TcpStreams) -> float | None:
    """Goodput of the same connections, for a short while, beside the tunnel: bits per second.

    None where it would tell of the link and not of the nodes: see ``bare_link_tells``.
    """
    if not bare_link_tells(session):
        return None
    short = replace(streams, duration_s=TCP_CEILING_S)
    a, b = (str(node.underlay.address.ip) for node in (session.source, session.target))
    loads = [
        TcpLoad(session, short, upward=upward, to=b if upward else a) for upward in streams.ways
    ]
    goodput_bps = sum(load.finish().goodput_bps for load in loads)
    return goodput_bps or None


def bare_link_tells(session: Session) -> bool:
    """Whether a connection beside the tunnel tells what the nodes can do.

    Not on a link with a rate or another impairment, not behind a firewall or NAT, and not for the
    baseline, which is its own ceiling.
    """
    if session.vpn.outer_flow is None:
        return False
    clean = session.link.kind == "veth" and session.link.rate_bps is None
    spec = session.lab.spec
    return clean and spec.firewall is None and not any(node.nat for node in spec.topology.nodes)


def tcp_ceiling_metrics(ceiling_bps: float | None) -> list[Metric]:
    """Beside the result, where there is one."""
    return [] if ceiling_bps is None else [Metric("ceiling_goodput_bps", "bit/s", ceiling_bps)]


def ceiling_metrics(ceiling: Ceiling) -> list[Metric]:
    """The instrument's own figures, to stand beside the result."""
    return [
        Metric("ceiling_sent_pps", "packets/s", ceiling.sent_pps),
        Metric("ceiling_received_pps", "packets/s", ceiling.received_pps),
    ]

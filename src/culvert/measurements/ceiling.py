"""The limit of the instrument: the same packets on the bare link, in each trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from culvert.measurements.streams.tcp_load import TcpLoad, TcpStreams
from culvert.measurements.streams.udp_stream import Arrivals, UdpStream, quiet_ms, udp_trial
from culvert.metrics import MetricSpec
from culvert.proof.known import KnownPath
from culvert.proof.limits import Ceiling
from culvert.proof.truth import Truth
from culvert.results import Metric, measured
from culvert.topology.ip import LONGER_IPV6, IpVersion
from culvert.trial.session import Session

CEILING_S = 0.15
TCP_CEILING_S = 0.25
CEILING_METRICS = (
    MetricSpec("ceiling_sent_pps", "packets/s", "Sent per second beside the tunnel", offered=True),
    MetricSpec("ceiling_received_pps", "packets/s", "Received per second beside the tunnel"),
)
"""What ``ceiling_metrics`` returns."""
HELD_BACK = (0.9, 1.2)
"""A sender that offers between these multiples of what the link carries is limited by the link's
queue; one that offers less is slower than the link, and one that offers more is not slowed."""


def udp_ceiling(session: Session, stream: UdpStream, segmentation: str) -> Ceiling:
    """The ceiling of a stream: it runs from a to b beside the tunnel, unpaced.

    ``segmentation`` is that of the source in the tunnel. Otherwise the kernel could segment on the
    bare link only, and the generator would look faster than it is in the tunnel.
    A router's firewall may pass the tunnel only. Then nothing is received, but the sent packets
    still count.
    """
    underlay = session.target.underlay.reached_at.ip
    longer = 0 if IpVersion(underlay.version) is IpVersion.V4 else LONGER_IPV6
    bare = replace(
        stream,
        to=str(underlay),
        sizes=tuple(min(size, session.link.mtu - longer) for size in stream.sizes),
        rate_pps=None,
        arrivals=Arrivals.CONSTANT,
        burst=1,
        duration_s=CEILING_S,
        segmentation=segmentation,
    )
    trial = udp_trial(session, bare, quiet_ms(session, bare.to))
    sent_pps = trial.sent.offered / max(trial.sent.seconds, 1e-9)
    line_pps = KnownPath.of(session).without_vpn.packets_per_s(bare.sizes)
    return Ceiling(sent_pps, trial.forwarded.pps, by_link=held_back(sent_pps, line_pps))


def held_back(sent_pps: float, line_pps: float | None) -> bool:
    """Whether the link's rate, and not its own, limited a sender on the bare link."""
    least, most = HELD_BACK
    return line_pps is not None and least * line_pps <= sent_pps <= most * line_pps


def tcp_ceiling_bps(session: Session, streams: TcpStreams) -> float | None:
    """Goodput in bit/s of the same connections on the bare link, measured for a short time.

    None where the link would be the limit, not the nodes: see ``bare_link_tells``.
    """
    if not bare_link_tells(session):
        return None
    short = replace(streams, duration_s=TCP_CEILING_S)
    a, b = (str(node.underlay.reached_at.ip) for node in (session.source, session.target))
    loads = [
        TcpLoad(session, short, upward=upward, to=b if upward else a) for upward in streams.ways
    ]
    goodput_bps = sum(load.finish().goodput_bps for load in loads)
    return goodput_bps or None


def bare_link_tells(session: Session) -> bool:
    """Whether a connection on the bare link shows the limit of the nodes.

    False on a link with a rate or another impairment, behind a firewall or NAT, and for the
    baseline, which is its own ceiling.
    """
    if session.vpn.outer_flow is None:
        return False
    clean = session.link.kind in ("veth", "real") and session.link.rate_bps is None
    spec = session.lab.spec
    return clean and spec.firewall is None and not any(node.nat for node in spec.topology.nodes)


def ceiling_metrics(ceiling: Ceiling) -> list[Metric]:
    """The instrument's own figures, to report with the result."""
    values = {
        "ceiling_sent_pps": ceiling.sent_pps,
        "ceiling_received_pps": ceiling.received_pps,
    }
    return measured(CEILING_METRICS, values)


def ceiling_truths(known: KnownPath, sizes: Sequence[int], *, upward: bool = True) -> list[Truth]:
    """The bare link carries no more of them than its rate. None of a VPN's longest packets: their
    length is known only in the tunnel."""
    if not known.bare and max(sizes) >= known.mtu:
        return []
    names = ["ceiling_received_pps"]
    return known.without_vpn.packets(names, sizes, CEILING_S, upward=upward, filling=False)

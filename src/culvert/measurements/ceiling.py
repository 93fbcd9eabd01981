"""What the instrument itself can do: the same packets on the bare link, beside each trial."""

from __future__ import annotations

from culvert.journal.record import Metric
from culvert.measurements.session import Session
from culvert.measurements.udp_trial import SLACK_S, quiet_ms, udp_trial
from culvert.probe.results import TcpSunk, parse
from culvert.proof.limits import Ceiling

CEILING_S = 0.15
TCP_CEILING_S = 0.25
WRITE_BYTES = 131072
HELD_BACK = 1.2
"""A sender that offers no more than so many times the link's rate is held back by its queue."""


def udp_ceiling(session: Session, size: int, segmentation: str) -> Ceiling:
    """Unpaced UDP from a to b beside the tunnel, in packets of ``size`` bytes.

    ``segmentation`` is what the source did in the tunnel: otherwise the bare link, where the
    kernel may cut packets, would make the generator look faster than it is in there.
    A router's firewall may let only the tunnel pass; then nothing is received, but what was sent
    counts all the same.
    """
    to = str(session.lab.b.underlay.address.ip)
    trial = udp_trial(
        session,
        to=to,
        size=min(size, session.link.mtu),
        rate_pps=None,
        duration_s=CEILING_S,
        quiet_ms=quiet_ms(session, to),
        segmentation=segmentation,
    )
    sent_pps = trial.sent.offered / max(trial.sent.seconds, 1e-9)
    rate_bps = session.link.rate_bps
    arriving_s = ((trial.sunk.last_ns or 0) - (trial.sunk.first_ns or 0)) / 1e9
    return Ceiling(
        sent_pps=sent_pps,
        received_pps=trial.sunk.packets / arriving_s if arriving_s > 0 else 0.0,
        by_link=rate_bps is not None and 8 * trial.size * sent_pps <= HELD_BACK * rate_bps,
    )


def tcp_ceiling_bps(session: Session, congestion_control: str) -> float | None:
    """Goodput of one short connection from a to b beside the tunnel, in bits per second.

    None where it would tell of the link and not of the nodes: on a link with a rate or another
    impairment, behind a firewall, and for the baseline, which is its own ceiling.
    """
    clean = session.link.kind == "veth" and session.link.rate_bps is None
    if session.vpn.outer_flow is None or not clean or session.lab.spec.firewall is not None:
        return None
    to = str(session.lab.b.underlay.address.ip)
    sink = session.b.begin(
        "tcp_sink", bind=to, duration_max_s=SLACK_S, interval_ms=1000, **session.marks
    )
    session.a.call(
        "tcp_source",
        SLACK_S,
        connect=to,
        port=sink.port(),
        duration_s=TCP_CEILING_S,
        write_size=WRITE_BYTES,
        nodelay=False,
        congestion_control=congestion_control,
        interval_ms=1000,
        **session.marks,
    )
    sunk = parse(TcpSunk, sink.result(SLACK_S))
    seconds = ((sunk.last_ns or 0) - (sunk.first_ns or 0)) / 1e9
    return 8 * sunk.bytes / seconds if seconds > 0 else None


def tcp_ceiling_metrics(ceiling_bps: float | None) -> list[Metric]:
    """Beside the result, where there is one."""
    return [] if ceiling_bps is None else [Metric("ceiling_goodput_bps", "bit/s", ceiling_bps)]


def ceiling_metrics(ceiling: Ceiling) -> list[Metric]:
    """The instrument's own figures, to stand beside the result."""
    return [
        Metric("ceiling_sent_pps", "packets/s", ceiling.sent_pps),
        Metric("ceiling_received_pps", "packets/s", ceiling.received_pps),
    ]

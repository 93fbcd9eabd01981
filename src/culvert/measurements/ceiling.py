"""What the instrument itself can do: the same packets on the bare link, right before the trial."""

from __future__ import annotations

from culvert.journal.record import Metric
from culvert.measurements.session import Session
from culvert.measurements.udp_trial import quiet_ms, udp_trial
from culvert.proof.limits import Ceiling

CEILING_S = 0.15


def udp_ceiling(session: Session, size: int) -> Ceiling:
    """Unpaced UDP from a to b beside the tunnel, in packets of ``size`` bytes.

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
    )
    arriving_s = ((trial.sunk.last_ns or 0) - (trial.sunk.first_ns or 0)) / 1e9
    return Ceiling(
        sent_pps=trial.sent.offered / max(trial.sent.seconds, 1e-9),
        received_pps=trial.sunk.packets / arriving_s if arriving_s > 0 else 0.0,
    )


def ceiling_metrics(ceiling: Ceiling) -> list[Metric]:
    """The instrument's own figures, to stand beside the result."""
    return [
        Metric("ceiling_sent_pps", "packets/s", ceiling.sent_pps),
        Metric("ceiling_received_pps", "packets/s", ceiling.received_pps),
    ]

"""A marked flow beside a load that encrypts itself: without it a capture could not see the load."""

from __future__ import annotations

from culvert.measurements.streams.packet import SMALLEST, UDP_HEADERS, marked_run
from culvert.probe.results import RttResult, parse
from culvert.trial.check import Check
from culvert.trial.echo import Echo
from culvert.trial.session import Session
from culvert.trial.traffic import InnerTraffic, echo_traffic

RATE_PPS = 20
PACKET_BYTES = 1228
TIMEOUT_MS = 1000
SLACK_S = 30.0


class MarkedFlow:
    """Echo requests with the canary, and their answers, at a steady low rate for ``lasting_s``.

    The payload of TLS and QUIC is ciphertext before it enters the tunnel. The canary in it cannot
    be found on the underlay whatever the tunnel does, so it is searched for in this flow.
    """

    def __init__(self, session: Session, lasting_s: float) -> None:
        mtu = session.inner_mtu(session.source) or PACKET_BYTES
        self._size = max(min(PACKET_BYTES, mtu), SMALLEST)
        self._timeout_ms = session.patience_ms(TIMEOUT_MS)
        self._count = max(round(RATE_PPS * lasting_s), 2)
        self._lasting_s = self._count / RATE_PPS
        self._echo = Echo(session, self._lasting_s + SLACK_S)

    @property
    def marked_run(self) -> int:
        """Bytes of the canary in each packet."""
        return marked_run(self._size)

    def start(self) -> MarkedFlow:
        """Returns when the first request is due."""
        self._task = self._echo.begin_rtt(
            rate_pps=RATE_PPS,
            count=self._count,
            payload_size=self._size - UDP_HEADERS,
            timeout_ms=self._timeout_ms,
        )
        self._task.ready()
        return self

    def finish(self) -> InnerTraffic:
        """Wait for the last answer; returns the flow's packets."""
        patience_s = self._lasting_s + self._timeout_ms / 1000 + SLACK_S
        self._found = parse(RttResult, self._task.result(patience_s))
        reflected = self._echo.close().packets
        return echo_traffic(self._found.sent, reflected, self._found.received, self._size)

    def check(self) -> Check:
        """What the canary was searched in."""
        sent, received = self._found.sent, self._found.received
        return Check(
            "the canary travels beside the load",
            received > 0,
            f"TLS encrypts the load before the tunnel does; {received} of {sent} marked packets "
            "crossed the tunnel and came back while it ran",
            "no marked packet crossed, so nothing shows that the tunnel encrypts: try 'culvert up'",
            {"marked_sent": sent, "marked_received": received},
        )

"""The canary: before anything is measured, marked packets cross the tunnel under a full capture."""

from __future__ import annotations

from culvert.measurements.session import Session
from culvert.measurements.watch import SNAPLEN, capture_parameters
from culvert.probe.results import Captured, RttResult, parse
from culvert.proof.capture import ENTROPY_BITS, judge_capture
from culvert.proof.check import Check

CANARY_PACKETS = 40
CANARY_RATE_PPS = 4000
CANARY_PAYLOAD_BYTES = 1000
TIMEOUT_MS = 500


def send_canary(session: Session) -> list[Check]:
    """Echo marked packets from a to b and back; look for them on the underlay of a.

    For the baseline the canary must be found (the capture can see), for a VPN it must not.
    """
    echo = session.b.begin(
        "echo", bind=session.inner(session.lab.b), token=session.token, idle_s=30
    )
    port = echo.port()
    capture = session.a.begin(
        "capture",
        device=session.lab.a.underlay.device,
        direction="both",
        sample_one_in=1,
        snaplen=SNAPLEN * 4,
        record=0,
        **capture_parameters(session.vpn.outer_flow, session.canary),
    )
    capture.ready()
    answered = parse(
        RttResult,
        session.a.call(
            "rtt",
            15,
            protocol="udp",
            to=session.inner(session.lab.b),
            port=port,
            rate_pps=CANARY_RATE_PPS,
            count=CANARY_PACKETS,
            payload_size=CANARY_PAYLOAD_BYTES,
            timeout_ms=session.patience_ms(TIMEOUT_MS),
            **session.marks,
        ),
    )
    captured = parse(Captured, capture.stop())
    echo.stop()
    crossed = Check(
        "the tunnel carries packets",
        answered.received > 0,
        f"{answered.received} of {answered.sent} marked packets came back",
        "the tunnel says that it is up but carries nothing: try it with 'culvert up'",
    )
    return [crossed, *judge_capture(session.vpn, captured, "canary", entropy_bits=ENTROPY_BITS)]

"""The canary: before anything is measured, marked packets cross the tunnel under a full capture.

Where the kernel shows decrypted packets on the underlay's device, node a's capture looks at all
that it sends and at what of the tunnel it receives, and node b's at all that it sends.
"""

from __future__ import annotations

import math

from culvert.labs.base import LinkSpec, Node
from culvert.measurements.session import Session
from culvert.measurements.watch import SNAPLEN, capture_parameters
from culvert.probe.client import Probe, Task
from culvert.probe.results import Captured, RttResult, parse
from culvert.proof.capture import ENTROPY_BITS, judge_capture, readable_inside
from culvert.proof.check import Check

CANARY_PACKETS = 40
CANARY_RATE_PPS = 4000
CANARY_PAYLOAD_BYTES = 1000
LONGEST_OUTER_BYTES = 1200
TIMEOUT_MS = 500
LINK_SHARE = 0.5
"""Of the slower direction, so that the canary waits in no queue and leaves none behind."""
LONGEST_S = 4.0
FEWEST_PACKETS = 4


def send_canary(session: Session) -> list[Check]:
    """Echo marked packets from a to b and back; look for them on the underlay of a.

    For the baseline the canary must be found (the capture can see), for a VPN it must not.
    """
    echo = session.b.begin(
        "echo", bind=session.inner(session.lab.b), token=session.token, idle_s=30
    )
    port = echo.port()
    flow = session.vpn.outer_flow
    capture = _begin_capture(session, session.a, session.lab.a, "both")
    sent_by_b = (
        _begin_capture(session, session.b, session.lab.b, "out")
        if flow is not None and flow.decrypts_there
        else None
    )
    rate_pps = _pace(session.link)
    count = max(min(CANARY_PACKETS, round(rate_pps * LONGEST_S)), FEWEST_PACKETS)
    to: dict[str, object] = {"protocol": "udp", "port": port}
    if flow is None and session.link.impairment.drops_udp:
        to = {"protocol": "icmp"}
    answered = parse(
        RttResult,
        session.a.call(
            "rtt",
            15 + count / rate_pps,
            to=session.inner(session.lab.b),
            **to,
            rate_pps=rate_pps,
            count=count,
            payload_size=CANARY_PAYLOAD_BYTES,
            timeout_ms=session.patience_ms(TIMEOUT_MS),
            **session.marks,
        ),
    )
    captured = parse(Captured, capture.stop())
    beside = [] if sent_by_b is None else [parse(Captured, sent_by_b.stop())]
    echo.stop()
    crossed = Check(
        "the tunnel carries packets",
        answered.received > 0,
        f"{answered.received} of {answered.sent} marked packets came back",
        "the tunnel says that it is up but carries nothing: try it with 'culvert up'",
    )
    checks = [crossed]
    for each, where in zip([captured, *beside], ("canary", "canary, sent by b"), strict=False):
        checks += judge_capture(session.vpn, each, where, entropy_bits=ENTROPY_BITS)
    if session.vpn.variant.integrity_only:
        checks.append(readable_inside(captured))
    return checks


def _begin_capture(session: Session, probe: Probe, node: Node, direction: str) -> Task:
    capture = probe.begin(
        "capture",
        device=node.underlay.device,
        direction=direction,
        sample_one_in=1,
        snaplen=SNAPLEN * 4,
        record=0,
        **capture_parameters(session.vpn.outer_flow, session.canary),
    )
    capture.ready()
    return capture


def _pace(link: LinkSpec) -> float:
    """Packets a second that the link surely takes in each direction."""
    rates = [
        way.trace.mean_rate_bps if way.trace else way.rate_on(link.rate_bps)
        for way in (link.impairment.a_to_b, link.impairment.b_to_a)
    ]
    slowest = min((rate for rate in rates if rate), default=math.inf)
    return min(CANARY_RATE_PPS, LINK_SHARE * slowest / (8 * LONGEST_OUTER_BYTES))

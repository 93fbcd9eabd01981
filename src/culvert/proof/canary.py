"""The canary: before the measurement, marked packets cross the tunnel while all links are captured.

A capture at node a has both directions. If the kernel shows decrypted packets on the underlay's
device, it covers all sent packets and the tunnel's received packets, and a second capture covers
all that node b sends.
"""

from __future__ import annotations

import math
from typing import Any

from culvert.probe.results import RttResult
from culvert.proof.capture import (
    ENTROPY_BITS,
    canary_at_relay,
    clear_inside,
    judge_capture,
    no_clear_text,
    readable_inside,
)
from culvert.topology.link.spec import LinkSpec
from culvert.trial.check import Check, Crossing
from culvert.trial.echo import Echo
from culvert.trial.session import Session

CANARY_PACKETS = 40
CANARY_RATE_PPS = 4000
STREAM_RATE_PPS = 500
"""Through a stream: a relay may have a short queue for each member (32 packets in DERP), in which a
burst would be lost."""
CANARY_PAYLOAD_BYTES = 1000
LONGEST_OUTER_BYTES = 1200
TIMEOUT_MS = 500
PATIENCE_MS = 3000
"""For links without loss: on a busy machine a VPN with many threads may take longer than half a
second for its first round trip. The wait ends as soon as the answers arrive."""
LINK_SHARE = 0.5
"""Share of the slower direction's rate, so that the canary builds up no queue."""
LONGEST_S = 4.0
FEWEST_PACKETS = 4


def send_canary(session: Session[Any]) -> list[Check]:
    """Echo marked packets from a to b and back; search for them on the underlay.

    For the baseline the canary must be found (the capture can see), for a VPN it must not.
    """
    captures = session.outside.begin_all_sent(record=0)
    relays, inside = session.look_at_relays(), session.look_inside_relay()
    for capture in (*captures.values(), *relays.values(), *inside.values()):
        capture.ready()
    sent, received = _echoed(session)
    captured = {where: capture.end() for where, capture in captures.items()}
    at_relays = {name: capture.end() for name, capture in relays.items()}
    inside_relay = {name: capture.end() for name, capture in inside.items()}
    crossed = Crossing(
        "the tunnel carries packets",
        received > 0,
        f"{received} of {sent} marked packets came back",
        "the VPN reports that the tunnel is up, but no packet crosses it: try 'culvert up'",
    )
    checks: list[Check] = [crossed]
    for where, each in captured.items():
        checks += judge_capture(
            session.vpn,
            each,
            where,
            entropy_bits=ENTROPY_BITS,
            corruption=session.link.impairment.corrupts,
            duplication=session.link.impairment.duplicates,
        )
    via = session.route.via if session.route is not None else None
    for name, each in at_relays.items():
        checks.append(no_clear_text(each, f"at {name}"))
        payload_bytes = received * CANARY_PAYLOAD_BYTES
        checks.append(canary_at_relay(each, name, payload_bytes, used=name == via))
    checks += [clear_inside(each, name) for name, each in inside_relay.items()]
    if session.vpn.variant.integrity_only:
        checks.append(readable_inside(captured["canary"]))
    return checks


def _echoed(session: Session[Any]) -> tuple[int, int]:
    """Packets sent and received. If none comes back over an impaired link, where the wait is short,
    others are sent and waited for longer: the machine may have been busy."""
    answered = echo_marked(session)
    if answered.received or not session.link.impairment:
        return answered.sent, answered.received
    again = echo_marked(session, patient=True)
    return answered.sent + again.sent, again.received


def echo_marked(
    session: Session[Any], *, at_most: int = CANARY_PACKETS, patient: bool = False
) -> RttResult:
    """Send marked packets through the tunnel from a to b, which reflects them.

    ``patient`` waits for late answers even where the link is requested to lose packets.
    """
    rate_pps = _pace(session.link)
    if session.vpn.outer_length(CANARY_PAYLOAD_BYTES) is None:
        rate_pps = min(rate_pps, STREAM_RATE_PPS)
    count = max(min(at_most, round(rate_pps * LONGEST_S)), FEWEST_PACKETS)
    deaf = session.vpn.outer_flow is None and session.link.impairment.drops_udp
    hurried = bool(session.link.impairment) and not patient
    with Echo(session, idle_s=30) as echo:
        return echo.rtt(
            rate_pps=rate_pps,
            count=count,
            payload_size=CANARY_PAYLOAD_BYTES,
            timeout_ms=session.patience_ms(TIMEOUT_MS if hurried else PATIENCE_MS),
            protocol="icmp" if deaf else "udp",
        )


def _pace(link: LinkSpec) -> float:
    """Packets per second that the link can carry in each direction."""
    slowest_bps = link.slowest_bps or math.inf
    return min(CANARY_RATE_PPS, LINK_SHARE * slowest_bps / (8 * LONGEST_OUTER_BYTES))

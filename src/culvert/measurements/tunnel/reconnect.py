"""``reconnect``: how long a tunnel carries nothing after an event.

::

    packets at a steady rate ──── event ──── lost ... lost ──── the first that arrives ──── end
                                    └──── recovered ────────────┘

Blocked time is the number of lost packets divided by their offered rate, as RFC 6201 and RFC 7747
measure failover with a packet generator: no clock of the tunnel is involved.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.parameters import RATE, PacketSize
from culvert.measurements.streams.packet import intact
from culvert.measurements.streams.udp_stream import SLACK_S, UdpTrial
from culvert.measurements.tunnel.events import Event, action_for
from culvert.measurements.tunnel.looking import EndCaptures
from culvert.measurements.tunnel.stream import arrivals, lost_packets, steady_stream
from culvert.metrics import Better, MetricSpec, Weight
from culvert.probe.results import FirstAnswer
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth, exactly
from culvert.results import Metric, measured
from culvert.trial.check import Check, Crossing
from culvert.trial.echo import Echo
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationS, PerSecond
from culvert.vpns.base import Vpn

ASK_EVERY_US = 1000
LEAD_S = 0.2
"""Duration of the steady stream before the event."""
STARTING_NS = 20e6
"""From the event to the first request, at most: a task of the probe is begun."""
EVENT_S = 20.0
"""Upper bound of the duration of an event's commands."""


class ReconnectParameters(BaseParameters):
    """Parameters of the event, and of the stream that it interrupts."""

    event: Event = Event.RESTART_PEER
    """The event."""
    rate_pps: Annotated[PerSecond, Field(ge=10, le=100_000), RATE] = Field(1000, alias="rate")
    """Requests per second."""
    packet_size: PacketSize = 84
    """Bytes of the inner IP packet of a request."""
    silence_s: Annotated[DurationS, Field(gt=0, le=3600)] = Field(10.0, alias="silence")
    """Time without a packet, for ``event = "silence"``."""
    recover_max_s: Annotated[DurationS, Field(gt=0, le=600)] = Field(30.0, alias="recover_max")
    """Longest time to wait for an answer after the event."""


class Reconnect(Measurement[ReconnectParameters]):
    """One event in each trial, on a new tunnel."""

    kind: ClassVar[str] = "reconnect"
    title: ClassVar[str] = "Reconnect"
    summary: ClassVar[str] = "time without traffic after a restart, silence, roaming or a rekey"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec("outage_ms", "ms", "Time without an answer", Better.LESS, Weight.MAIN),
        MetricSpec("resolution_ms", "ms", "Time between two requests"),
        MetricSpec("event_ms", "ms", "Duration of the event"),
        MetricSpec(
            "recovered_ms", "ms", "From the event to the first answer", Better.LESS, Weight.KEY
        ),
        MetricSpec("lost_packets", "packets", "Requests without an answer", Better.LESS),
    )
    Parameters = ReconnectParameters
    accounts: ClassVar[bool] = False

    @classmethod
    def estimate_s(cls, parameters: ReconnectParameters) -> float:
        waiting_s = parameters.silence_s if parameters.event is Event.SILENCE else 5.0
        return waiting_s + 2 * LEAD_S

    @classmethod
    def truths(cls, known: KnownPath, parameters: ReconnectParameters) -> Sequence[Truth]:
        del parameters
        words = "one round trip, and the time to start"
        found = known.times(
            ["recovered_ms"], "ms", known.round_trip_ns(), words, longer_ns=STARTING_NS
        )
        if known.fills:
            found.append(exactly("lost_packets", 0.0, "nothing happened to a tunnel"))
        return found

    def run(self, session: Session, parameters: ReconnectParameters) -> Outcome:
        """Stream, event, first answer, a little more of the stream."""
        event = action_for(parameters.event, silence_s=parameters.silence_s)
        event_s = session.vpn.rekey_deadline_s if parameters.event is Event.REKEY else EVENT_S
        lasting_s = event_s + parameters.silence_s + parameters.recover_max_s + SLACK_S
        captures = EndCaptures(session)
        echo = Echo(session, lasting_s)
        stream = steady_stream(
            session,
            rate_pps=parameters.rate_pps,
            packet_size=parameters.packet_size,
            lasting_s=lasting_s,
        )
        if event.stream_goes_on:
            stream.start()
            time.sleep(LEAD_S)  # part of the method
        begun_ns = session.source.monotonic_ns()
        event.cause(session)
        happened_ns = session.source.monotonic_ns()
        if not event.stream_goes_on:
            stream.start()
        answer = echo.first_answer(interval_us=ASK_EVERY_US, deadline_s=parameters.recover_max_s)
        time.sleep(event.tail_s)  # part of the method: it must stay up
        trial = stream.stop()
        echo.close()
        leaks = captures.checks()
        return Outcome(
            metrics=_metrics(
                trial,
                answer,
                parameters.rate_pps,
                event_ns=happened_ns - begun_ns,
                since_ns=happened_ns if event.counts_from_its_end else begun_ns,
            ),
            watched=[],
            series=[arrivals(trial.sunk)],
            doubts=[
                *leaks,
                _came_back(session.vpn, parameters, answer),
                intact(trial.sunk.corrupt),
            ],
        )


def _metrics(
    trial: UdpTrial,
    answer: FirstAnswer | None,
    rate_pps: float,
    *,
    event_ns: int,
    since_ns: int,
) -> list[Metric]:
    lost = lost_packets(trial)
    values = {
        "outage_ms": 1e3 * lost / rate_pps,
        "lost_packets": lost,
        "resolution_ms": 1e3 / rate_pps,
        "event_ms": event_ns / 1e6,
        "recovered_ms": None if answer is None else (answer.answered_ns - since_ns) / 1e6,
    }
    return measured(Reconnect.metrics, values)


def _came_back(vpn: Vpn[Any], parameters: ReconnectParameters, answer: FirstAnswer | None) -> Check:
    options = [f"+{name}" for name in sorted(vpn.recovering - vpn.chosen)]
    noticing = f"add {' or '.join(options)} (culvert vpns), or give it" if options else "give it"
    return Crossing(
        "traffic came back",
        answer is not None,
        f"after the event {parameters.event} "
        + (
            f"packets went through again at attempt {answer.attempts}"
            if answer
            else f"no packet went through for {parameters.recover_max_s:g} s"
        ),
        f"this VPN does not detect the event as configured: {noticing} more time: raise "
        "recover_max",
        of_the_vpn=True,
    )

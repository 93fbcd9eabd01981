"""``failover``: a direct path is blocked until it is relayed, freed until it is direct again.

::

    direct ── UDP blocked ── lost ... lost ── relayed ── freed ── lost? ── direct again
              └── reported_ms (relay) ──────┘            └── reported_ms (direct) ─┘

Packets go both ways at a steady rate. Blocked time is the number of lost packets divided by that
rate (RFC 6201), of the direction that lost more. The block is at a router between the two members:
what goes through the relay passes, and the router counts what it dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.errors import NotPossible, VpnError
from culvert.json_text import read_json
from culvert.labs.node import Node
from culvert.labs.router.block import UdpBlock
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.parameters import RATE, PacketSize
from culvert.measurements.tunnel.looking import EndCaptures
from culvert.measurements.tunnel.stream import arrivals, lost_packets, steady_stream
from culvert.metrics import Better, MetricSpec, Weight
from culvert.probe.results import FirstAnswer
from culvert.proof.alive import survivors
from culvert.proof.known import KnownPath
from culvert.proof.route import ALL_BUT, BESIDE, BESIDE_PACKETS, BESIDE_PPS, judge_steady_route
from culvert.proof.truth import Truth
from culvert.results import Series, measured
from culvert.topology.graph import Role
from culvert.trial.check import Check, Crossing
from culvert.trial.echo import Echo
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationS, PerSecond
from culvert.vpns.variant import DIRECT, Route

ASK_EVERY_US = 5000
LOOK_EVERY_S = 0.1
"""Interval of reading the program's report of the route."""
SLACK_S = 10.0


class FailoverParameters(BaseParameters):
    """Parameters of the streams, and deadlines."""

    rate_pps: Annotated[PerSecond, Field(ge=10, le=10_000), RATE] = Field(200, alias="rate")
    """Packets per second each way. Some VPNs look for a direct path after a number of packets."""
    packet_size: PacketSize = 84
    """Bytes of the inner IP packet."""
    hold_s: Annotated[DurationS, Field(ge=0.1, le=600)] = Field(2.0, alias="hold")
    """Time on each route before and after a switch."""
    relay_max_s: Annotated[DurationS, Field(gt=0, le=3600)] = Field(300.0, alias="relay_max")
    """Longest time from the block until the program reports the relay."""
    direct_max_s: Annotated[DurationS, Field(gt=0, le=3600)] = Field(300.0, alias="direct_max")
    """Longest time from the end of the block until the program reports the direct path."""


class Failover(Measurement[FailoverParameters]):
    """One block of UDP in each trial, on a new tunnel."""

    kind: ClassVar[str] = "failover"
    title: ClassVar[str] = "Failover"
    summary: ClassVar[str] = "time from direct to relayed when UDP is blocked, and back"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec(
            "to_relay_outage_ms", "ms", "Without packets, to relay", Better.LESS, Weight.MAIN
        ),
        MetricSpec(
            "to_direct_outage_ms", "ms", "Without packets, to direct", Better.LESS, Weight.KEY
        ),
        MetricSpec("to_relay_reported_ms", "ms", "Until the relay is reported", Better.LESS),
        MetricSpec(
            "to_direct_reported_ms", "ms", "Until direct is reported", Better.LESS, Weight.KEY
        ),
        MetricSpec("to_relay_lost_packets", "packets", "Lost, to relay", Better.LESS),
        MetricSpec("to_direct_lost_packets", "packets", "Lost, to direct", Better.LESS),
        MetricSpec("to_relay_resolution_ms", "ms", "Interval of the report, to relay"),
        MetricSpec("to_direct_resolution_ms", "ms", "Interval of the report, to direct"),
        MetricSpec("dropped_packets", "packets", "Packets that the block dropped"),
        MetricSpec("relay_packets", "packets", "Packets at the relay, on each route"),
    )
    Parameters = FailoverParameters
    accounts: ClassVar[bool] = False

    @classmethod
    def estimate_s(cls, parameters: FailoverParameters) -> float:
        return 4 * parameters.hold_s + 20.0

    @classmethod
    def truths(cls, known: KnownPath, parameters: FailoverParameters) -> Sequence[Truth]:
        if not known.plain or known.lossy:
            return []
        sent = 2 * parameters.rate_pps * parameters.hold_s
        return [
            replace(truth, labels={"switch": switch, "when": when})
            for switch, when, truth in (
                ("relay", "before", _few(sent, parameters.hold_s)),
                ("relay", "after", _all(sent)),
                ("direct", "before", _all(sent)),
                ("direct", "after", _few(sent, parameters.hold_s)),
            )
        ]

    def run(self, session: Session, parameters: FailoverParameters) -> Outcome:
        """Block, wait for the relay; free, wait for the direct path."""
        relay = _relay(session)
        block = UdpBlock(session.lab, session.path)
        captures = EndCaptures(session)
        outcome = Outcome([], [])
        dropped: list[int] = []
        try:
            away = _Switch("relay", session, parameters, relay, parameters.relay_max_s)
            away.run(block.begin, lambda route: route != DIRECT)
            away.add_to(outcome)
            if away.answer is not None:
                back = _Switch("direct", session, parameters, relay, parameters.direct_max_s)
                back.run(lambda: dropped.append(block.end()), lambda route: route == DIRECT)
                back.add_to(outcome)
        finally:
            dropped.append(block.end())
        outcome.metrics += measured(self.metrics, {"dropped_packets": sum(dropped)})
        outcome.doubts.append(_was_direct(sum(dropped)))
        outcome.doubts += captures.checks()
        return outcome


def _all(sent: float) -> Truth:
    """Of the packets of both streams at the relay, and what a stream to it adds."""
    least = (1 - ALL_BUT) * sent
    return Truth("relay_packets", sent, least, because="both streams cross the relay")


def _few(sent: float, seconds: float) -> Truth:
    """Keepalives cross it."""
    most = BESIDE * sent + BESIDE_PACKETS + BESIDE_PPS * seconds
    return Truth("relay_packets", 0.0, 0.0, most, "no stream crosses the relay")


def _relay(session: Session) -> Node:
    """The relay that a path can switch to; raises NotPossible where none can."""
    vpn = session.vpn
    relays = session.lab.of_role(Role.RELAY)
    if not relays:
        raise NotPossible(
            vpn.id, "has no relay", "use a variant or an option with one (culvert vpns)"
        )
    if vpn.route(session.path) != DIRECT:
        raise NotPossible(vpn.id, "keeps its path relayed", "use its direct variant with a relay")
    return relays[0]


@dataclass(frozen=True)
class _Reported:
    """When the program reported the other route, and the interval in which it became so; ns."""

    at_ns: int
    resolution_ns: int


class _Switch:
    """One switch, with a stream each way from before it to after it. ``reported`` None: it did not
    happen in time; ``answer`` None: nor did traffic come back."""

    def __init__(
        self,
        to: str,
        session: Session,
        parameters: FailoverParameters,
        relay: Node,
        deadline_s: float,
    ) -> None:
        self._to = to
        self._session = session
        self._parameters = parameters
        self._relay = relay
        self._deadline_s = deadline_s
        self._seen = "nothing"
        self.reported: _Reported | None = None
        self.answer: FirstAnswer | None = None

    def run(self, change: Callable[[], None], reached: Callable[[Route], bool]) -> None:
        """Streams, the change, the report, an answer, a little more of the streams."""
        session, parameters = self._session, self._parameters
        lasting_s = 2 * self._deadline_s + 2 * parameters.hold_s + SLACK_S
        echo = Echo(session, lasting_s)
        streams = [
            steady_stream(
                session,
                rate_pps=parameters.rate_pps,
                packet_size=parameters.packet_size,
                lasting_s=lasting_s,
                upward=upward,
            )
            for upward in (True, False)
        ]
        for stream in streams:
            stream.start()
        self.before = self._hold()
        self.begun_ns = time.monotonic_ns()
        change()
        self._await(reached)
        if self.reported is not None:
            self.answer = echo.first_answer(interval_us=ASK_EVERY_US, deadline_s=self._deadline_s)
        self.after = self._hold()
        self.trials = [stream.stop() for stream in streams]
        echo.close()

    def _hold(self) -> int:
        """Packets that arrive at the relay in the time on one route."""
        before = received_packets(self._relay)
        time.sleep(self._parameters.hold_s)  # part of the method
        return received_packets(self._relay) - before

    def _await(self, reached: Callable[[Route], bool]) -> None:
        """Read the program's report until it is the other route, or time is up."""
        looked_ns = self.begun_ns
        while time.monotonic_ns() < self.begun_ns + self._deadline_s * 1e9:
            before_ns = time.monotonic_ns()
            with suppress(VpnError):  # between two tunnels there may be none
                route = self._session.vpn.determine_route(self._session.path)
                self._seen = str(route)
                if reached(route):
                    now_ns = time.monotonic_ns()
                    self.reported = _Reported(now_ns, now_ns - looked_ns)
                    return
            if survivors(self._session.vpn):
                return
            looked_ns = before_ns
            time.sleep(LOOK_EVERY_S)  # a report is not signalled

    def add_to(self, outcome: Outcome) -> None:
        lost = max(map(lost_packets, self.trials))
        prefix = f"to_{self._to}"
        values = {
            f"{prefix}_outage_ms": 1e3 * lost / self._parameters.rate_pps,
            f"{prefix}_lost_packets": lost,
        }
        if self.reported is not None:
            values |= {
                f"{prefix}_reported_ms": (self.reported.at_ns - self.begun_ns) / 1e6,
                f"{prefix}_resolution_ms": self.reported.resolution_ns / 1e6,
            }
        outcome.metrics += measured(Failover.metrics, values)
        for when, count in (("before", self.before), ("after", self.after)):
            labels = {"switch": self._to, "when": when}
            outcome.metrics += measured(Failover.metrics, {"relay_packets": count}, labels)
        outcome.series += self._series()
        outcome.doubts += self._checks()

    def _series(self) -> list[Series]:
        return [
            arrivals(trial.sunk, switch=self._to, direction=direction)
            for trial, direction in zip(self.trials, ("up", "down"), strict=True)
        ]

    def _checks(self) -> list[Check]:
        remedy = f"this VPN may need more time or traffic: raise {self._to}_max or rate"
        switched = Crossing(
            f"the path becomes {self._name}",
            self.reported is not None,
            f"{self._session.path}: after {self._deadline_s:g} s at most, "
            f"the program reports {self._seen}",
            remedy,
            of_the_vpn=True,
        )
        if self.reported is None:
            return [switched]
        return [
            switched,
            Crossing(
                f"traffic came back ({self._name})",
                self.answer is not None,
                "packets went through again"
                if self.answer
                else f"no packet went through for {self._deadline_s:g} s after the report",
                remedy,
                of_the_vpn=True,
            ),
            *self._crossings(),
        ]

    def _crossings(self) -> list[Check]:
        """Whether packets cross the relay exactly while the path is relayed."""
        both_ways = 2 * self._parameters.rate_pps * self._parameters.hold_s
        return [
            judge_steady_route(
                f"the route of packets {when} the switch to {self._to}",
                self._relay.name,
                crossed=count,
                sent=both_ways,
                relayed=(when == "after") == (self._to == "relay"),
            )
            for when, count in (("before", self.before), ("after", self.after))
        ]

    @property
    def _name(self) -> str:
        return "relayed" if self._to == "relay" else "direct again"


def received_packets(node: Node) -> int:
    """Packets that a node's link has delivered so far."""
    shown = node.run(["ip", "-j", "-s", "link", "show", "dev", node.underlay.device]).stdout
    return int(read_json(shown)[0]["stats64"]["rx"]["packets"])


def _was_direct(dropped: int) -> Check:
    return Check(
        "the block dropped packets",
        dropped > 0,
        f"{dropped} UDP packets between the two members were dropped",
        "the path was not direct over UDP: see the VPN's own status",
    )

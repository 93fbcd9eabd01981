"""``reachability``: whether two members reach each other, which way, and how soon.

::

    members joined ── requests ── first answer ── direct, or relayed for good ── TCP ── proof
                      └────── first_packet_ms ┘
                      └────────── direct_ms ───────────┘

The route is the result, not a claim of the variant: it is what the program reports, and it is
proved by the packets that cross the relay during the TCP connection. No answer is a result too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.errors import CulvertError, DeadlineExceeded, ProbeError, VpnError
from culvert.labs.node import Node
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.parameters import Duration
from culvert.measurements.tcp.tcp import Tcp, TcpParameters, bare_ceiling, filling
from culvert.measurements.tunnel.stream import begin_requests
from culvert.metrics import Better, MetricSpec, Weight
from culvert.proof.alive import survivors
from culvert.proof.capture import no_clear_text
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth, exactly
from culvert.results import Metric
from culvert.trial.check import Check
from culvert.trial.echo import Echo
from culvert.trial.outcome import Outcome
from culvert.trial.outside import View
from culvert.trial.session import Found, Session
from culvert.units import DurationS
from culvert.vpns.lifecycle import groups
from culvert.vpns.variant import DIRECT, Route
from culvert.waiting import wait_until

ASK_EVERY_US = 5000
LOOK_EVERY_S = 0.05
"""Interval of reading the program's report of the route."""
STREAM_PPS = 200
"""Requests per second while the path may still become direct: some VPNs need traffic for that."""
SLACK_S = 5.0
STARTING_NS = 5e6
"""A request each 5 ms: the first may come so much later than the beginning."""


class ReachabilityParameters(BaseParameters):
    """Limits of the waits, and the duration of the TCP connection."""

    give_up_s: Annotated[DurationS, Field(gt=0, le=600)] = Field(30.0, alias="give_up")
    """Time without an answer after which there is no path."""
    settle_s: Annotated[DurationS, Field(ge=0, le=600)] = Field(15.0, alias="settle")
    """Time after the first answer in which the path may become direct."""
    duration_s: Annotated[Duration, Field(le=600)] = 3.0
    """Measured time of the TCP connection over the path."""


class Reachability(Measurement[ReachabilityParameters]):
    """One start of all members, and one path."""

    kind: ClassVar[str] = "reachability"
    title: ClassVar[str] = "Reachability"
    summary: ClassVar[str] = "direct, relayed or no path; time to the first packet and to direct"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec("direct", "1", "The path is direct", Better.MORE, Weight.KEY),
        MetricSpec("relayed", "1", "The path is relayed"),
        MetricSpec("no_path", "1", "There is no path", Better.LESS, Weight.KEY),
        MetricSpec(
            "first_packet_ms",
            "ms",
            "Until the first packet is answered",
            Better.LESS,
            Weight.MAIN,
            ways=1,
        ),
        MetricSpec("direct_ms", "ms", "Until the path is direct", Better.LESS),
        MetricSpec("direct_resolution_ms", "ms", "Interval in which it became direct"),
        MetricSpec("join_s", "s", "Until all members have joined", Better.LESS),
        MetricSpec("goodput_bps", "bit/s", "TCP goodput", Better.MORE, Weight.KEY),
        MetricSpec("ceiling_goodput_bps", "bit/s", "Goodput beside the tunnel"),
    )
    Parameters = ReachabilityParameters
    drives_tunnel: ClassVar[bool] = True
    joins_members: ClassVar[bool] = True
    accounts: ClassVar[bool] = False

    @classmethod
    def estimate_s(cls, parameters: ReachabilityParameters) -> float:
        """Seconds of one trial, approximately: a relayed path waits the whole ``settle``."""
        return parameters.settle_s + parameters.duration_s + SLACK_S

    @classmethod
    def truths(cls, known: KnownPath, parameters: ReachabilityParameters) -> Sequence[Truth]:
        words = "one round trip, and the time to start"
        found = filling(known, "goodput_bps", parameters.duration_s, True)
        found += bare_ceiling(known, True)
        found += known.times(
            ["first_packet_ms"], "ms", known.round_trip_ns(), words, longer_ns=STARTING_NS
        )
        if known.bare:
            found += [exactly("direct", 1.0, "no relay"), exactly("no_path", 0.0, "nothing blocks")]
        return found

    def run(self, session: Session, parameters: ReachabilityParameters) -> Outcome:
        """Start the members, send requests, wait for the route, and measure it."""
        ends = (session.source, session.target)
        captures = [session.outside.begin(node.name, View.NODE, record=0) for node in ends]
        for capture in captures:
            capture.ready()
        attempt = _Attempt(session, parameters)
        session.found = Found(attempt.route)
        captured = [capture.end() for capture in captures]
        outcome = Outcome(attempt.metrics, [])
        if session.vpn.outer_flow is not None:
            outcome.doubts = [
                no_clear_text(each, f"at {node.name}, while the path comes up")
                for node, each in zip(ends, captured, strict=True)
            ]
        outcome.doubts.append(attempt.check)
        if attempt.route is not None:
            _add_goodput(session, parameters, outcome)
        return outcome


class _Attempt:
    """One attempt to reach the target. ``route`` None: no answer came, for the reason ``why``."""

    def __init__(self, session: Session, parameters: ReachabilityParameters) -> None:
        self._session = session
        self._parameters = parameters
        self.route: Route | None = None
        self.why = ""
        self._join_trouble = ""
        self._times: list[Metric] = []
        try:
            self._join()
            self._reach()
        except VpnError as error:
            self._no_path(error)

    @property
    def metrics(self) -> list[Metric]:
        """The outcome as three shares of 0 or 1, and the times that there are."""
        reached, direct = self.route is not None, self.route == DIRECT
        return [
            Metric("direct", "1", direct),
            Metric("relayed", "1", reached and not direct),
            Metric("no_path", "1", not reached),
            *self._times,
        ]

    @property
    def check(self) -> Check:
        """The result in words; it never fails."""
        return Check(
            "the route of the path",
            passed=True,
            detail=f"{self._session.path}: {self.route or f'no path: {self.why}'}",
            figures={"route": None if self.route is None else str(self.route)},
        )

    def _join(self) -> None:
        """All members; paths are not waited for. A member behind a block may lack what its driver
        waits for and be reached all the same: requests decide."""
        begun = time.monotonic()
        vpn, troubles = self._session.vpn, []
        for group in groups(vpn, vpn.joining):
            with ThreadPoolExecutor(len(group)) as pool:
                troubles += [error for error in pool.map(self._joined, group) if error is not None]
        for error in troubles:
            self._excuse(error)
        self._join_trouble = "; ".join(map(str, troubles))
        self._times.append(Metric("join_s", "s", time.monotonic() - begun))

    def _joined(self, member: Node) -> VpnError | None:
        try:
            self._session.vpn.join(member)
        except VpnError as error:
            return error
        return None

    def _reach(self) -> None:
        session, vpn = self._session, self._session.vpn
        begun_ns = None
        if session.source.name not in {node.name for node in vpn.joining}:
            # The initiator of a tunnel is not a member yet: it is started here.
            begun_ns = session.source.monotonic_ns()
            vpn.reach(session.path)
        if not self._have_addresses():
            why = filter(None, ("an end has no address inside the VPN", self._join_trouble))
            raise VpnError(vpn.id, "; ".join(why), "see the log of its program")
        lasting_s = self._parameters.give_up_s + self._parameters.settle_s + SLACK_S
        echo = Echo(session, lasting_s)
        answer = echo.first_answer(interval_us=ASK_EVERY_US, deadline_s=self._parameters.give_up_s)
        if answer is None:
            waited = f"no answer within {self._parameters.give_up_s:g} s"
            self.why = "; ".join(filter(None, (waited, self._join_trouble)))
        else:
            since_ns = answer.started_ns if begun_ns is None else begun_ns
            first_ms = (answer.answered_ns - since_ns) / 1e6
            self._times.append(Metric("first_packet_ms", "ms", first_ms))
            self._settle(echo, since_ns=since_ns)
        with suppress(ProbeError):  # its address may have gone with the tunnel
            echo.close()

    def _have_addresses(self) -> bool:
        """Whether both ends have their inner address: at once if a member has not joined."""
        ends = (self._session.source, self._session.target)
        try:
            return wait_until(
                lambda: all(map(self._has_address, ends)),
                what="the inner addresses of both ends",
                deadline_s=0 if self._join_trouble else self._parameters.give_up_s,
                poll_s=LOOK_EVERY_S / 10,
            )
        except DeadlineExceeded:
            return False

    def _has_address(self, node: Node) -> bool:
        link = node.link(self._session.vpn.interface(node))
        address = self._session.inner(node)
        return link is not None and address in {str(each.ip) for each in link.addresses}

    def _settle(self, echo: Echo, *, since_ns: int) -> None:
        """Requests at a steady rate until the program reports the direct path, or time is up."""
        lasting_s = self._parameters.settle_s + SLACK_S
        stream = begin_requests(echo, rate_pps=STREAM_PPS, lasting_s=lasting_s)
        now_ns, looked_ns = self._session.source.monotonic_ns, since_ns

        def direct() -> int | None:
            nonlocal looked_ns
            before_ns = now_ns()
            with suppress(CulvertError):  # a program may not know the path yet
                self.route = self._session.vpn.determine_route(self._session.path)
            if self.route == DIRECT:
                return now_ns()
            looked_ns = before_ns
            return None

        try:
            found_ns = wait_until(
                direct,
                what="a direct path",
                deadline_s=self._parameters.settle_s,
                poll_s=LOOK_EVERY_S,
            )
        except DeadlineExceeded:
            pass
        else:
            self._times += [
                Metric("direct_ms", "ms", (found_ns - since_ns) / 1e6),
                Metric("direct_resolution_ms", "ms", (found_ns - looked_ns) / 1e6),
            ]
        finally:
            stream.stop()
        if self.route is None:
            raise VpnError(
                self._session.vpn.id,
                "packets are answered, but the program reports no route of the path",
                "report this: determine_route() of its driver",
            )

    def _no_path(self, error: VpnError) -> None:
        """A VPN that does not come up behind NATs or blocks has no path; else it has failed."""
        self._excuse(error)
        if any(metric.name == "first_packet_ms" for metric in self._times):
            raise error
        self.route, self.why = None, str(error)

    def _excuse(self, error: VpnError) -> None:
        """Raise the error unless something is in the way and all programs live."""
        nodes = self._session.lab.spec.topology.nodes
        obstructed = any(node.nat is not None or node.blocks_udp for node in nodes)
        if not obstructed or survivors(self._session.vpn):
            raise error


def _add_goodput(session: Session, parameters: ReachabilityParameters, outcome: Outcome) -> None:
    """The TCP connection, with everything that proves its route."""
    declared = {spec.name for spec in Reachability.metrics}
    tcp = Tcp().run(
        session, TcpParameters.model_validate({"duration": f"{parameters.duration_s}s"})
    )
    outcome.metrics += [metric for metric in tcp.metrics if metric.name in declared]
    # The driver knows the lengths of packets on the route that it claims, not on another one.
    as_claimed = session.route == session.vpn.route(session.path)
    outcome.watched, outcome.traffic = tcp.watched, tcp.traffic if as_claimed else None
    outcome.goodput_bytes, outcome.series = tcp.goodput_bytes, tcp.series
    outcome.doubts += tcp.doubts

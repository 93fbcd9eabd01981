"""``leak``: what leaves a client in clear text while its tunnel comes, runs, fails and changes.

::

    applications send ── answered by the tunnel ── event ── leak ... leak ── hold ── end
                                                     └── first_leak_ms ┘
                                                     └── last_leak_ms ──────┘

The provider's router sees each packet that leaves the client. One that is not the tunnel's is a
leak; one that waits, or that the kernel refuses, is none.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.errors import DeadlineExceeded, NotPossible, VpnError
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.leak.client import (
    SLOWER,
    Applications,
    fall_silent,
    provider_of,
    public_host,
)
from culvert.measurements.leak.phases import Phase, PhaseAction, action_for
from culvert.measurements.leak.resolver import ResolverKind, resolver_of
from culvert.measurements.leak.watched import Watched, silent
from culvert.metrics import Better, MetricSpec, Weight
from culvert.probe.client import Task
from culvert.probe.results import FlowTally, LeakKind, Leaks, parse
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth, exactly
from culvert.results import Label
from culvert.topology.graph import Role
from culvert.trial.outcome import Outcome
from culvert.trial.outside import capture_parameters
from culvert.trial.session import Session
from culvert.units import DurationS, PerSecond
from culvert.vpns.abilities import full_tunnel
from culvert.vpns.variant import Carried
from culvert.waiting import wait_until

LEAD_S = 0.5
"""Of the applications before the event, or after a watch of one that brings the tunnel up; again,
until each flow was answered."""
MOST_LEADS = 10
"""On a busy or slow machine the first answer takes longer than LEAD_S; a SYN that was dropped is
sent again after a second."""
EVENT_S = 60.0
"""Upper bound of the duration of an event's commands, without the time for which it holds."""
RECOVER_S = 3.0
"""Longest time for an answer after the watch, before the client is started anew for the proof."""
_ANSWER_S = 0.2
_ENDING_S = 15.0


class LeakParameters(BaseParameters):
    """The phase, and the applications."""

    phase: Annotated[Phase, Label("phase {}")] = Phase.RUN
    """What happens to the tunnel."""
    hold_s: Annotated[DurationS, Field(gt=0, le=3600)] = Field(5.0, alias="hold")
    """Time for which leaks are looked for after the phase, and between its two steps."""
    suspend_s: Annotated[DurationS, Field(gt=0, le=3600)] = Field(60.0, alias="suspend")
    """Time for which programs are frozen, for `phase = "suspend"`."""
    rate_pps: Annotated[PerSecond, Field(ge=5, le=1000)] = Field(50, alias="rate")
    """Datagrams and requests of a stream a second, each; connections, pings and look-ups of names
    are five times as rare."""
    resolver: Annotated[ResolverKind, Label("names by {}")] = ResolverKind.LIBC
    """What looks up the names of applications."""
    ipv6: bool = True
    """Whether the provider has IPv6: with false the client has no address and no route of it."""


class Leak(Measurement[LeakParameters]):
    """One phase in each trial, on a new tunnel."""

    kind: ClassVar[str] = "leak"
    title: ClassVar[str] = "Leak"
    summary: ClassVar[str] = "packets that leave a client beside its tunnel, by phase and by kind"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec("leaked_packets", "packets", "Leaked packets", Better.LESS, Weight.MAIN),
        MetricSpec("leaked_bytes", "bytes", "Leaked bytes", Better.LESS),
        MetricSpec("clear_dns_queries", "packets", "DNS queries in clear", Better.LESS, Weight.KEY),
        MetricSpec("first_leak_ms", "ms", "From the event to the first leak"),
        MetricSpec("last_leak_ms", "ms", "From the event to the last leak", Better.LESS),
        MetricSpec("leaked_before_packets", "packets", "Leaked before the event", Better.LESS),
        MetricSpec("watched_ms", "ms", "Time from the event to the end of the watch"),
        MetricSpec("attempted_messages", "packets", "Messages of the applications"),
        MetricSpec("answered_messages", "packets", "Messages that were answered"),
        MetricSpec("tunnel_packets", "packets", "Packets of the tunnel at the provider"),
        MetricSpec("longest_pause_ms", "ms", "Longest time without a message of a flow"),
    )
    Parameters = LeakParameters
    drives_tunnel: ClassVar[bool] = True
    accounts: ClassVar[bool] = False

    @classmethod
    def estimate_s(cls, parameters: LeakParameters) -> float:
        """Seconds of one trial, approximately: it depends on the VPN."""
        suspended_s = parameters.suspend_s if parameters.phase is Phase.SUSPEND else 0.0
        twice = parameters.phase in (Phase.RECONNECT, Phase.LINK)
        return 2 * LEAD_S + (2 if twice else 1) * parameters.hold_s + suspended_s

    @classmethod
    def truths(cls, known: KnownPath, parameters: LeakParameters) -> Sequence[Truth]:
        if not known.bare or parameters.phase is not Phase.RUN:
            return []
        found = [exactly("tunnel_packets", 0.0, "no tunnel")]
        for kind, every in ((LeakKind.UDP, 1), (LeakKind.ICMP, SLOWER)):
            sent = parameters.rate_pps * parameters.hold_s / every
            margin = max(0.02 * sent, 2.0)
            words, labels = "everything leaks", {"kind": kind.value}
            ends = (sent - margin, sent + margin)
            found.append(Truth("leaked_packets", sent, *ends, words, labels=labels))
        return found

    def run(self, session: Session, parameters: LeakParameters) -> Outcome:
        """Applications, event, hold; then the tunnel is up again for the proof."""
        resolver = resolver_of(parameters.resolver, session.source)
        action = action_for(parameters.phase, resolver, parameters.hold_s, parameters.suspend_s)
        return watch(session, parameters, action)


def watch(session: Session, parameters: LeakParameters, action: PhaseAction) -> Outcome:
    """Look for leaks during one phase."""
    _require(session, action)
    if not parameters.ipv6:
        _without_ipv6(session)
    if action.up_before:
        session.vpn.reach(session.path)
    lasting_s = MOST_LEADS * LEAD_S + EVENT_S + 3 * parameters.hold_s + parameters.suspend_s
    leaks = _begin_leaks(session, lasting_s)
    applications = Applications(session, action.resolver, parameters.rate_pps, lasting_s)
    carries = session.vpn.carries
    before = _lead(applications, carries, MOST_LEADS if action.up_before else 1)
    event_ns = session.source.realtime_ns()
    halted = action.halted(session)
    action.cause(session)
    time.sleep(parameters.hold_s)  # part of the method
    after = applications.renew()
    ended_ns = session.source.realtime_ns()
    found = parse(Leaks, leaks.stop(_ENDING_S))
    reached = before if action.up_before else _lead(applications, carries, MOST_LEADS)
    looked_up = [*action.resolver.checks()]
    applications.close()
    fall_silent(session)
    action.undo(session)
    _recover(session)
    watched = Watched(found, reached, after, event_ns, ended_ns, action.up_before)
    return Outcome(
        metrics=list(watched.metrics()),
        watched=[],
        series=watched.series(),
        doubts=[
            *looked_up,
            *watched.checks(session, frozen=bool(halted), ipv6=parameters.ipv6),
        ],
        halted=halted,
    )


def _lead(applications: Applications, carries: Carried, most: int) -> Mapping[str, FlowTally]:
    """The messages of the last LEAD_S seconds."""
    for left in reversed(range(most)):
        time.sleep(LEAD_S)  # part of the method
        tallies = applications.renew()
        if not (left and silent(tallies, carries)):
            break
    return tallies


def _require(session: Session, action: PhaseAction) -> None:
    public_host(session)
    if session.vpn.outer_flow is not None:
        full_tunnel(session.vpn)
    action.require(session)
    action.resolver.require()
    for role in (Role.ROUTER, Role.PUBLIC):
        node = session.lab.of_role(role)[0]
        if node.name not in session.others:
            raise NotPossible(f"node {node.name}", "has no probe", "use the lab netns")


def _begin_leaks(session: Session, lasting_s: float) -> Task:
    router = session.lab.of_role(Role.ROUTER)[0]
    request = capture_parameters(session.vpn.outer_flow, session.canary)
    task = session.others[router.name].begin(
        "leaks",
        device=provider_of(session, session.source).device,
        canaries=request["canaries"],
        flow=request.get("flow"),
        duration_max_s=lasting_s + _ENDING_S,
    )
    task.ready()
    return task


def _without_ipv6(session: Session) -> None:
    """The client has a link-local address and listens to routers, but none speaks."""
    client = session.source
    device = client.underlay.device
    client.run(["ip", "-6", "route", "del", "default", "dev", device], check=False)
    client.run(["ip", "-6", "address", "flush", "dev", device, "scope", "global"])


def _recover(session: Session) -> None:
    """The tunnel carries packets again, if need be after a start of the client."""
    if session.vpn.outer_flow is None:
        return

    def up() -> bool:
        address = str(session.vpn.traffic_address(session.target))
        answer = session.a.call(
            "echo_once",
            5.0,
            to=address,
            payload_size=64,
            df=False,
            timeout_ms=round(1e3 * _ANSWER_S),
            attempts=1,
            **session.marks,
        )
        return bool(answer.get("answered"))

    if session.vpn.processes[session.source.name]:
        with suppress(DeadlineExceeded):
            wait_until(up, what="the tunnel carries packets", deadline_s=RECOVER_S, poll_s=0.05)
            return
    with suppress(VpnError):
        session.vpn.leave(session.source)
    session.vpn.reach(session.path)

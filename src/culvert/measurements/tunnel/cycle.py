"""One start of a tunnel: its times, its phases and its checks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from culvert.errors import DeadlineExceeded, ProbeError, VpnError
from culvert.labs.process import Process, Usage
from culvert.measurements.clocks import by_clock_of
from culvert.measurements.tunnel.phases import Phases, judge_lengths, phases_of
from culvert.measurements.tunnel.starts import Precedence, Starting
from culvert.probe.client import Task
from culvert.probe.results import Captured, FirstAnswer, parse
from culvert.proof.capture import judge_capture
from culvert.trial.check import Check
from culvert.trial.echo import Echo
from culvert.trial.outside import View
from culvert.trial.session import Session
from culvert.vpns.facts import log_tail

RECORDED_PACKETS = 50_000
RECORDED_BYTES = 64
SLACK_S = 5.0
FACTS_OF_A_START = 4
"""A driver waits for several (a socket, keys ...), each for as long as a start may take."""
STAMPS_APART_MS = 1.0
"""By this much a stamp of the link may be before the command that caused the packet."""


@dataclass(frozen=True)
class Cycle:
    """``times_ms`` count from the command, except the handshake's duration; the tunnel came up
    within ``resolution_ms`` before its first answer."""

    begun_ns: int
    times_ms: Mapping[str, float]
    phases: Phases
    resolution_ms: float
    attempts: int
    used: Sequence[tuple[Process, Usage]]
    """What each process that was started has used since."""
    checks: Sequence[Check]


def cycle(session: Session, start: Starting, *, up: bool, pause_s: float) -> Cycle:
    """Start the tunnel once. ``up``: one is up and must end first."""
    deadline_s = max(session.vpn.up_deadline_s, start.answer_max_s)
    longest_s = FACTS_OF_A_START * deadline_s
    # First: if node b's side ends, the reflector's address is removed.
    echo = Echo(session, pause_s + longest_s + 2 * SLACK_S)
    if up:
        start.end(session)
    time.sleep(pause_s)  # a parameter of the study
    capture = session.outside.begin(
        session.source.name, View.NODE, record=RECORDED_PACKETS, snaplen_record=RECORDED_BYTES
    )
    capture.ready()
    answer = echo.begin_first_answer(interval_us=start.request_interval_us, deadline_s=longest_s)
    answer.ready()
    begun_ns = session.source.monotonic_ns()
    start.begin(session)
    took_s = (session.source.monotonic_ns() - begun_ns) / 1e9
    try:
        found = _answered(answer, deadline_s)
    except ProbeError as error:
        raise _no_answer(session, error, took_s) from error
    used = [(each, use) for each in start.started(session) if (use := each.usage())]
    captured = capture.end()
    echo.close()
    precedence = start.precedes(session)
    command_ns = _command_ns(session, start, found, begun_ns)
    # The tunnel came up between two requests: the later of them was answered.
    before_ns = max(found.previous_sent_ns or found.first_sent_ns, command_ns)
    phases = phases_of(session.vpn, captured.recorded)
    times_ms = _times_ms(found, phases, command_ns)
    return Cycle(
        begun_ns=begun_ns,
        times_ms=times_ms,
        phases=phases,
        resolution_ms=max(found.first_sent_ns - before_ns, 0) / 1e6,
        attempts=found.attempts,
        used=used,
        checks=_checks(session, captured, found, precedence, times_ms),
    )


def _answered(answer: Task, deadline_s: float) -> FirstAnswer:
    """The first answer; if there is none in time, the error has the number of requests."""
    try:
        return parse(FirstAnswer, answer.result(deadline_s))
    except DeadlineExceeded:
        return parse(FirstAnswer, answer.stop())


def _command_ns(session: Session, start: Starting, found: FirstAnswer, begun_ns: int) -> int:
    """The moment that times count from, by the source's clock: of the first process that was
    executed, if there is one."""
    node, processes = start.restarted(session), start.started(session)
    if node is not None and processes:
        executed_ns = min(process.started_monotonic_ns for process in processes)
        return by_clock_of(session.source, session, node, executed_ns)
    if session.vpn.outer_flow is None:
        return found.first_sent_ns
    return found.started_ns if start.precedes(session) is Precedence.REQUEST else begun_ns


def _times_ms(found: FirstAnswer, phases: Phases, command_ns: int) -> dict[str, float]:
    realtime_ns = found.answered_realtime_ns - found.answered_ns + command_ns
    since_command = {
        "first_handshake_ms": phases.first_handshake_ns,
        "last_handshake_ms": phases.last_handshake_ns,
        "first_inner_ms": phases.first_inner_ns,
    }
    times_ms = {
        name: (at_ns - realtime_ns) / 1e6
        for name, at_ns in since_command.items()
        if at_ns is not None
    }
    times_ms["total_ms"] = (found.answered_ns - command_ns) / 1e6
    if phases.handshake_ns is not None:
        times_ms["handshake_ms"] = phases.handshake_ns / 1e6
    return times_ms


def _checks(
    session: Session,
    captured: Captured,
    found: FirstAnswer,
    precedence: Precedence,
    times_ms: Mapping[str, float],
) -> list[Check]:
    offset_ns = found.answered_realtime_ns - found.answered_ns
    return [
        *judge_capture(
            session.vpn,
            captured,
            "during initiation",
            corruption=session.link.impairment.corrupts,
            duplication=session.link.impairment.duplicates,
        ),
        *judge_lengths(
            session.vpn,
            captured,
            most_recorded=RECORDED_PACKETS,
            sent_ns=found.first_sent_ns + offset_ns,
            answered_ns=found.answered_realtime_ns,
        ),
        *_handshake_after(precedence, times_ms.get("first_handshake_ms")),
        _answered_after_command(times_ms["total_ms"]),
    ]


def _handshake_after(precedence: Precedence, first_ms: float | None) -> list[Check]:
    if precedence is Precedence.NOTHING or first_ms is None:
        return []
    return [
        Check(
            f"the {precedence} started the handshake",
            first_ms >= -STAMPS_APART_MS,
            f"the first packet of the handshake was on the link {first_ms:.3f} ms after the "
            f"{precedence}",
            "this VPN initiates when a packet for the tunnel comes, and the measurement's echo "
            "requests come before the command: set on_demand = True in its driver",
        )
    ]


def _answered_after_command(total_ms: float) -> Check:
    return Check(
        "the first answer came after the command",
        total_ms > 0,
        f"{total_ms:.3f} ms from the command to the first answer",
        "the tunnel was still up, or traffic reaches the inner address around it: check that "
        "the driver's drop() or leave() ends it at both ends, and the routes",
    )


def _no_answer(session: Session, error: ProbeError, took_s: float) -> VpnError:
    """With the ends of the programs' logs, and the routes: they are removed with the lab."""
    ends = (session.source, session.target)
    logs = [
        f"; {process.name} on node {node.name}{log_tail(process)}"
        for node in ends
        for process in session.vpn.processes[node.name]
    ]
    why = f"{error.why}; the start took {took_s:.1f} s; {_routes(session)}{''.join(logs)}"
    return VpnError(session.vpn.id, f"{error.what}: {why}", error.remedy)


def _routes(session: Session) -> str:
    """The source's rules, and its routes to the target's inner address."""
    ip = session.source.require("ip", "apt-get install iproute2")
    to_target = ["route", "show", "table", "all", "match", session.inner(session.target)]
    printed = [session.source.run([ip, *words]).stdout for words in (["rule"], to_target)]
    rules, routes = (" | ".join(map(str.strip, text.splitlines())) for text in printed)
    return f"rules of node {session.source.name}: {rules}; routes: {routes or 'none'}"

"""Whether the VPN still works when the measurement has ended.

A program that is stopped (SIGSTOP, a debugger, a full terminal) ends nothing and reports nothing:
packets wait or are lost in silence, and figures of the time before look sound.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any

from culvert.labs.process import REMEDY_IF_STOPPED, Process, how_ended, remedy_for
from culvert.proof.canary import echo_marked
from culvert.results import Series
from culvert.topology.link.impairment import OneWay
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.base import Vpn
from culvert.vpns.facts import log_tail

PROCESSES_LIVED = "the VPN's processes lived"
PROCESSES_RUN = "the VPN's processes run"
STILL_CARRIES = "the tunnel still carries packets at the end"
NO_SILENCE = "packets arrived until the end"
PACKETS = 8
ROUNDS = 5
"""After a flood the queues may be full: a round whose echoes are lost is repeated."""
SILENCE_NS = 1_000_000_000
"""A shorter silence may be a retransmission timeout of TCP, or the sink's wait for late packets."""
SILENCE_SHARE = 0.2
_RECEIVED = ("received_bytes", "received_packets")


class ProcessFailure(Check):
    """A failed check of a VPN's process that has ended, is stopped, or may be starved."""


def survivors(vpn: Vpn) -> list[Check]:
    """Failed checks of the VPN's processes that have ended, are stopped, or were moved to where
    their processor time may be limited; none if all work."""
    return [
        failure
        for name, processes in vpn.processes.items()
        for process in processes
        if (failure := _failure(process, name)) is not None
    ]


def _failure(process: Process, node: str) -> ProcessFailure | None:
    if not process.alive():
        code = process.returncode()
        check, what = PROCESSES_LIVED, f"{how_ended(code)}{log_tail(process)}"
        remedy = remedy_for(
            code, otherwise="see the error in its log; try it by hand with 'culvert up'"
        )
    elif stopped := process.stopped():
        numbers = ", ".join(map(str, stopped))
        check = PROCESSES_RUN
        what = (
            f"is stopped (process {numbers}: SIGSTOP, or a tracer), so it handles no packets"
            + log_tail(process)
        )
        remedy = REMEDY_IF_STOPPED
    elif (group := process.moved_to()) is not None:
        check = PROCESSES_RUN
        what = f"was moved to the control group {group}, which may limit its processor time"
        remedy = (
            "find the program that moves processes (a supervisor, a resource manager), then repeat "
            "the trial"
        )
    else:
        return None
    detail = f"{process.name} on node {node} {what}"
    return ProcessFailure(check, passed=False, detail=detail, remedy=remedy)


def still_carries(session: Session[Any]) -> Check:
    """A few marked echoes cross the tunnel after the measurement."""
    sent = received = 0
    for number in range(ROUNDS):
        answered = echo_marked(session, at_most=PACKETS, patient=number > 0)
        sent += answered.sent
        received += answered.received
        if received or survivors(session.vpn):
            break
    return Check(
        STILL_CARRIES,
        received > 0,
        f"{received} of {sent} marked packets came back after the measurement",
        "the tunnel stopped during the measurement: see the VPN's log, and whether its processes "
        "get processor time",
    )


def ends_in_silence(session: Session[Any], outcome: Outcome) -> list[Check]:
    """Checks of each series of received packets or bytes.

    None on a link that is requested to lose packets or to be dark: silence is part of its result.
    """
    if any(map(_may_be_silent, session.link.impairment.ways)):
        return []
    allowed_ns = 1_000_000 * session.patience_ms(SILENCE_NS // 1_000_000)
    return list(_silences(outcome, allowed_ns))


def silence_ns(series: Series) -> int:
    """Time from the end of the last interval with a packet to the end of the series."""
    ends = [t_ns for t_ns, value in zip(series.t_ns, series.values, strict=True) if value]
    if not series.t_ns:
        return 0
    return series.t_ns[-1] - (ends[-1] if ends else series.t_ns[0])


def longest_silence(series: Series) -> tuple[int, int]:
    """Of intervals without a packet between others: its begin after the series', and its duration,
    in ns. It is reported and not judged: a rekey is silent too."""
    full = [number for number, value in enumerate(series.values) if value]
    silent = [
        (series.t_ns[before] - series.t_ns[0], series.t_ns[after - 1] - series.t_ns[before])
        for before, after in pairwise(full)
    ]
    return max(silent, key=itemgetter(1), default=(0, 0))


def _silences(outcome: Outcome, allowed_ns: int) -> Iterator[Check]:
    for series in outcome.series:
        if series.name not in _RECEIVED or len(series.t_ns) < 2:
            continue
        lasted_ns = series.t_ns[-1] - series.t_ns[0]
        silent_ns = silence_ns(series)
        from_ns, longest_ns = longest_silence(series)
        before = f"; before, for {longest_ns / 1e9:.2f} s from {from_ns / 1e9:.2f} s on"
        direction = series.labels.get("direction")
        yield Check(
            NO_SILENCE,
            silent_ns <= max(allowed_ns, SILENCE_SHARE * lasted_ns),
            f"nothing arrived in the last {silent_ns / 1e9:.2f} s of {lasted_ns / 1e9:.2f} s "
            f"({series.name}{f', {direction}' if direction else ''}){before if longest_ns else ''}",
            "the tunnel stopped during the measurement, whatever it does now: see the VPN's log",
            {
                "silent_ns": silent_ns,
                "lasted_ns": lasted_ns,
                "longest_silent_ns": longest_ns,
                "longest_from_ns": from_ns,
            },
        )


def _may_be_silent(way: OneWay) -> bool:
    return bool(
        way.loss
        or way.blackout
        or way.trace
        or way.drop_udp
        or way.drop_fragments
        or way.drop_size_and_above
    )

"""``initiation``: the time until a VPN carries the first packet.

::

    command ──── handshake: first ... last packet ──── first inner packet ──── its answer
    └──────────────────────────────── total ──────────────────────────────────────────┘
                 └──────── handshake ─────────┘

Total runs from the command (the execution of a program, or the request to initiate) to the
arrival of the answer to an inner packet; no log is read, so no logging delay must be subtracted
(dekker2020, 5.3.3). The phases come from the packets' timestamps at node a's end of the
link, taken by the kernel or the wire.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.errors import NotPossible, ProbeError, VpnError
from culvert.labs.process import Process
from culvert.labs.witness import View
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.tunnel.phases import judge_lengths, phases_of
from culvert.measurements.tunnel.starts import STARTS, Precedence, Start, Starting
from culvert.metrics import Better, Effect, HeadlineColumn, MetricSpec, Weight
from culvert.probe.results import FirstAnswer, ProcessUse, parse
from culvert.proof.capture import judge_capture
from culvert.results import Label, Metric, Series, measured
from culvert.trial.accounting import EVERYBODY
from culvert.trial.accounts import add_accounts
from culvert.trial.check import Check
from culvert.trial.echo import Echo
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationS
from culvert.vpns.base import Vpn
from culvert.vpns.facts import log_tail

RECORDED_PACKETS = 50_000
RECORDED_BYTES = 64
SLACK_S = 5.0
STAMPS_APART_MS = 1.0
"""By this much a stamp of the link may be before the command that caused the packet."""
TIMES = (
    MetricSpec("first_handshake_ms", "ms", "Until the first packet of the handshake"),
    MetricSpec("last_handshake_ms", "ms", "Until the last packet of the handshake"),
    MetricSpec("first_inner_ms", "ms", "Until the first encrypted packet"),
    MetricSpec("handshake_ms", "ms", "Handshake alone", Better.LESS, Weight.KEY),
    MetricSpec(
        "total_ms",
        "ms",
        "Until the first packet is answered",
        Better.LESS,
        Weight.MAIN,
        column=HeadlineColumn(
            "Connection up",
            key="up",
            place=50,
            effect=Effect.DIFFERENCE,
            superlative="Quickest to connect",
            sentence="is up in {}",
            absolute=True,
        ),
    ),
)


class InitiationParameters(BaseParameters):
    """Parameters of the starts of one trial."""

    cycles: Annotated[int, Field(ge=1, le=10_000), Label("{} starts", {1: "one start"})] = 5
    """Starts in each trial."""
    start: Annotated[Start, Label("{} start")] = Start.COLD
    """Which side is started, and which side keeps running."""
    pause_s: Annotated[DurationS, Field(ge=0, le=60), Label("a pause of {}", {"0s": ""})] = Field(
        0.0, alias="pause"
    )
    """Time before each start."""


class Initiation(Measurement[InitiationParameters]):
    """Starts of one kind, one after the other."""

    kind: ClassVar[str] = "initiation"
    title: ClassVar[str] = "Initiation"
    summary: ClassVar[str] = "time to the first inner packet, and of the handshake, from packets"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        *TIMES,
        MetricSpec("total_resolution_ms", "ms", "Interval of requests in which the tunnel came up"),
        MetricSpec("handshake_packets", "packets", "Packets of the handshake", Better.LESS),
        MetricSpec("handshake_bytes", "bytes", "Bytes of the handshake", Better.LESS),
        MetricSpec("handshake_fragments", "packets", "Fragments of the handshake", Better.LESS),
        MetricSpec("echo_attempts", "packets", "Echo requests until an answer", Better.LESS),
    )
    Parameters = InitiationParameters
    drives_tunnel: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: InitiationParameters) -> float:
        return parameters.cycles * (STARTS[parameters.start].expected_s + parameters.pause_s)

    def run(self, session: Session, parameters: InitiationParameters) -> Outcome:
        """Bring the tunnel up ``cycles`` times."""
        if session.vpn.no_initiation:
            raise NotPossible(session.vpn.id, session.vpn.no_initiation, "leave initiation out")
        start = STARTS[parameters.start]()
        cold = parameters.start is Start.COLD
        if not cold:
            start.prepare(session)
        cycles = []
        with session.account() as accounted:
            for number in range(parameters.cycles):
                up = not cold or number > 0
                cycles.append(_Cycle(session, start, up=up, pause_s=parameters.pause_s))
        restarted = start.restarted(session)
        if restarted is not None:
            processes = _together([use for cycle in cycles for use in cycle.processes])
            node = accounted[restarted.name]
            others = [process for process in node.processes if process.label in EVERYBODY]
            accounted[restarted.name] = node.model_copy(update={"processes": [*processes, *others]})
        outcome = Outcome(
            metrics=_metrics(cycles),
            watched=[],
            series=_series(cycles),
            doubts=_of_all([check for cycle in cycles for check in cycle.checks], len(cycles)),
        )
        add_accounts(session, outcome, accounted)
        return outcome


class _Cycle:
    """One start. ``times_ms`` count from the command, except the handshake's duration.

    ``up``: a tunnel is up and must end first.
    """

    def __init__(self, session: Session, start: Starting, *, up: bool, pause_s: float) -> None:
        vpn = session.vpn
        deadline_s = max(vpn.up_deadline_s, start.answer_max_s)
        # First: if node b's side ends, the reflector's address is removed.
        echo = Echo(session, pause_s + deadline_s + 2 * SLACK_S)
        if up:
            start.end(session)
        time.sleep(pause_s)  # a parameter of the study
        capture = session.outside.begin(
            session.source.name, View.NODE, record=RECORDED_PACKETS, snaplen_record=RECORDED_BYTES
        )
        capture.ready()
        answer = echo.begin_first_answer(
            interval_us=start.request_interval_us, deadline_s=deadline_s
        )
        answer.ready()
        self.begun_ns = session.source.monotonic_ns()
        start.begin(session)
        try:
            found = parse(FirstAnswer, answer.result(deadline_s + SLACK_S))
        except ProbeError as error:
            raise _no_answer(session, error) from error
        self.processes = [use for each in start.started(session) if (use := _used(each))]
        captured = capture.end()
        echo.close()
        precedence = start.precedes(session)
        command_ns = min(
            (process.started_monotonic_ns for process in start.started(session)),
            default=self._without_process(vpn, precedence, found),
        )
        # The tunnel came up between two requests: the later of them was answered.
        before_ns = max(found.previous_sent_ns or found.first_sent_ns, command_ns)
        self.resolution_ms = max(found.first_sent_ns - before_ns, 0) / 1e6
        self.attempts = found.attempts
        phases = phases_of(vpn, captured.recorded)
        self.phases = phases
        realtime_ns = found.answered_realtime_ns - found.answered_ns + command_ns
        since_command = {
            "first_handshake_ms": phases.first_handshake_ns,
            "last_handshake_ms": phases.last_handshake_ns,
            "first_inner_ms": phases.first_inner_ns,
        }
        self.times_ms = {
            name: (at_ns - realtime_ns) / 1e6
            for name, at_ns in since_command.items()
            if at_ns is not None
        }
        self.times_ms["total_ms"] = (found.answered_ns - command_ns) / 1e6
        if phases.handshake_ns is not None:
            self.times_ms["handshake_ms"] = phases.handshake_ns / 1e6
        offset_ns = found.answered_realtime_ns - found.answered_ns
        self.checks = [
            *judge_capture(vpn, captured, "during initiation"),
            *judge_lengths(
                vpn,
                captured,
                most_recorded=RECORDED_PACKETS,
                sent_ns=found.first_sent_ns + offset_ns,
                answered_ns=found.answered_realtime_ns,
            ),
            *self._handshake_after(precedence),
            self._answered_after_command(),
        ]

    def _without_process(self, vpn: Vpn, precedence: Precedence, found: FirstAnswer) -> int:
        """The moment that times count from where no process is executed; ns."""
        if vpn.outer_flow is None:
            return found.first_sent_ns
        return found.started_ns if precedence is Precedence.REQUEST else self.begun_ns

    def _handshake_after(self, precedence: Precedence) -> list[Check]:
        first_ms = self.times_ms.get("first_handshake_ms")
        if precedence is Precedence.NOTHING or first_ms is None:
            return []
        return [
            Check(
                f"the {precedence} set off the handshake",
                first_ms >= -STAMPS_APART_MS,
                f"the first packet of the handshake was on the link {first_ms:.3f} ms after the "
                f"{precedence}",
                "this VPN initiates when a packet for the tunnel comes, and the measurement's echo "
                "requests come before the command: set on_demand = True in its driver",
            )
        ]

    def _answered_after_command(self) -> Check:
        total_ms = self.times_ms["total_ms"]
        return Check(
            "the first answer came after the command",
            total_ms > 0,
            f"{total_ms:.3f} ms from the command to the first answer",
            "the tunnel was still up, or traffic reaches the inner address around it: check that "
            "the driver's drop() or leave() ends it at both ends, and the routes",
        )


def _no_answer(session: Session, error: ProbeError) -> VpnError:
    """With the ends of the programs' logs: they are removed with the lab."""
    ends = (session.source, session.target)
    logs = [
        f"; {process.name} on node {node.name}{log_tail(process)}"
        for node in ends
        for process in session.vpn.processes[node.name]
    ]
    return VpnError(session.vpn.id, f"{error.what}: {error.why}{''.join(logs)}", error.remedy)


def _common_times(cycles: Sequence[_Cycle]) -> list[str]:
    """Names of the times that every cycle has."""
    return [spec.name for spec in TIMES if all(spec.name in cycle.times_ms for cycle in cycles)]


def _metrics(cycles: Sequence[_Cycle]) -> list[Metric]:
    values = {
        name: statistics.median(cycle.times_ms[name] for cycle in cycles)
        for name in _common_times(cycles)
    }
    if "handshake_ms" in values:
        for name in ("handshake_packets", "handshake_bytes", "handshake_fragments"):
            values[name] = statistics.median(getattr(cycle.phases, name) for cycle in cycles)
    values["echo_attempts"] = statistics.median(cycle.attempts for cycle in cycles)
    values["total_resolution_ms"] = statistics.median(cycle.resolution_ms for cycle in cycles)
    return measured(Initiation.metrics, values)


def _series(cycles: Sequence[_Cycle]) -> list[Series]:
    at = [cycle.begun_ns for cycle in cycles]
    return [
        Series(name, "ms", at, [cycle.times_ms[name] for cycle in cycles])
        for name in _common_times(cycles)
    ]


def _of_all(checks: Sequence[Check], cycles: int) -> list[Check]:
    """One check of each name: the first that failed, or else the first."""
    kept: dict[str, Check] = {}
    for check in checks:
        if check.name not in kept or (kept[check.name].passed and not check.passed):
            kept[check.name] = check
    return [
        replace(check, detail=f"{check.detail} (first of {cycles} cycles; all passed)")
        if check.passed and cycles > 1
        else check
        for check in kept.values()
    ]


def _used(process: Process) -> ProcessUse | None:
    """Resources that a process has used since its start."""
    usage = process.usage()
    if usage is None:
        return None
    return ProcessUse(
        label=process.name,
        pid=process.pid,
        run_ns=usage.cpu_ns,
        voluntary=usage.voluntary_switches,
        involuntary=usage.involuntary_switches,
        vm_hwm_bytes=usage.peak_memory_bytes,
    )


def _together(uses: list[ProcessUse]) -> list[ProcessUse]:
    """Processes of one label as one: the sum over all starts, and the highest peak."""
    total: dict[str, ProcessUse] = {}
    for use in uses:
        before = total.setdefault(use.label, ProcessUse(label=use.label, pid=use.pid))
        total[use.label] = before.model_copy(
            update={
                "run_ns": (before.run_ns or 0) + (use.run_ns or 0),
                "voluntary": (before.voluntary or 0) + (use.voluntary or 0),
                "involuntary": (before.involuntary or 0) + (use.involuntary or 0),
                "vm_hwm_bytes": max(before.vm_hwm_bytes or 0, use.vm_hwm_bytes or 0),
            }
        )
    return list(total.values())

"""``initiation``: how long it takes until a cold VPN carries the first packet.

::

    command ──── handshake: first ... last packet ──── first inner packet answered
    └──────────────────────────── total ───────────────────────────────────────┘
            └──────── handshake ─────────┘

Total runs from the execution of the initiator's program to the arrival of the answer to an inner
packet; no log is read, so no delay of a log has to be subtracted (dekker2020, 5.3.3). Handshake
times come from the kernel's timestamps of the packets on the link.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.journal.record import Metric, Series
from culvert.labs.base import Process
from culvert.measurements.base import BaseParameters, Measurement, Outcome
from culvert.measurements.cpu import cpu_metrics
from culvert.measurements.session import Session
from culvert.measurements.watch import capture_parameters
from culvert.probe.results import Captured, FirstAnswer, ProcessUse, RecordedPacket, parse
from culvert.proof.capture import judge_capture
from culvert.proof.check import Check
from culvert.vpns.base import OuterPacket

ECHO_INTERVAL_US = 250
RECORDED_PACKETS = 2000
RECORDED_BYTES = 64
EXPECTED_CYCLE_S = 0.4


class InitiationParameters(BaseParameters):
    """``cycles`` cold starts of the initiator in each trial; the responder is up and waiting."""

    cycles: Annotated[int, Field(ge=1, le=10_000)] = 5


class Initiation(Measurement[InitiationParameters]):
    """Cold starts of node a's side."""

    kind: ClassVar[str] = "initiation"
    summary: ClassVar[str] = "time to the first inner packet, and of the handshake, from packets"
    headline: ClassVar[str] = "total_ms"
    metrics: ClassVar[Mapping[str, str]] = {
        "total_ms": "ms",
        "handshake_ms": "ms",
        "echo_attempts": "packets",
        "handshake_packets": "packets",
    }
    Parameters = InitiationParameters
    drives_tunnel: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: InitiationParameters) -> float:
        """Seconds of one trial, roughly: it depends on the VPN."""
        return parameters.cycles * EXPECTED_CYCLE_S

    def run(self, session: Session, parameters: InitiationParameters) -> Outcome:
        """Bring the tunnel up ``cycles`` times."""
        cycles = []
        with session.account() as accounted:
            for number in range(parameters.cycles):
                if number:
                    session.vpn.disconnect(session.lab.a)
                cycles.append(_Cycle(session))
        starting = _together([use for cycle in cycles for use in cycle.processes])
        accounted["a"] = accounted["a"].model_copy(update={"processes": starting})
        totals = [cycle.total_ms for cycle in cycles]
        handshakes = [c.handshake_ms for c in cycles if c.handshake_ms is not None]
        metrics = [
            Metric("total_ms", "ms", statistics.median(totals)),
            Metric("echo_attempts", "packets", statistics.median(c.attempts for c in cycles)),
        ]
        if len(handshakes) == len(cycles):
            metrics += [
                Metric("handshake_ms", "ms", statistics.median(handshakes)),
                Metric(
                    "handshake_packets", "packets", statistics.median(c.packets for c in cycles)
                ),
            ]
        metrics += cpu_metrics(
            accounted, goodput_bytes=None, shared_kernel=session.lab.shared_kernel
        )
        at = [cycle.begun_ns for cycle in cycles]
        series = [Series("total_ms", "ms", at, totals)]
        if len(handshakes) == len(cycles):
            series.append(Series("handshake_ms", "ms", at, handshakes))
        return Outcome(
            metrics=metrics,
            watched=[],
            series=series,
            doubts=[check for cycle in cycles for check in cycle.checks],
        )


class _Cycle:
    """One cold start."""

    def __init__(self, session: Session) -> None:
        vpn, a = session.vpn, session.lab.a
        echo = session.b.begin(
            "echo", bind=session.inner(session.lab.b), token=session.token, idle_s=60
        )
        port = echo.port()
        capture = session.a.begin(
            "capture",
            device=a.underlay.device,
            direction="both",
            sample_one_in=1,
            record=RECORDED_PACKETS,
            snaplen_record=RECORDED_BYTES,
            **capture_parameters(vpn.outer_flow, session.canary),
        )
        capture.ready()
        answer = session.a.begin(
            "first_answer",
            to=session.inner(session.lab.b),
            port=port,
            interval_us=ECHO_INTERVAL_US,
            deadline_s=vpn.up_deadline_s + 5,
            **session.marks,
        )
        answer.ready()
        self.begun_ns = time.monotonic_ns()
        vpn.connect(a)
        found = parse(FirstAnswer, answer.result(vpn.up_deadline_s + 10))
        self.processes = [
            use for process in vpn.processes["a"] if (use := _used(process)) is not None
        ]
        captured = parse(Captured, capture.stop())
        echo.stop()
        command_ns = min(
            (process.started_monotonic_ns for process in vpn.processes["a"]),
            default=self.begun_ns if vpn.outer_flow else found.first_sent_ns,
        )
        self.total_ms = (found.answered_ns - command_ns) / 1e6
        self.attempts = found.attempts
        handshake = [
            packet.timestamp_ns
            for packet in map(outer_packet, captured.recorded)
            if vpn.outer_flow is not None and vpn.is_handshake(packet)
        ]
        self.packets = len(handshake)
        self.handshake_ms = (handshake[-1] - handshake[0]) / 1e6 if len(handshake) > 1 else None
        self.checks = [
            *judge_capture(vpn, captured, "during initiation"),
            self._answered_after_command(),
        ]

    def _answered_after_command(self) -> Check:
        return Check(
            "the first answer came after the command",
            self.total_ms > 0,
            f"{self.total_ms:.3f} ms from the command to the first answer",
            "traffic reaches the inner address around the tunnel: look at the routes",
        )


def _used(process: Process) -> ProcessUse | None:
    """What the initiator's process has used since its cold start."""
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
    """Processes of one label as one: what all cold starts used, and the highest peak."""
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


def outer_packet(packet: RecordedPacket) -> OuterPacket:
    """A recorded packet as drivers read it."""
    return OuterPacket(
        timestamp_ns=packet.realtime_ns or 0,
        outgoing=packet.outgoing,
        protocol=packet.protocol,
        source_port=packet.source_port,
        destination_port=packet.destination_port,
        length=packet.length,
        payload=bytes.fromhex(packet.payload),
    )

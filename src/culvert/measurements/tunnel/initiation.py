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
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.errors import NotPossible
from culvert.labs.process import Process, Usage
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.tunnel.cycle import Cycle, cycle
from culvert.measurements.tunnel.starts import STARTS, Start
from culvert.metrics import Better, Effect, HeadlineColumn, MetricSpec, Weight
from culvert.probe.results import ProcessUse
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth
from culvert.results import Label, Metric, Series, measured
from culvert.trial.accounting import EVERYBODY
from culvert.trial.accounts import add_accounts
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationS, plural

CRYPTOGRAPHY_NS = 50e6
"""Of a handshake's both ends at most: keys, signatures, a processor that others use."""
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
        ways=1,  # the request may be on its way when the command is given
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

    @classmethod
    def truths(cls, known: KnownPath, parameters: InitiationParameters) -> Sequence[Truth]:
        trip_ns = known.round_trip_ns()
        if known.bare:
            return known.times(["total_ms"], "ms", trip_ns, "one round trip, no handshake")
        trips = known.handshake_trips
        if not trips or known.lossy or parameters.start not in (Start.COLD, Start.WARM):
            return []  # a peer that runs may begin the handshake too
        words = plural(trips, "round trip")
        return [
            *known.at_least(
                ["handshake_ms"], "ms", trips * trip_ns, words, longer_ns=CRYPTOGRAPHY_NS
            ),
            *known.at_least(["total_ms"], "ms", (trips + 1) * trip_ns, f"{words}, and the echo's"),
        ]

    def run(self, session: Session, parameters: InitiationParameters) -> Outcome:
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
                cycles.append(cycle(session, start, up=up, pause_s=parameters.pause_s))
        restarted = start.restarted(session)
        if restarted is not None:
            processes = _together(used for one in cycles for used in one.used)
            node = accounted[restarted.name]
            others = [process for process in node.processes if process.label in EVERYBODY]
            accounted[restarted.name] = node.model_copy(update={"processes": [*processes, *others]})
        outcome = Outcome(
            metrics=_metrics(cycles),
            watched=[],
            series=_series(cycles),
            doubts=_of_all([check for one in cycles for check in one.checks], len(cycles)),
        )
        add_accounts(session, outcome, accounted)
        return outcome


def _common_times(cycles: Sequence[Cycle]) -> list[str]:
    """Names of the times that every cycle has."""
    return [spec.name for spec in TIMES if all(spec.name in one.times_ms for one in cycles)]


def _metrics(cycles: Sequence[Cycle]) -> list[Metric]:
    values = {
        name: statistics.median(one.times_ms[name] for one in cycles)
        for name in _common_times(cycles)
    }
    if "handshake_ms" in values:
        for name in ("handshake_packets", "handshake_bytes", "handshake_fragments"):
            values[name] = statistics.median(getattr(one.phases, name) for one in cycles)
    values["echo_attempts"] = statistics.median(one.attempts for one in cycles)
    values["total_resolution_ms"] = statistics.median(one.resolution_ms for one in cycles)
    return measured(Initiation.metrics, values)


def _series(cycles: Sequence[Cycle]) -> list[Series]:
    at = [one.begun_ns for one in cycles]
    return [
        Series(name, "ms", at, [one.times_ms[name] for one in cycles])
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


def _together(used: Iterable[tuple[Process, Usage]]) -> list[ProcessUse]:
    """Processes of one name as one: the sum over all starts, and the highest peak."""
    by_name: dict[str, list[tuple[Process, Usage]]] = defaultdict(list)
    for process, usage in used:
        by_name[process.name].append((process, usage))
    return [
        ProcessUse(
            label=name,
            pid=starts[0][0].pid,
            run_ns=sum(usage.cpu_ns for _, usage in starts),
            voluntary=sum(usage.voluntary_switches for _, usage in starts),
            involuntary=sum(usage.involuntary_switches for _, usage in starts),
            vm_hwm_bytes=max(usage.peak_memory_bytes for _, usage in starts),
        )
        for name, starts in by_name.items()
    ]

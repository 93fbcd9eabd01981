"""One trial of the soak, and what must hold after it."""

from __future__ import annotations

import os
import random
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import cast

from culvert.journal.marks import Disturber
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.base import BaseParameters
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkKind, LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.contract import smallest_topology
from tests.labs import host
from tests.run.cells import SHORT, vpn
from tests.soak.clock import settable_clock
from tests.soak.faults import Fault, Inflicted, inflicting

KINDS = ("tcp", "udp", "rtt")
LINKS: tuple[LinkKind, ...] = ("veth", "wire")
RATE_BPS = 200_000_000


@dataclass
class Soaked:
    """A trial, and what is wrong with how it ended."""

    word: str
    kind: str
    link: str
    inflicted: Inflicted
    finding: TrialFinding
    complaints: list[str] = field(default_factory=list)


def soak(word: str, fault: Fault, chance: random.Random) -> Soaked:
    """One trial of a VPN with that fault in the middle of its measurement."""
    with ExitStack() as stack:
        clock = stack.enter_context(settable_clock()) if fault is Fault.SET_CLOCK else None
        return _soak(word, Inflicted(fault, clock), chance)


def _soak(word: str, inflicted: Inflicted, chance: random.Random) -> Soaked:
    fault, clock = inflicted.fault, inflicted.clock
    kind = chance.choice(KINDS)
    wire = fault in (Fault.KILL_WIRE, Fault.STOP_WIRE)
    link = "wire" if wire else chance.choice(LINKS)
    measurement, chosen = SHORT[kind]
    run_ids: list[str] = []

    class Hit(measurement):  # type: ignore[misc,valid-type]
        def run(self, session: Session, parameters: BaseParameters) -> Outcome:
            with inflicting(inflicted, session, chance):
                return cast(Outcome, super().run(session, parameters))

    def make_lab(spec: LabSpec) -> NetnsLab:
        run_ids.append(new_run_id())
        return NetnsLab(run_ids[-1], spec) if clock is None else Clocked(run_ids[-1], spec)

    class Clocked(NetnsLab):
        def open(self) -> None:
            super().open()
            assert clock is not None
            clock.drive(self)

    contestant = vpn(word)
    finding = Execution(
        contestant,
        LabSpec(smallest_topology(contestant), LinkSpec(kind=link, rate_bps=RATE_BPS)),
        Hit(),
        measurement.Parameters.model_validate(chosen),
        Tunnels(make_lab),
    ).execute()
    soaked = Soaked(word, kind, link, inflicted, finding)
    soaked.complaints += _judged(soaked)
    for run_id in run_ids:
        soaked.complaints += [f"left: {trace}" for trace in host.left_of(run_id)]
    return soaked


def _judged(soaked: Soaked) -> list[str]:
    finding, words = soaked.finding, soaked.inflicted.words
    if finding.status is not Status.OK and not (finding.reason and finding.remedy):
        return [f"{finding.status} without a reason or a remedy"]
    if not words:
        # On a busy machine a trial is honestly invalid; nothing else may happen by itself.
        ended_well = finding.status in (Status.OK, Status.INVALID)
        return [] if ended_well else [f"{finding.status} without a fault"]
    if soaked.inflicted.fault is Fault.SET_CLOCK:
        return _judged_by_marks(finding)
    if finding.status is not Status.FAILED:
        return [f"{finding.status} in spite of the fault"]
    return [f"its reason does not name '{word}'" for word in words if word not in finding.reason]


def _judged_by_marks(finding: TrialFinding) -> list[str]:
    """A clock that is set spoils nothing, and a trial that counts is marked."""
    if finding.status is Status.INVALID:
        return []  # a busy machine
    if finding.status is not Status.OK:
        return [f"{finding.status} because the clock was set"]
    marked = any(mark.by is Disturber.CLOCK for mark in finding.evidence.marks)
    return [] if marked else ["is not marked for the clock that was set"]


def open_files() -> int:
    """Descriptors of this process: none may stay open with a trial."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

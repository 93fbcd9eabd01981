"""Runs the plan of a study, one trial after another, and records each in the journal."""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import polars as pl

from culvert import interruption
from culvert.defect import as_error, show_if_wanted
from culvert.errors import CulvertError
from culvert.journal.journal import Journal
from culvert.journal.marks import HOST_LOST
from culvert.journal.record import TrialRecord
from culvert.measurements.base import Measurement
from culvert.plan.plan import PROFILED, Cell, Plan, Trial
from culvert.plan.schedule import Place, Schedule
from culvert.plan.stopping import OpenQuestions
from culvert.results import Status
from culvert.run.links import ATTEMPTS, Underlays
from culvert.run.outlook.expected import (
    Remaining,
    Stopwatch,
    expectation,
    verification_of,
    verifications,
)
from culvert.run.output.progress import Progress, ProgressStep
from culvert.run.output.tally import Tally, notes_on
from culvert.run.pods import stage as pods
from culvert.run.pods.cluster import Clusters
from culvert.run.profile.pictures import Profiles
from culvert.run.questions import line_here, open_questions
from culvert.run.trials.execution import Around, Execution, of_build
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import LabFactory, Tunnels
from culvert.study.catalogue import Catalogue
from culvert.study.study import Study
from culvert.topology.link.spec import LinkSpec
from culvert.trial.session import MaxSizes
from culvert.vpns import registry

GIVE_UP_AFTER = 3
"""Consecutive failures of a VPN in a condition after which its trials there are not run."""


class Runner:
    """One run. ``make_lab`` builds a lab for a trial; with ``clusters`` trials are between pods of
    a cluster instead; ``cores`` are the machine's CPUs. ``refused`` are cells, by key, that are
    known to be unsupported."""

    def __init__(
        self,
        study: Study,
        plan: Plan,
        journal: Journal,
        catalogue: Catalogue,
        measurements: Mapping[str, type[Measurement[Any]]],
        *,
        make_lab: LabFactory,
        clusters: Clusters | None = None,
        cores: Sequence[tuple[int, ...]],
        progress: Progress,
        real_links: bool = False,
        refused: Mapping[str, CulvertError] = MappingProxyType({}),
    ) -> None:
        self._study = study
        self._plan = plan
        self._journal = journal
        self._catalogue = catalogue
        self._measurements = measurements
        self._max_sizes = MaxSizes()
        self._tunnels = Tunnels(make_lab, self._max_sizes)
        self._clusters = clusters
        self._cores = cores
        self._progress = progress
        self._refused = refused

        def link_of(condition: str) -> LinkSpec:
            spec = study.lab_spec(condition, cores)
            return spec.path_link(spec.topology.paths[0])

        self._underlays = Underlays(link_of, journal, real=real_links)
        self._stopwatch = Stopwatch()
        before_s = expectation(catalogue)
        self._remaining = Remaining(plan, verifications(plan, link_of), self._stopwatch, before_s)
        self._failures: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._values: dict[str, dict[int, float]] = defaultdict(dict)
        self._unsupported: set[str] = set()
        self._verified: dict[Place, TrialRecord] = {}
        """Verifications of links by their places: a study may have the same cell."""
        self._written: set[Place] = set()
        """Every trial in the journal that is not to be repeated."""
        self._tried: Counter[str] = Counter()
        """Trials by cell key, including those of earlier sessions."""

    def run(self) -> Tally:
        """Run the trials that are not in the journal yet.

        Raises JournalError if a trial cannot be written; earlier trials stay in the journal.
        """
        to_repeat = self._journal.to_repeat()
        done = self._journal.done() - to_repeat
        self._written = set(done)
        self._tried.update(cell for _, cell in done)
        earlier_s = self._journal.measured_s()
        headlines = {kind: m.headline for kind, m in self._measurements.items()}
        for key, values in self._journal.figures(headlines).items():
            self._values[key].update(values)
        begun = time.monotonic()
        tally = Tally()
        schedule = Schedule(
            self._plan,
            done,
            to_repeat,
            elapsed_s=lambda: earlier_s + time.monotonic() - begun,
            values=lambda: self._values,
            unsupported=lambda: self._unsupported,
            asked=self._open_questions,
        )
        for trial in schedule:
            interruption.check()
            step = self._step(trial, earlier_s + time.monotonic() - begun)
            self._progress.begin(step)
            if step.number is not None:
                self._verify_underlay(trial, done, tally)
            record = self._verified.get((trial.block, trial.cell.key))
            if record is None:
                record = self._record(self._one(trial), tally)
            self._tried[trial.cell.key] += 1
            self._note(step, record, tally)
            if record.status is Status.OK:
                self._stopwatch.note(trial.cell, record.duration_s)
            if self._plan.pause_s and step.number is not None:
                time.sleep(self._plan.pause_s)  # requested by the study
        tally.elapsed_s = time.monotonic() - begun
        tally.stopped = str(schedule.decision.reason)
        tally.notes = notes_on(self._plan, schedule.decision)
        return tally

    def profile(self, profiles: Profiles, tally: Tally) -> None:
        """One more trial of each cell that works here, in a block that does not count."""
        for position, cell in enumerate(self._plan.present, start=1):
            if (PROFILED, cell.key) in self._written or self._dead(cell):
                continue
            trial = Trial(PROFILED, position, cell)
            self._progress.note(f"profile: {cell.vpn}, {cell.measurement}")
            started_at, begun = datetime.now(UTC), time.monotonic()
            finding = self._execute(trial, around=profiles.around(trial))
            if finding.status is not Status.OK:
                profiles.discard(cell)
                tally.notes.append(
                    f"no profile of {cell.vpn}, {cell.measurement}: {finding.reason}"
                )
            self._record(finding.record(trial, started_at, time.monotonic() - begun), tally)

    def _open_questions(self, block: int) -> OpenQuestions:
        seen = self._journal.rows().filter(pl.col("block") <= block)
        alive = replace(
            self._plan, cells=tuple(cell for cell in self._plan.cells if not self._dead(cell))
        )
        return open_questions(self._study, alive, seen, line_here(self._study.vpns))

    def _dead(self, cell: Cell) -> bool:
        return (
            cell in self._plan.absent
            or cell.key in self._unsupported
            or self._given_up(cell) is not None
        )

    def _verify_underlay(
        self, trial: Trial, done: Collection[tuple[int, str]], tally: Tally
    ) -> None:
        cell = verification_of(trial.cell.condition)
        for _ in range(ATTEMPTS if trial.cell == cell else 1):
            verification = self._underlays.verify(trial, done, self._execute)
            if verification is None:
                return
            record = self._record(verification, tally)
            place = record.block, record.cell_key
            self._verified[place] = record
            if cell not in self._plan.present or place != (trial.block, cell.key):
                tally.add(record, link=True)
            if record.status is Status.OK:
                self._stopwatch.note(cell, record.duration_s)

    def _one(self, trial: Trial) -> TrialRecord:
        started_at, begun = datetime.now(UTC), time.monotonic()
        finding = (
            self._lacking(trial.cell)
            or self._given_up(trial.cell)
            or self._underlays.objection(trial)
        )
        if finding is None:
            finding = self._execute(trial)
            if self._clusters is not None and finding.status is Status.FAILED:
                self._clusters.require_reachable()
            failures = self._failures[trial.cell.vpn, trial.cell.condition]
            # A host that was lost may be back for the next trial.
            if finding.status is Status.FAILED and not finding.evidence.host_lost:
                failures.append(finding.reason)
            elif finding.status is Status.OK:
                failures.clear()
        return finding.record(trial, started_at, time.monotonic() - begun)

    def _record(self, record: TrialRecord, tally: Tally) -> TrialRecord:
        lost = bool(record.evidence.get(HOST_LOST))
        self._journal.record(record)
        tally.hosts_lost += lost
        if not lost:
            self._written.add((record.block, record.cell_key))
        return record

    def _execute(self, trial: Trial, around: Around = nullcontext) -> TrialFinding:
        cell = trial.cell
        try:
            spec = self._study.lab_spec(cell.condition, self._cores)
            seed = block_seed(self._study.seed, trial.block)
            vpn = registry.of_study(cell.vpn)
            measurement = self._measurements[cell.measurement]()
            parameters = self._catalogue.parameters(cell.measurement, cell.parameters)
            spec = spec.with_seed(seed)
            # The links under a cluster are verified without it.
            if self._clusters is not None and not measurement.of_the_link:
                clusters, sizes = self._clusters, self._max_sizes
                return pods.execute(vpn, spec, measurement, parameters, clusters, sizes)
            execution = Execution(vpn, spec, measurement, parameters, self._tunnels, around)
            build = self._study.build_of(cell.vpn)
            return execution.execute() if build is None else of_build(build, execution, cell.vpn)
        except CulvertError as error:
            return TrialFinding.of_error(error)
        except Exception as error:
            interruption.unless_interrupted(error)
            # A defect of a third-party driver or measurement must affect its own trials only.
            show_if_wanted(error)
            return TrialFinding.of_error(as_error(error, f"{cell.vpn}, {cell.measurement}"))

    def _lacking(self, cell: Cell) -> TrialFinding | None:
        if cell.key in self._refused:
            return TrialFinding.of_error(self._refused[cell.key])
        reason = self._study.lacking.reason(cell.vpn, cell.condition, cell.measurement)
        if not reason:
            return None
        remedy = self._study.lacking.remedy
        return TrialFinding(Status.UNSUPPORTED, reason=reason, remedy=remedy)

    def _given_up(self, cell: Cell) -> TrialFinding | None:
        vpn, reasons = cell.vpn, self._failures[cell.vpn, cell.condition]
        if len(reasons) < GIVE_UP_AFTER:
            return None
        return TrialFinding(
            Status.FAILED,
            reason=f"not tried: {vpn} failed {len(reasons)} times in a row, last: {reasons[-1]}",
            remedy="remove the cause, then measure into another directory",
        )

    def _step(self, trial: Trial, elapsed_s: float) -> ProgressStep:
        present = [cell.key for cell in self._plan.present]
        number = sum(self._tried[key] for key in present) + 1
        total = None
        if self._plan.most_blocks is not None:
            # Cells found to be unsupported are not run again.
            total = sum(
                self._tried[key] if key in self._unsupported else self._plan.most_blocks
                for key in present
            )
        trials = None if total is None else total - number + 1
        left_s = self._remaining.most_s(trials, elapsed_s, self._unsupported)
        return ProgressStep(
            trial, None if trial.cell in self._plan.absent else number, total, left_s
        )

    def _note(self, step: ProgressStep, record: TrialRecord, tally: Tally) -> None:
        here = record.cell_key in self._refused
        tally.add(record, lacking=step.number is None and not here)
        if record.status is Status.UNSUPPORTED and not record.evidence.get(HOST_LOST):
            self._unsupported.add(record.cell_key)
        headline = None
        if record.status is Status.OK:
            wanted = self._measurements[record.measurement].headline
            headline = next((metric for metric in record.metrics if metric.name == wanted), None)
        if headline is not None:
            self._values[record.cell_key][record.block] = headline.value
        self._progress.end(step, record, headline)


def block_seed(seed: int, block: int) -> int:
    """The seed of the links in a block, 48 bits: equal for all its cells, so that they can be
    compared as pairs; different in each block, so that blocks are repetitions."""
    digest = hashlib.sha256(f"{seed}/{block}".encode()).digest()
    return int.from_bytes(digest[:6], "big")

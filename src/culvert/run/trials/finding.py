"""What a trial found, before it is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from culvert.errors import CulvertError, HostLost, NotPossible
from culvert.interruption import unless_interrupted
from culvert.journal.marks import Mark
from culvert.journal.record import TrialRecord
from culvert.plan.plan import Trial
from culvert.results import Status
from culvert.trial.check import Check, Evidence
from culvert.trial.outcome import Outcome


@dataclass
class TrialFinding:
    """The outcome of a trial, before it is recorded."""

    status: Status
    version: str = ""
    reason: str = ""
    remedy: str = ""
    measuring_s: float = 0.0
    evidence: Evidence = field(default_factory=Evidence)
    outcome: Outcome = field(default_factory=lambda: Outcome([], []))
    up_s: float | None = None
    """Seconds from the start of the responder to a tunnel that is up."""

    @contextmanager
    def of_errors(self) -> Iterator[None]:
        """Errors of lab, VPN and probe in the body become the status, the reason and the remedy."""
        try:
            yield
        except CulvertError as error:
            self.fails(error)

    def fails(self, error: CulvertError) -> None:
        """The trial did not work, because of this error; raises KeyboardInterrupt if it came of
        one."""
        unless_interrupted(error)
        impossible = isinstance(error, NotPossible)
        self.status = Status.UNSUPPORTED if impossible else Status.FAILED
        self.reason, self.remedy = str(error), error.remedy
        self.evidence.host_lost = isinstance(error, HostLost)

    @classmethod
    def of_error(cls, error: CulvertError) -> TrialFinding:
        finding = cls(Status.FAILED)
        finding.fails(error)
        return finding

    def proved(self, checks: Sequence[Check]) -> bool:
        """Add checks to the evidence; the first that failed makes the trial invalid."""
        self.evidence.checks += checks
        failure = self.evidence.first_failure
        if failure is None:
            return True
        self.status = Status.INVALID
        self.reason = failure.failure
        self.remedy = failure.remedy
        return False

    def absorb(self, part: TrialFinding) -> None:
        """Add the evidence of one path; the first that failed decides the status."""
        self.evidence.checks += part.evidence.checks
        self.evidence.vpn |= part.evidence.vpn
        if part.reason and not self.reason:
            self.status, self.reason, self.remedy = part.status, part.reason, part.remedy
            self.evidence.host_lost = part.evidence.host_lost

    def counts(self, outcome: Outcome, marks: Sequence[Mark] = ()) -> None:
        """The trial is ok with this outcome; ``marks`` are those that are not the outcome's."""
        self.outcome = outcome
        self.evidence.withheld = outcome.withheld
        self.evidence.marks = [*outcome.marks, *marks]
        self.status = Status.OK

    def record(self, trial: Trial, started_at: datetime, duration_s: float) -> TrialRecord:
        return TrialRecord(
            block=trial.block,
            position=trial.position,
            cell_key=trial.cell.key,
            vpn=trial.cell.vpn,
            version=self.version,
            condition=trial.cell.condition,
            measurement=trial.cell.measurement,
            parameters=trial.cell.parameters,
            status=self.status,
            reason=self.reason,
            remedy=self.remedy,
            started_at=started_at,
            duration_s=duration_s,
            measuring_s=self.measuring_s,
            evidence=self.evidence.as_json(),
            metrics=self.outcome.metrics,
            series=self.outcome.series,
            histograms=self.outcome.histograms,
        )

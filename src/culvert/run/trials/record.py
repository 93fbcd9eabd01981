"""Builds the journal's record of a trial and its finding."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from culvert.journal.record import TrialRecord
from culvert.plan.plan import Trial
from culvert.run.trials.finding import TrialFinding


def records_of(
    trial: Trial, finding: TrialFinding, started_at: datetime, duration_s: float
) -> list[TrialRecord]:
    """The records of a trial that has ended, its own last: what was measured although a host was
    lost has one of its own, which the time belongs to."""
    if finding.part is None:
        return [record_of(trial, finding, started_at, duration_s)]
    part = record_of(trial, finding.part, started_at, duration_s)
    return [part, record_of(trial, replace(finding, measuring_s=0.0), started_at, 0.0)]


def record_of(
    trial: Trial, finding: TrialFinding, started_at: datetime, duration_s: float
) -> TrialRecord:
    """The record of a trial that has ended."""
    return TrialRecord(
        block=trial.block,
        position=trial.position,
        cell_key=trial.cell.key,
        vpn=trial.cell.vpn,
        version=finding.version,
        condition=trial.cell.condition,
        measurement=trial.cell.measurement,
        parameters=trial.cell.parameters,
        status=finding.status,
        reason=finding.reason,
        remedy=finding.remedy,
        started_at=started_at,
        duration_s=duration_s,
        measuring_s=finding.measuring_s,
        evidence=finding.evidence.as_json(),
        metrics=finding.outcome.metrics,
        series=finding.outcome.series,
        histograms=finding.outcome.histograms,
    )

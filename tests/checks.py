"""The check that made a trial invalid."""

from __future__ import annotations

from culvert.run.trials.finding import TrialFinding
from culvert.trial.check import Check


def failed_check(finding: TrialFinding) -> Check:
    """The first that did not pass; the reason is its."""
    failure = finding.evidence.first_failure
    assert failure is not None, finding.reason
    assert failure.failure in finding.reason
    return failure

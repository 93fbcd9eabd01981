"""What became of a trial."""

from __future__ import annotations

import pytest

from culvert.errors import CulvertError
from culvert.interruption import unless_interrupted
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.trial.check import Check

ERROR = CulvertError("the lab", "it did not open", "look at it")


def fails() -> None:
    raise ERROR


def half_open(finding: TrialFinding) -> None:
    """What closes a lab that was interrupted while it opened fails in turn."""
    with finding.of_errors():
        try:
            raise KeyboardInterrupt
        finally:
            raise ERROR


def test_an_error_is_the_reason() -> None:
    finding = TrialFinding(Status.OK)
    with finding.of_errors():
        fails()
    assert (finding.status, finding.reason) == (Status.FAILED, str(ERROR))


def test_the_reason_of_a_check_that_did_not_pass_reads_as_a_failure() -> None:
    finding = TrialFinding(Status.OK)
    late = Check("the sender kept its schedule", False, "9 of 10 packets left late", "wait")
    assert not finding.proved([Check("data path", True, "kernel"), late])
    assert finding.status is Status.INVALID
    assert finding.reason == (
        "check failed: the sender kept its schedule: 9 of 10 packets left late"
    )
    assert finding.remedy == "wait"


def test_an_interruption_is_no_trial_that_failed() -> None:
    finding = TrialFinding(Status.OK)
    with pytest.raises(KeyboardInterrupt):
        half_open(finding)
    assert finding.status is Status.OK


def test_what_it_leaves_in_a_lock_of_python_is_none_either() -> None:
    try:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise RuntimeError("release unlocked lock")  # noqa: B904 - as Python's Condition does
    except RuntimeError as error:
        with pytest.raises(KeyboardInterrupt):
            unless_interrupted(error)
    unless_interrupted(RuntimeError("another"))

"""A busy machine spoils no test, and a quiet one excuses nothing."""

from __future__ import annotations

import pytest

from culvert.journal.marks import Disturber, Mark
from culvert.proof.limits import GENERATOR
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.trial.check import Check
from tests import quiet as module
from tests.quiet import ATTEMPTS, late_by_s, lateness, quiet, used_by_others


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside other workers the test as a whole is repeated, see test_repeated.py."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)


def finding(name: str, status: Status = Status.INVALID) -> TrialFinding:
    made = TrialFinding(Status.OK)
    made.proved([Check(name, status is Status.OK, "detail")])
    assert made.status is status
    return made


GOOD = finding("data path", Status.OK)
LATE = finding(GENERATOR)
WIRE = "the link delivered the requested values"
MISSHAPEN = finding("the underlay has the requested loss, a to b")
WRONG = finding("no clear text on the underlay")


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "busy", lambda: True)


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize(
    ("findings", "kept"), [([GOOD], GOOD), ([LATE, LATE, GOOD], GOOD), ([LATE, WRONG], WRONG)]
)
def test_it_is_repeated_until_the_machine_has_time(
    findings: list[TrialFinding], kept: TrialFinding
) -> None:
    left = iter(findings)
    assert quiet(lambda: next(left)) is kept
    assert next(left, None) is None


@pytest.mark.usefixtures("busy")
def test_a_machine_that_stays_busy_skips_the_test_with_the_reason() -> None:
    left = iter([LATE] * ATTEMPTS)
    with pytest.raises(pytest.skip.Exception, match=GENERATOR):
        quiet(lambda: next(left))
    assert next(left, None) is None


def test_a_quiet_machine_is_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "busy", lambda: False)
    assert quiet(lambda: LATE) is LATE


@pytest.mark.usefixtures("busy")
def test_a_link_that_shapes_wrongly_and_was_not_late_is_never_excused() -> None:
    left = iter([MISSHAPEN] * ATTEMPTS)
    assert quiet(lambda: next(left)) is MISSHAPEN
    assert next(left, None) is None


@pytest.mark.usefixtures("busy")
def test_marks_excuse_a_test_of_figures_alone() -> None:
    disturbed = finding("data path", Status.OK)
    disturbed.evidence.marks.append(Mark(Disturber.STEAL, 0.05, 0.01))
    assert quiet(lambda: disturbed) is disturbed
    with pytest.raises(pytest.skip.Exception, match="marked as disturbed: stolen"):
        quiet(lambda: disturbed, unmarked=True)


@pytest.mark.parametrize(
    ("text", "late"),
    [
        (Check(WIRE, False, "3 of 9 packets left the wire late").failure, True),
        (Check(WIRE, False, "3 packets were malformed").failure, False),
        (f"E  {Check(GENERATOR, False, 'it offered 90 %').failure}", True),
        (f"Check(name={GENERATOR!r}, passed=True)", False),
        (Check("the underlay has the requested delay, a to b", False, "5 ms").failure, False),
    ],
)
def test_lateness_is_what_they_count_of_themselves(text: str, late: bool) -> None:
    assert (lateness(text) is not None) is late


def test_the_lateness_of_naps_is_measured() -> None:
    assert late_by_s() > 0


def test_what_others_use_is_a_share() -> None:
    assert 0 <= used_by_others() <= 1

"""A busy machine spoils no test, and a quiet one excuses nothing."""

from __future__ import annotations

import pytest

from culvert.proof.limits import GENERATOR
from culvert.results import Status
from culvert.run.finding import TrialFinding
from culvert.trial.check import Check, Evidence
from tests import quiet as module
from tests.quiet import ATTEMPTS, quiet, used_by_others


def finding(name: str, status: Status = Status.INVALID) -> TrialFinding:
    evidence = Evidence(checks=[Check(name, status is Status.OK, "detail")])
    return TrialFinding(status, reason=name, evidence=evidence)


GOOD = finding("data path", Status.OK)
LATE = finding(GENERATOR)
WRONG = finding("no clear text on the underlay")


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "used_by_others", lambda: 0.5)


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
    monkeypatch.setattr(module, "used_by_others", lambda: 0.01)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert quiet(lambda: LATE) is LATE


def test_what_others_use_is_a_share() -> None:
    assert 0 <= used_by_others() <= 1

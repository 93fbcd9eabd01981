"""Shares that no link can have; of rates see test_truth.py."""

from __future__ import annotations

import pytest

from culvert.proof.judge import judge_outcome
from culvert.results import Metric
from culvert.trial.outcome import Outcome
from tests.measurements.fakes import session


@pytest.mark.parametrize(("ratio", "possible"), [(0.5, True), (-0.1, False), (1.1, False)])
def test_more_packets_than_were_sent_are_no_result(ratio: float, *, possible: bool) -> None:
    checks = judge_outcome(session(), Outcome([Metric("loss_ratio", "1", ratio)], []))
    assert all(check.passed for check in checks) is possible

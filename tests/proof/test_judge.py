"""Numbers that a link cannot carry."""

from __future__ import annotations

import pytest

from culvert.proof.judge import judge_outcome
from culvert.results import Metric
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from tests.measurements.fakes import session

RATE_BPS = 1000


@pytest.mark.parametrize(
    ("figures", "possible"),
    [
        ({"goodput_bps": 1000}, True),
        ({"goodput_bps": 1001}, False),
        ({"goodput_bps": 2000, "goodput_up_bps": 1000, "goodput_down_bps": 1000}, True),
        ({"goodput_bps": 1500, "goodput_up_bps": 1100, "goodput_down_bps": 400}, False),
        ({"loss_ratio": 0.5}, True),
        ({"loss_ratio": -0.1}, False),
    ],
)
def test_more_than_a_link_carries_each_way_is_no_result(
    *, figures: dict[str, float], possible: bool
) -> None:
    made = session()
    outcome = Outcome([Metric(name, "bit/s", value) for name, value in figures.items()], [])
    made.lab.spec = LabSpec(link=LinkSpec(rate_bps=RATE_BPS))
    checks = judge_outcome(made, outcome)
    assert all(check.passed for check in checks) is possible

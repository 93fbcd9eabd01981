"""Every fault of the soak is one that can be chosen, and a few trials of it pass."""

from __future__ import annotations

import random

import pytest

from tests.soak.faults import WEIGHTS, Fault
from tests.soak.trials import soak


def test_every_fault_is_chosen() -> None:
    assert set(WEIGHTS) == set(Fault)
    assert all(weight > 0 for weight in WEIGHTS.values())


@pytest.mark.lab
@pytest.mark.parametrize(
    "fault", [Fault.NONE, Fault.CUT_LINK, Fault.KILL_PROBE, Fault.KILL_WIRE, Fault.SET_CLOCK]
)
def test_a_trial_of_the_soak(fault: Fault) -> None:
    one = soak("none", fault, random.Random(4))
    assert one.complaints == [], one.finding.reason
    assert bool(one.inflicted.words) is (fault is not Fault.NONE)

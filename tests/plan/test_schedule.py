"""A run against a simulated clock and simulated figures."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.plan import Cell, Plan, Schedule, StopReason, Trial
from culvert.study.rule import StopRule
from tests.plan.simulated import cells


class Lab:
    """Measures nothing in no time: figures are drawn, the clock is advanced."""

    def __init__(self, spread: float, trial_s: float = 2.0) -> None:
        self.spread = spread
        self.trial_s = trial_s
        self.now_s = 0.0
        self.done: set[tuple[int, str]] = set()
        self.values: dict[str, list[float]] = defaultdict(list)
        self.trials: list[Trial] = []
        self.unsupported: set[Cell] = set()

    def run(self, plan: Plan, *, at_most: int = 10**6) -> Schedule:
        schedule = Schedule(
            plan, self.done, elapsed_s=lambda: self.now_s, values=lambda: self.values
        )
        for trial in schedule:
            self.measure(trial)
            at_most -= 1
            if at_most == 0:
                break
        return schedule

    def measure(self, trial: Trial) -> None:
        self.now_s += self.trial_s
        self.trials.append(trial)
        self.done.add((trial.block, trial.cell.key))
        if trial.block > 0 and trial.cell not in self.unsupported:
            # The figure belongs to the trial, so that an interrupted run sees the same.
            draw = random.Random(f"{trial.block} {trial.cell}").gauss(0.0, self.spread)
            self.values[trial.cell.key].append(100.0 * (1 + draw))


PLAN = Plan(cells(4), seed=1, min_blocks=5, max_blocks=40, rule=StopRule(0.02))


def test_precise_cells_end_early() -> None:
    lab = Lab(spread=0.001)
    assert lab.run(PLAN).decision.reason is StopReason.PRECISE
    assert len(lab.trials) == 5 * 4


def test_noisy_cells_take_longer_and_hopeless_ones_all() -> None:
    noisy, hopeless = Lab(spread=0.03), Lab(spread=0.5)
    assert noisy.run(PLAN).decision.reason is StopReason.PRECISE
    assert 5 * 4 < len(noisy.trials) < 40 * 4
    assert len(noisy.trials) % 4 == 0
    schedule = hopeless.run(PLAN)
    assert schedule.decision.reason is StopReason.BLOCKS
    assert len(hopeless.trials) == 40 * 4
    assert set(schedule.decision.open) == {cell.key for cell in PLAN.cells}


def test_unsupported_cells_are_not_waited_for() -> None:
    lab = Lab(spread=0.001)
    lab.unsupported = {PLAN.cells[2]}
    assert lab.run(PLAN).decision.reason is StopReason.PRECISE
    assert len(lab.trials) == 5 * 4


def test_a_block_that_was_begun_is_ended_before_precision_is_judged() -> None:
    lab = Lab(spread=0.5)
    lab.run(PLAN, at_most=5 * 4 + 1)
    lab.spread = 0.0
    for values in lab.values.values():
        values[:] = [100.0] * len(values)
    assert lab.run(PLAN).decision.stop
    assert {block for block, _ in lab.done} == {1, 2, 3, 4, 5, 6}
    assert len(lab.done) == 6 * 4


def test_the_budget_ends_even_a_block() -> None:
    lab = Lab(spread=0.5, trial_s=2.0)
    plan = replace(PLAN, max_blocks=None, budget_s=51.0)
    assert lab.run(plan).decision.reason is StopReason.BUDGET
    assert len(lab.trials) == 26


def test_without_a_rule_all_blocks_are_measured() -> None:
    lab = Lab(spread=0.0)
    plan = replace(PLAN, rule=None, max_blocks=7)
    assert lab.run(plan).decision.reason is StopReason.BLOCKS
    assert len(lab.trials) == 7 * 4


def test_a_plan_without_cells_ends_at_once() -> None:
    plan = replace(PLAN, cells=(), max_blocks=None, budget_s=5.0)
    assert Lab(0.0).run(plan).decision.reason is StopReason.BLOCKS


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 200), st.sampled_from([0.001, 0.03]))
def test_an_interrupted_run_ends_as_if_it_had_not_been(at: int, spread: float) -> None:
    whole, broken = Lab(spread), Lab(spread)
    expected = whole.run(PLAN).decision
    broken.run(PLAN, at_most=at)
    assert broken.run(PLAN).decision == expected
    assert broken.trials == whole.trials

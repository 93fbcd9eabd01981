"""A run against a simulated clock and simulated figures."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.plan.plan import Cell, Plan, Trial
from culvert.plan.schedule import Schedule
from culvert.plan.stopping import OpenQuestions, StopReason
from culvert.study.blocks import StopRule
from tests.plan.simulated import cells


class Lab:
    """Measures nothing in no time: figures are drawn, the clock is advanced."""

    def __init__(self, spread: float, trial_s: float = 2.0) -> None:
        self.spread = spread
        self.trial_s = trial_s
        self.now_s = 0.0
        self.done: set[tuple[int, str]] = set()
        self.to_repeat: set[tuple[int, str]] = set()
        self.values: dict[str, dict[int, float]] = defaultdict(dict)
        self.trials: list[Trial] = []
        self.unsupported: set[Cell] = set()
        self.told: set[str] = set()
        self.noisy: set[Cell] = set()
        self.claim: Cell | None = None
        self.decided_at = 0

    def asked(self, block: int) -> OpenQuestions:
        """One claim, about one cell, that a certain block decides."""
        if self.claim is None or block >= self.decided_at:
            return OpenQuestions()
        return OpenQuestions(claims={"c": [self.claim.key]})

    def run(self, plan: Plan, *, at_most: int = 10**6) -> Schedule:
        schedule = Schedule(
            plan,
            self.done,
            self.to_repeat,
            elapsed_s=lambda: self.now_s,
            values=lambda: self.values,
            unsupported=lambda: self.told,
            asked=self.asked,
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
        if trial.cell in self.unsupported:
            self.told.add(trial.cell.key)
        elif trial.block > 0:
            # The figure belongs to the trial, so that an interrupted run sees the same.
            spread = 0.03 if trial.cell in self.noisy else self.spread
            draw = random.Random(f"{trial.block} {trial.cell}").gauss(0.0, spread)
            self.values[trial.cell.key][trial.block] = 100.0 * (1 + draw)


PLAN = Plan(cells(4), seed=1, min_blocks=5, max_blocks=40, rule=StopRule(0.02))
FIRST = 8
"""Blocks until the plan's first look: of fewer, no repeated interval covers what it states."""


def test_the_first_look_is_where_an_interval_can_be() -> None:
    assert PLAN.looks.first == FIRST
    assert replace(PLAN, min_blocks=12).looks.first == 12
    assert replace(PLAN, rule=None).looks.level(5) == 0.05


def test_precise_cells_end_early() -> None:
    lab = Lab(spread=0.001)
    assert lab.run(PLAN).decision.reason is StopReason.PRECISE
    assert len(lab.trials) == FIRST * 4


def test_noisy_cells_take_longer_and_hopeless_ones_all() -> None:
    noisy, hopeless = Lab(spread=0.03), Lab(spread=0.5)
    assert noisy.run(PLAN).decision.reason is StopReason.PRECISE
    assert FIRST * 4 < len(noisy.trials) < 40 * 4
    assert len(noisy.trials) % 4 == 0
    schedule = hopeless.run(PLAN)
    # After 30 blocks there is no doubt that 40 are too few.
    assert schedule.decision.reason is StopReason.SETTLED
    assert len(hopeless.trials) == 30 * 4
    assert set(schedule.decision.imprecise) == {cell.key for cell in PLAN.cells}


def test_too_few_blocks_to_give_up_are_all_measured() -> None:
    lab = Lab(spread=0.5)
    schedule = lab.run(replace(PLAN, max_blocks=9))
    assert schedule.decision.reason is StopReason.BLOCKS
    assert len(lab.trials) == 9 * 4
    assert set(schedule.decision.cells) == {cell.key for cell in PLAN.cells}
    assert not any(cell.state.settled for cell in schedule.decision.cells.values())


def test_unsupported_cells_are_not_waited_for() -> None:
    lab = Lab(spread=0.001)
    lab.unsupported = {PLAN.cells[2]}
    assert lab.run(PLAN).decision.reason is StopReason.PRECISE
    # It is tried in the first block, and left out afterwards.
    assert len(lab.trials) == FIRST * 4 - (FIRST - 1)


def test_where_nothing_can_be_measured_the_run_ends() -> None:
    lab = Lab(spread=0.001)
    lab.unsupported = set(PLAN.cells)
    plan = replace(PLAN, rule=None, max_blocks=None, budget_s=1e9)
    assert lab.run(plan).decision.reason is StopReason.NOTHING
    assert len(lab.trials) == 4


def test_what_is_lacking_is_told_once() -> None:
    lab = Lab(spread=0.001)
    plan = replace(PLAN, absent=frozenset(PLAN.cells[2:3]), warmup_blocks=1)
    lab.unsupported = {PLAN.cells[2]}
    assert lab.run(plan).decision.reason is StopReason.PRECISE
    assert [t.block for t in lab.trials if t.cell == PLAN.cells[2]] == [1]
    assert len(lab.trials) == (1 + FIRST) * 3 + 1


EACH = replace(PLAN, stop="each")


def counts(lab: Lab) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for trial in lab.trials:
        found[trial.cell.vpn] += 1
    return dict(found)


def test_each_cell_stops_on_its_own_and_the_baseline_with_the_last() -> None:
    lab = Lab(spread=0.001)
    lab.noisy = {PLAN.cells[1]}
    assert lab.run(EACH).decision.reason is StopReason.PRECISE
    found = counts(lab)
    assert found["b"] == found["c/d+e"] == FIRST
    assert found["none"] == found["a"] > 5
    together = Lab(spread=0.001)
    together.noisy = {PLAN.cells[1]}
    together.run(PLAN)
    assert counts(together) == dict.fromkeys(found, found["a"])


def test_a_claim_keeps_its_cells_and_their_baseline() -> None:
    lab = Lab(spread=0.5)
    lab.claim, lab.decided_at = PLAN.cells[1], 9
    plan = replace(EACH, rule=StopRule.parse("claims decided"))
    decision = lab.run(plan).decision
    assert decision.reason is StopReason.CLAIMS
    assert counts(lab) == {"none": 9, "a": 9, "b": 5, "c/d+e": 5}


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 60), st.booleans())
def test_an_interrupted_run_with_cells_at_rest_ends_as_if_it_had_not_been(
    at: int, claims: bool
) -> None:
    whole, broken = Lab(0.001), Lab(0.001)
    rule = StopRule.parse("ci <= 2% and claims decided") if claims else EACH.rule
    plan = replace(EACH, rule=rule)
    for lab in (whole, broken):
        lab.noisy = {PLAN.cells[1]}
        lab.claim, lab.decided_at = PLAN.cells[2], 12
    expected = whole.run(plan).decision
    broken.run(plan, at_most=at)
    assert broken.run(plan).decision == expected
    assert broken.trials == whole.trials


def test_a_trial_that_lost_its_host_is_repeated_in_a_block_that_left_others_out() -> None:
    lab = Lab(spread=0.001)
    lab.noisy = {PLAN.cells[1]}
    lab.run(EACH)
    before = len(lab.trials)
    again = (FIRST - 1, PLAN.cells[2].key)
    lab.done.remove(again)
    lab.to_repeat.add(again)
    lab.run(EACH)
    assert [(trial.block, trial.cell.key) for trial in lab.trials[before:]] == [again]


def test_a_block_that_was_begun_is_ended_before_precision_is_judged() -> None:
    lab = Lab(spread=0.5)
    lab.run(PLAN, at_most=5 * 4 + 1)
    lab.spread = 0.0
    for values in lab.values.values():
        values.update(dict.fromkeys(values, 100.0))
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

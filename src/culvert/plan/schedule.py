"""The sequence of a run's trials, until the plan ends it. Pure.

A resumed run repeats the trials that lost a host, in their blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from culvert.plan.plan import Done, Plan, Trial
from culvert.plan.stopping import Decision, OpenQuestions, StopReason, decide
from culvert.study.blocks import StopRule
from culvert.study.vpn_id import BASELINE

Place = tuple[int, str]
"""Block and key of a trial in the journal."""


Values = Mapping[str, Mapping[int, float]]
"""The figure of each trial that counted, by cell key and block."""


class Schedule:
    """Iterating yields trials; ``decision`` is the reason to continue or end.

    Pure: the clock and the values are passed in. ``to_repeat`` are trials that lost a host, which
    are not ``done``. ``elapsed_s()`` is the time measured so far, that
    of an interrupted run included; ``values()`` returns the figures, those of the trials just
    yielded included; ``unsupported()`` the keys of cells that turned out not to be possible here,
    which are not tried again; ``asked(block)`` the questions that were open after a block.

    The budget is checked before every trial. Precision is checked only after a complete block.
    With ``plan.stop`` "together" no cell then has more repetitions than another; with "each" a cell
    that needs no more is left out of later blocks, and the baseline stays for those that do.
    """

    def __init__(
        self,
        plan: Plan,
        done: Done,
        to_repeat: Done = frozenset(),
        *,
        elapsed_s: Callable[[], float],
        values: Callable[[], Values],
        unsupported: Callable[[], Collection[str]],
        asked: Callable[[int], OpenQuestions],
    ) -> None:
        self.plan = plan
        self.done = frozenset(done)
        self._to_repeat = frozenset(to_repeat)
        self.decision = Decision(StopReason.GO_ON)
        self._elapsed_s = elapsed_s
        self._values = values
        self._unsupported = unsupported
        self._asked = asked

    def __iter__(self) -> Iterator[Trial]:
        last_done = max((block for block, _ in self.done | self._to_repeat), default=0)
        for number in self.plan.block_numbers() if self.plan.cells else ():
            if number > max(last_done, 1) and not self._active():
                self._end(StopReason.NOTHING)
                return
            for trial in self._due(number, last_done):
                if trial.cell.key in self._unsupported():
                    continue
                if self._over_budget():
                    self._end(StopReason.BUDGET)
                    return
                yield trial
            if self.plan.rule is not None and number >= self.plan.min_blocks:
                if number >= last_done:
                    self.decision = self._judged(self.plan.rule, number)
                elif number == last_done - 1 and self.plan.stop == "each":
                    # The run continued after this block; its figures decide again which cells were
                    # left out.
                    self.decision = replace(
                        self._judged(self.plan.rule, number), reason=StopReason.GO_ON
                    )
            if self.decision.stop:
                return
        self._end(StopReason.BLOCKS)

    def _due(self, number: int, last_done: int) -> Iterator[Trial]:
        # Cells missing in earlier blocks were left out there, unless their host was lost.
        earlier = self.plan.stop == "each" and self.plan.min_blocks < number < last_done
        for trial in self.plan.missing(number, self.done):
            if (number, trial.cell.key) in self._to_repeat or not (
                earlier or trial.cell.key in self.decision.resting
            ):
                yield trial

    def _judged(self, rule: StopRule, number: int) -> Decision:
        """The decision after the given block, from the values known then."""
        values = {
            key: [figure for block, figure in sorted(found.items()) if block <= number]
            for key, found in self._values().items()
        }
        decision = decide(
            rule,
            {key: figures for key, figures in values.items() if figures},
            looks=self.plan.looks,
            most=self.plan.max_blocks,
            asked=self._asked(number) if rule.claims or rule.ranks else None,
        )
        each = self.plan.stop == "each"
        return replace(decision, resting=self._resting(decision) if each else frozenset())

    def _resting(self, decision: Decision) -> frozenset[str]:
        """A baseline rests if all VPNs that are compared with it rest."""
        gone = {cell.key for cell in self.plan.absent} | set(self._unsupported())
        busy = {
            cell.context
            for cell in self.plan.cells
            if cell.vpn != BASELINE and cell.key not in decision.resting and cell.key not in gone
        }
        return frozenset(
            cell.key
            for cell in self.plan.cells
            if cell.key in decision.resting and not (cell.vpn == BASELINE and cell.context in busy)
        )

    def _active(self) -> bool:
        impossible = self._unsupported()
        return any(
            cell not in self.plan.absent and cell.key not in impossible for cell in self.plan.cells
        )

    def _over_budget(self) -> bool:
        return self.plan.budget_s is not None and self._elapsed_s() >= self.plan.budget_s

    def _end(self, reason: StopReason) -> None:
        self.decision = replace(self.decision, reason=reason)

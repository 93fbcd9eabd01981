"""The trials of a run as they come, until the plan says that it is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from culvert.plan.plan import Done, Plan, Trial
from culvert.plan.stopping import Decision, StopReason, decide

Values = Mapping[str, Sequence[float]]


class Schedule:
    """Iterating yields trials; ``decision`` tells why it went on or ended.

    Pure: the clock and the values are handed in. ``elapsed_s()`` is the time measured so far, that
    of an interrupted run included; ``values()`` gives, by cell key, the figure of each trial that
    counted, the trials just yielded included.

    The budget is looked at before every trial. Precision is looked at only when a block is whole,
    so that no cell has more repetitions than another.
    """

    def __init__(
        self,
        plan: Plan,
        done: Done,
        *,
        elapsed_s: Callable[[], float],
        values: Callable[[], Values],
    ) -> None:
        self.plan = plan
        self.done = frozenset(done)
        self.decision = Decision(StopReason.GO_ON)
        self._elapsed_s = elapsed_s
        self._values = values

    def __iter__(self) -> Iterator[Trial]:
        last_done = max((block for block, _ in self.done), default=0)
        for number in self.plan.block_numbers() if self.plan.cells else ():
            for trial in self.plan.missing(number, self.done):
                if self._over_budget():
                    self.decision = Decision(
                        StopReason.BUDGET, self.decision.half_widths, self.decision.open
                    )
                    return
                yield trial
            # Blocks before the last one that was begun were judged when they ended.
            if number >= max(self.plan.min_blocks, last_done) and self._precise():
                return
        self.decision = Decision(StopReason.BLOCKS, self.decision.half_widths, self.decision.open)

    def _over_budget(self) -> bool:
        return self.plan.budget_s is not None and self._elapsed_s() >= self.plan.budget_s

    def _precise(self) -> bool:
        if self.plan.rule is None:
            return False
        self.decision = decide(self.plan.rule, self._values())
        return self.decision.stop

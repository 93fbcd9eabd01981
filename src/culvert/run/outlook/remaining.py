"""The expected time until the end of a run, from its own trials as far as there are any."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf

from culvert.plan.plan import Cell, Plan
from culvert.run.outlook.expected import Stopwatch


class Remaining:
    """``before_s`` is what a trial of a cell is expected to take before the run has measured it;
    ``verifications`` are the cells of links in each block."""

    def __init__(
        self,
        plan: Plan,
        verifications: Collection[Cell],
        stopwatch: Stopwatch,
        before_s: Callable[[Cell], float],
    ) -> None:
        self._plan = plan
        self._verifications = verifications
        self._stopwatch = stopwatch
        self._before_s = before_s

    def most_s(self, trials: int | None, elapsed_s: float, unsupported: Collection[str]) -> float:
        """The longest expected time: of so many trials, or by the budget, if the plan has these."""
        cells = [cell for cell in self._plan.present if cell.key not in unsupported]
        block_s = sum(map(self._expected_s, [*cells, *self._verifications]))
        mean_s = block_s / max(len(cells), 1)
        by_trials_s = inf if trials is None else trials * (mean_s + self._plan.pause_s)
        budget_s = inf if self._plan.budget_s is None else self._plan.budget_s
        return min(by_trials_s, max(budget_s - elapsed_s, 0.0))

    def _expected_s(self, cell: Cell) -> float:
        known_s = self._stopwatch.median_s(cell)
        return self._before_s(cell) if known_s is None else known_s

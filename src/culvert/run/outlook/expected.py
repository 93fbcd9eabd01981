"""The expected duration of a run: its trials, and the links that are verified in each block."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Collection
from math import inf
from typing import Any

from culvert.errors import CulvertError
from culvert.measurements.underlay.underlay import Underlay, UnderlayParameters
from culvert.plan.plan import Cell, Plan, TimeEstimate
from culvert.results import Parameters
from culvert.study.catalogue import Catalogue
from culvert.study.conditions.processors import cores
from culvert.study.study import Study
from culvert.study.vpn_id import BASELINE
from culvert.topology.link.spec import LinkSpec

LinkOf = Callable[[str], LinkSpec]
"""The link that a condition requests. It may raise CulvertError; the condition's trials report it.
"""
OVERHEAD_S = 1.5
"""Usual overhead of a trial: lab, tunnel, proof, removal. WireGuard's is 0.3 s, Headscale's 5 s."""


class Stopwatch:
    """Collects the times of a run's trials."""

    def __init__(self) -> None:
        self._durations_s: dict[Cell, list[float]] = defaultdict(list)

    def note(self, cell: Cell, duration_s: float) -> None:
        """Add a trial of a cell."""
        self._durations_s[cell].append(duration_s)

    def median_s(self, cell: Cell) -> float | None:
        """The median duration of a cell's trials; None before the first."""
        known = self._durations_s.get(cell)
        return statistics.median(known) if known else None


def emulated(link_of: LinkOf, condition: str) -> bool:
    """Whether a condition requests a link with impairments or an emulated rate."""
    try:
        link = link_of(condition)
    except CulvertError:
        return False
    return bool(link.impairment) or (link.kind != "veth" and link.rate_bps is not None)


def verification_of(condition: str) -> Cell:
    """The cell that verifies the condition's link before each block, if the link is emulated."""
    parameters = UnderlayParameters.model_validate({}).model_dump(mode="json", by_alias=True)
    return Cell(BASELINE, condition, Underlay.kind, Parameters.of(parameters))


def estimate_of(study: Study, plan: Plan, catalogue: Catalogue) -> TimeEstimate:
    """The duration of the whole run, from the measurements' own estimates."""
    here = cores()
    links = verifications(plan, lambda condition: study.lab_spec(condition, here).link)
    return plan.estimate(expectation(catalogue), links)


def expectation(catalogue: Catalogue) -> Callable[[Cell], float]:
    """Seconds that a trial of a cell is expected to take, its overhead included."""

    def expected_s(cell: Cell) -> float:
        measurement: Any = catalogue.measurements[cell.measurement]
        parameters = catalogue.parameters(cell.measurement, cell.parameters)
        return float(measurement.estimate_s(parameters)) + OVERHEAD_S

    return expected_s


def verifications(plan: Plan, link_of: LinkOf) -> tuple[Cell, ...]:
    """The verifications of links in each block, in addition to its cells."""
    conditions = dict.fromkeys(cell.condition for cell in plan.present)
    links = (verification_of(name) for name in conditions if emulated(link_of, name))
    return tuple(cell for cell in links if cell not in plan.present)


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
